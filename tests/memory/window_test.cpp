// A space with a window against one without: the same answers, and a window that never allows more than they do.
#include "memory/window.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <vector>

#include "memory/address_space.h"
#include "memory/mmu.h"

namespace kvrm::memory {
namespace {

constexpr u64 kBase = 0x40000000;
constexpr u32 kReadWrite = kRead | kWrite;
constexpr u32 kAll = kRead | kWrite | kExecute;

// Asks the kernel, which answers EFAULT instead of raising a signal.
class Probe {
 public:
  Probe() { EXPECT_EQ(::pipe(pipe_), 0); }
  ~Probe() {
    ::close(pipe_[0]);
    ::close(pipe_[1]);
  }
  bool readable(const u8* byte) {
    if (::write(pipe_[1], byte, 1) != 1) return false;
    u8 sink;
    return ::read(pipe_[0], &sink, 1) == 1;
  }
  bool writable(u8* byte) {
    u8 value = 0;
    if (!readable(byte)) return false;
    std::memcpy(&value, byte, 1);
    EXPECT_EQ(::write(pipe_[1], &value, 1), 1);
    if (::read(pipe_[0], byte, 1) == 1) return true;
    EXPECT_EQ(::read(pipe_[0], &value, 1), 1);
    return false;
  }

 private:
  int pipe_[2];
};

struct Guest {
  explicit Guest(u64 limit = 1 << 24, bool windowed = true) : space(limit) {
    if (windowed) has_window = space.use_window();
  }
  u8* at(u64 address) const { return space.window() + address; }
  bool readable(u64 address) { return probe.readable(at(address)); }
  bool writable(u64 address) { return probe.writable(at(address)); }
  template <class T>
  Trap store(u64 address, T value) {
    return memory.store<T>(cpu, address, value);
  }
  template <class T>
  T load(u64 address) {
    T value{};
    EXPECT_EQ(memory.load(cpu, address, value), Trap::kNone);
    return value;
  }

  AddressSpace space;
  bool has_window = false;
  Mmu mmu{space};
  Paged<Mmu> memory = mmu.policy();
  Cpu cpu{};
  Probe probe;
};

#define KVRM_NEEDS_WINDOW(guest) \
  if (!(guest).has_window) GTEST_SKIP() << "no window here"

TEST(Window, PagesAppearWhenTheyAreTouched) {
  Guest g;
  KVRM_NEEDS_WINDOW(g);
  ASSERT_TRUE(g.space.map(kBase, 4 * kPageSize, kReadWrite));
  EXPECT_FALSE(g.readable(kBase));
  ASSERT_EQ(g.store<u32>(kBase + kPageSize, 42), Trap::kNone);
  EXPECT_TRUE(g.writable(kBase + kPageSize));
  EXPECT_EQ(*g.at(kBase + kPageSize), 42);
  EXPECT_FALSE(g.writable(kBase));
  EXPECT_FALSE(g.writable(kBase + 2 * kPageSize));
  EXPECT_EQ(g.space.private_bytes(), kPageSize);
  // Reading costs nothing, and shows zeros.
  EXPECT_EQ(g.load<u32>(kBase), 0u);
  EXPECT_TRUE(g.readable(kBase));
  EXPECT_FALSE(g.writable(kBase));
  EXPECT_EQ(g.space.private_bytes(), kPageSize);
  // What the host writes, the guest sees.
  *g.at(kBase + kPageSize + 5) = 7;
  EXPECT_EQ(g.load<u8>(kBase + kPageSize + 5), 7);
  g.space.unmap(kBase, 4 * kPageSize);
  EXPECT_FALSE(g.readable(kBase));
  EXPECT_FALSE(g.readable(kBase + kPageSize));
}

TEST(Window, NeverWrittenFramesComeBackAsZeros) {
  Guest g;
  KVRM_NEEDS_WINDOW(g);
  ASSERT_TRUE(g.space.map(kBase, 2 * kPageSize, kReadWrite));
  ASSERT_EQ(g.store<u64>(kBase, ~u64{0}), Trap::kNone);
  ASSERT_TRUE(g.space.discard(kBase, kPageSize));
  EXPECT_FALSE(g.readable(kBase));
  EXPECT_EQ(g.load<u64>(kBase), 0u);
  EXPECT_EQ(*g.at(kBase), 0);
  EXPECT_EQ(g.space.private_bytes(), 0u);
  ASSERT_EQ(g.store<u8>(kBase, 1), Trap::kNone);
  EXPECT_EQ(g.load<u64>(kBase), 1u);
}

TEST(Window, ShowsImagesAndCopiesOnWrite) {
  std::vector<u8> bytes(2 * kPageSize + 100, 0x5a);
  auto image = std::make_shared<const Image>(bytes);
  Guest a, b;
  KVRM_NEEDS_WINDOW(a);
  KVRM_NEEDS_WINDOW(b);
  ASSERT_TRUE(a.space.map_image(kBase, 4 * kPageSize, kReadWrite, image, 0));
  ASSERT_TRUE(b.space.map_image(kBase, 4 * kPageSize, kReadWrite, image, kPageSize));
  EXPECT_EQ(a.load<u8>(kBase), 0x5a);
  EXPECT_TRUE(a.readable(kBase + 2 * kPageSize));  // with its neighbors
  EXPECT_FALSE(a.writable(kBase));
  EXPECT_EQ(*a.at(kBase + 2 * kPageSize + 99), 0x5a);
  EXPECT_EQ(*a.at(kBase + 2 * kPageSize + 100), 0);
  EXPECT_EQ(a.load<u8>(kBase + 3 * kPageSize), 0);  // zeros after the image
  EXPECT_EQ(a.space.private_bytes(), 0u);
  ASSERT_EQ(a.store<u8>(kBase + kPageSize, 1), Trap::kNone);
  EXPECT_EQ(a.space.private_bytes(), kPageSize);
  EXPECT_TRUE(a.writable(kBase + kPageSize));
  EXPECT_EQ(*a.at(kBase + kPageSize), 1);
  EXPECT_EQ(*a.at(kBase + kPageSize + 1), 0x5a);
  EXPECT_EQ(b.load<u8>(kBase), 0x5a);
  EXPECT_EQ(*b.at(kBase), 0x5a);
  // Back to the image.
  ASSERT_TRUE(a.space.discard(kBase, 4 * kPageSize));
  EXPECT_EQ(a.load<u8>(kBase + kPageSize), 0x5a);
  EXPECT_EQ(*a.at(kBase + kPageSize), 0x5a);
}

TEST(Window, ProtectionFollowsTheGuests) {
  Guest g;
  KVRM_NEEDS_WINDOW(g);
  ASSERT_TRUE(g.space.map(kBase, 2 * kPageSize, kReadWrite));
  ASSERT_EQ(g.store<u8>(kBase, 9), Trap::kNone);
  ASSERT_TRUE(g.space.protect(kBase, 2 * kPageSize, kRead));
  EXPECT_TRUE(g.readable(kBase));
  EXPECT_FALSE(g.writable(kBase));
  for (const u32 hidden : {u32{kNoAccess}, u32{kWrite}, u32{kExecute}}) {
    ASSERT_TRUE(g.space.protect(kBase, 2 * kPageSize, hidden));
    EXPECT_FALSE(g.readable(kBase));
    u8 value = 0;
    EXPECT_EQ(g.memory.load(g.cpu, kBase, value), Trap::kPermission);
    // The host reads and writes it all the same.
    EXPECT_TRUE(g.space.peek(kBase, &value, 1));
    EXPECT_EQ(value, 9);
    EXPECT_TRUE(g.space.poke(kBase, &value, 1));
    EXPECT_FALSE(g.readable(kBase));
  }
  ASSERT_TRUE(g.space.protect(kBase, 2 * kPageSize, kWrite));
  EXPECT_EQ(g.store<u8>(kBase, 10), Trap::kNone);
  EXPECT_FALSE(g.readable(kBase));
  ASSERT_TRUE(g.space.protect(kBase, 2 * kPageSize, kReadWrite));
  EXPECT_EQ(g.load<u8>(kBase), 10);
  EXPECT_TRUE(g.writable(kBase));
  EXPECT_EQ(*g.at(kBase), 10);
  EXPECT_EQ(g.space.private_bytes(), kPageSize);
  // The loader writes to pages that the guest may only read.
  ASSERT_TRUE(g.space.protect(kBase, 2 * kPageSize, kRead));
  const u8 value = 11;
  ASSERT_TRUE(g.space.poke(kBase, &value, 1));
  EXPECT_FALSE(g.writable(kBase));
  EXPECT_EQ(*g.at(kBase), 11);
}

class Recorder : public CodeListener {
 public:
  void code_written(const u8*) override { ++written; }
  void code_remapped() override {}
  int written = 0;
};

TEST(Window, PagesWithDecodedCodeAreReadOnly) {
  Guest g;
  KVRM_NEEDS_WINDOW(g);
  Recorder recorder;
  g.mmu.set_code_listener(&recorder);
  ASSERT_TRUE(g.space.map(kBase, kPageSize, kAll));
  ASSERT_EQ(g.store<u32>(kBase, 1), Trap::kNone);
  EXPECT_TRUE(g.writable(kBase));
  for (int round = 1; round <= 3; ++round) {
    ASSERT_EQ(g.mmu.code_page(kBase).trap, Trap::kNone);
    EXPECT_TRUE(g.readable(kBase));
    EXPECT_FALSE(g.writable(kBase));
    EXPECT_EQ(recorder.written, round - 1);
    if (round == 2) {
      const u32 word = 2;
      ASSERT_TRUE(g.space.write(kBase, &word, sizeof(word)));
    } else {
      ASSERT_EQ(g.store<u32>(kBase, 2), Trap::kNone);
    }
    EXPECT_EQ(recorder.written, round);
    EXPECT_TRUE(g.writable(kBase));
  }
  g.mmu.set_code_listener(nullptr);
}

TEST(Window, MovesContents) {
  Guest g;
  KVRM_NEEDS_WINDOW(g);
  ASSERT_TRUE(g.space.map(kBase, 3 * kPageSize, kReadWrite));
  ASSERT_EQ(g.store<u32>(kBase + kPageSize, 42), Trap::kNone);
  const u64 before = g.space.private_bytes();
  ASSERT_TRUE(g.space.move(kBase, 3 * kPageSize, 2 * kBase, 4 * kPageSize));
  EXPECT_FALSE(g.readable(kBase + kPageSize));
  EXPECT_EQ(g.load<u32>(2 * kBase + kPageSize), 42u);
  EXPECT_EQ(*g.at(2 * kBase + kPageSize), 42);
  EXPECT_EQ(g.space.private_bytes(), before);
  EXPECT_EQ(g.space.account()->used(), before);
  // Out of the window and back.
  ASSERT_TRUE(g.space.move(2 * kBase, 4 * kPageSize, Window::kBytes, 4 * kPageSize));
  EXPECT_FALSE(g.readable(2 * kBase + kPageSize));
  EXPECT_EQ(g.load<u32>(Window::kBytes + kPageSize), 42u);
  EXPECT_EQ(g.space.window(), nullptr) << "the guest uses memory above its window";
  EXPECT_EQ(g.space.window_loss(), WindowLoss::kAbove);
  ASSERT_TRUE(g.space.move(Window::kBytes, 4 * kPageSize, kBase, 4 * kPageSize));
  EXPECT_EQ(g.load<u32>(kBase + kPageSize), 42u);
  EXPECT_EQ(g.space.private_bytes(), before);
}

TEST(Window, TheLimitStrikesAtTheSamePage) {
  for (const u64 pages : {2u, 3u, 77u, 200u}) {
    Guest with(pages * kPageSize), without(pages * kPageSize, false);
    KVRM_NEEDS_WINDOW(with);
    std::mt19937_64 random(pages);
    u64 struck = 0;
    for (Guest* g : {&with, &without}) ASSERT_TRUE(g->space.map(kBase, 4096 * kPageSize, kReadWrite));
    for (int step = 0; step < 2000; ++step) {
      const u64 address = kBase + random() % 256 * kPageSize;
      const u64 kind = random() % 8;
      u8 value = 1;
      const auto act = [&](Guest& g) {
        if (kind == 0) return g.space.discard(address, kPageSize) ? Trap::kNone : Trap::kUnmapped;
        return kind < 4 ? g.memory.load(g.cpu, address, value) : g.memory.store(g.cpu, address, value);
      };
      const Trap expected = act(without);
      ASSERT_EQ(act(with), expected);
      ASSERT_EQ(with.space.private_bytes(), without.space.private_bytes());
      ASSERT_EQ(with.space.account()->used(), without.space.account()->used());
      struck += expected == Trap::kOutOfMemory;
    }
    EXPECT_GT(struck, 0u);
  }
}

TEST(Window, MemoryThatTheHostWritesNeedsNone) {
  Guest g;
  KVRM_NEEDS_WINDOW(g);
  ASSERT_TRUE(g.space.map_image(kBase, kPageSize, kReadWrite, std::make_shared<Image>(kPageSize), 0));
  EXPECT_EQ(g.space.window(), nullptr);
  EXPECT_EQ(g.space.window_loss(), WindowLoss::kHostWrites);
  ASSERT_EQ(g.store<u8>(kBase, 1), Trap::kNone);
}

TEST(Window, SharedSpacesHaveNone) {
  AddressSpace space(1 << 20, true);
  EXPECT_FALSE(space.use_window());
  EXPECT_EQ(space.window(), nullptr);
}

// A host process has room for some; the other spaces work without.
TEST(Window, ManySpacesAndManyMappings) {
  std::vector<std::unique_ptr<AddressSpace>> spaces;
  u64 windows = 0;
  for (int i = 0; i < 200; ++i) {
    spaces.push_back(std::make_unique<AddressSpace>(u64{1} << 30));
    windows += spaces.back()->use_window();
    ASSERT_TRUE(spaces.back()->map(kBase, u64{1} << 30, kReadWrite));
  }
  if (windows == 0) GTEST_SKIP() << "no window here";
  EXPECT_LT(windows, 200u);
  Cpu cpu{};
  // Every second page: no two of them are one mapping.
  auto mmu = std::make_unique<Mmu>(*spaces[0]);
  auto memory = mmu->policy();
  for (u64 i = 0; i < 40000; ++i) ASSERT_EQ(memory.store<u64>(cpu, kBase + 2 * i * kPageSize, i), Trap::kNone);
  EXPECT_LE(Window::mappings(), 40000u);
  EXPECT_EQ(spaces[0]->window(), nullptr) << "too many mappings";
  EXPECT_EQ(spaces[0]->window_loss(), WindowLoss::kMappings);
  EXPECT_EQ(spaces[1]->window_loss(), WindowLoss::kNone);
  EXPECT_EQ(spaces.back()->window_loss(), WindowLoss::kRefused);
  for (u64 i = 0; i < 40000; ++i) {
    u64 value = 0;
    ASSERT_EQ(memory.load(cpu, kBase + 2 * i * kPageSize, value), Trap::kNone);
    ASSERT_EQ(value, i);
  }
  mmu.reset();
  spaces.clear();
  EXPECT_EQ(Window::mappings(), 0u);
}

// Whatever pieces a guest makes, the host keeps room for its own mappings, and the guest its contents.
TEST(Window, PiecesWithoutEndEndTheWindow) {
  for (const int way : {0, 1, 2, 3}) {
    constexpr u64 kCount = 40000;
    Guest g(u64{1} << 30);
    KVRM_NEEDS_WINDOW(g);
    ASSERT_TRUE(g.space.map(kBase, kCount * kPageSize, kAll));
    for (u64 i = 0; i < kCount; ++i) ASSERT_EQ(g.store<u64>(kBase + i * kPageSize, i), Trap::kNone);
    for (u64 i = 1; i < kCount; i += 2) {
      const u64 address = kBase + i * kPageSize;
      switch (way) {
        case 0: ASSERT_TRUE(g.space.protect(address, kPageSize, kRead)); break;
        case 1: ASSERT_TRUE(g.space.unmap(address, kPageSize)); break;
        case 2: ASSERT_TRUE(g.space.protect(address, kPageSize, kNoAccess)); break;
        default: ASSERT_EQ(g.mmu.code_page(address).trap, Trap::kNone); break;
      }
      ASSERT_LT(Window::mappings(), 40000u);
    }
    EXPECT_EQ(g.space.window(), nullptr);
    EXPECT_LT(Window::mappings(), 100u);
    EXPECT_EQ(g.space.private_bytes(), (way == 1 ? kCount / 2 : kCount) * kPageSize);
    for (u64 i = 0; i < kCount; ++i) {
      u64 value = ~u64{0};
      ASSERT_EQ(g.space.peek(kBase + i * kPageSize, &value, 8), way != 1 || i % 2 == 0);
      ASSERT_EQ(value, way == 1 && i % 2 ? ~u64{0} : i);
    }
  }
}

// Random changes and accesses, in both. After each the window shows what may be accessed, and no more.
class Pair {
 public:
  explicit Pair(u64 seed) : random_(seed) {}
  bool has_window() const { return with_.has_window; }
  void step() {
    const u64 page = random_() % kPages, count = 1 + random_() % 4;
    const u64 start = kBase + page * kPageSize, size = count * kPageSize;
    const u32 protection = static_cast<u32>(random_() % 8);
    const u64 other = kBase + (random_() % kPages) * kPageSize;
    const u64 kind = random_() % 60, address = start + random_() % kPageSize, value = random_();
    both([&](Guest& g) -> u64 {
      switch (kind) {
        case 0: return g.space.map(start, size, protection);
        case 1: return g.space.unmap(start, size);
        case 2:
        case 3: return g.space.protect(start, size, protection);
        case 4: return g.space.move(start, size, other, (1 + count % 3) * kPageSize);
        case 5: return g.space.discard(start, size);
        case 6: return g.space.map_image(start, size, protection, image_, (page % 3) * kPageSize);
        case 7: return g.space.poke(address, &value, 8);
        case 8:
        case 9:
        case 10: return static_cast<u64>(g.mmu.code_page(address).trap);
        default: return kind % 2 ? access(g, address) : static_cast<u64>(g.store(address, value));
      }
    });
  }
  void check() {
    for (u64 page = 0; page < kPages + 8; ++page) {
      const u64 address = kBase + page * kPageSize;
      const bool readable = with_.readable(address), writable = with_.writable(address);
      if (readable) {
        ASSERT_EQ(without_.space.accessible(address, 1, kRead), 1u);
        std::vector<u8> bytes(kPageSize);
        ASSERT_TRUE(without_.space.peek(address, bytes.data(), kPageSize));
        ASSERT_EQ(std::memcmp(bytes.data(), with_.at(address), kPageSize), 0);
      }
      if (writable) {
        ASSERT_EQ(without_.space.accessible(address, 1, kWrite), 1u);
        ASSERT_FALSE(with_.mmu.holds_code(address, 1));
      }
    }
  }

 private:
  static constexpr u64 kPages = 12;
  static u64 access(Guest& g, u64 address) {
    u64 value = 0;
    const Trap trap = g.memory.load(g.cpu, address, value);
    return trap == Trap::kNone ? value : static_cast<u64>(trap) + g.cpu.fault_address;
  }
  template <class Work>
  void both(Work work) {
    const u64 expected = work(without_);
    ASSERT_EQ(work(with_), expected);
    ASSERT_EQ(with_.space.account()->used(), without_.space.account()->used());
  }

  std::mt19937_64 random_;
  Guest with_{24 * kPageSize}, without_{24 * kPageSize, false};
  std::shared_ptr<const Image> image_ = std::make_shared<const Image>(std::vector<u8>(5 * kPageSize, 0x77));
};

TEST(Window, AgreesWithASpaceWithout) {
  for (u64 seed = 0; seed < 40; ++seed) {
    Pair pair(seed);
    if (!pair.has_window()) GTEST_SKIP() << "no window here";
    for (int step = 0; step < 400; ++step) {
      pair.step();
      if (step % 4 == 0) pair.check();
      if (HasFatalFailure()) FAIL() << "seed " << seed << " step " << step;
    }
  }
}

}  // namespace
}  // namespace kvrm::memory
