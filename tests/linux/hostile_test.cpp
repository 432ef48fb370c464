// Every call number with arguments made to hurt. Nothing may crash, hang, or touch what lies outside the
// root.
#include <chrono>
#include <random>

#include "guest.h"

namespace kvrm::linux_abi::test {
namespace {

class Arguments {
 public:
  explicit Arguments(u64 seed) : random_(seed) {}
  u64 operator()() {
    static constexpr u64 kEdges[] = {0,
                                     1,
                                     2,
                                     3,
                                     4,
                                     7,
                                     8,
                                     16,
                                     24,
                                     64,
                                     100,
                                     1000,
                                     4095,
                                     4096,
                                     0x7fffffff,
                                     0x80000000,
                                     0xffffffff,
                                     u64{1} << 32,
                                     u64{1} << 47,
                                     u64{1} << 48,
                                     u64{1} << 60,
                                     u64{1} << 63,
                                     ~u64{0},
                                     ~u64{0} - 1,
                                     ~u64{0} - 4095,
                                     kCwd,
                                     kStackTop,
                                     kTrampoline};
    switch (random_() % 5) {
      case 0: return kEdges[random_() % std::size(kEdges)];
      case 1: return kScratch + random_() % kScratchSize;
      case 2: return kScratch + random_() % 64 * 4096;
      case 3: return random_() % 40;
      default: return random_() >> random_() % 64;
    }
  }
  u64 raw() { return random_(); }

 private:
  std::mt19937_64 random_;
};

void fill_scratch(Guest& guest, Arguments& arguments) {
  static const char* const kPaths[] = {"a", "../x", "/", "d/e", "/proc/self/mem", "..", ".", "l", "a/", "/dev/zero"};
  for (u64 at = 0; at < kScratchSize; at += 64) {
    if (arguments.raw() % 2)
      guest.text(kPaths[arguments.raw() % std::size(kPaths)], at);
    else
      for (u64 word = 0; word < 8; ++word) guest.put(at + word * 8, arguments());
  }
}

TEST(Hostile, EveryCallWithRandomArguments) {
  TemporaryFolder outer;
  std::filesystem::create_directories(outer / "root/d");
  outer.write("secret", "secret");
  const auto start = std::chrono::steady_clock::now();
  for (u64 number = 0; number <= 500; ++number) {
    ProcessOptions options;
    options.root = outer / "root";
    Guest guest(options);
    Arguments arguments(number + 1);
    fill_scratch(guest, arguments);
    for (int round = 0; round < 60; ++round) {
      guest.call(number, arguments(), arguments(), arguments(), arguments(), arguments(), arguments());
      if (guest.outcome().kind != Outcome::Kind::kContinue) break;
      guest.cpu().x[kSpSlot] = kStackTop - 0x1000;
    }
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::minutes(3));
  EXPECT_EQ(outer.read("secret"), "secret");
  std::size_t entries = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(outer.path())) ++entries;
  EXPECT_EQ(entries, 2u);
}

TEST(Hostile, LongRandomProgramsOfCalls) {
  TemporaryFolder outer;
  outer.write("secret", "secret");
  for (u64 seed = 1; seed <= 40; ++seed) {
    std::filesystem::create_directories(outer / "root/d");
    ProcessOptions options;
    options.root = outer / "root";
    auto guest = std::make_unique<Guest>(options);
    Arguments arguments(seed * 7919);
    fill_scratch(*guest, arguments);
    for (int round = 0; round < 400; ++round) {
      u64 number = arguments.raw() % 300;
      if (number == kExit || number == kExitGroup || number == kKill) number = kRead;
      guest->call(number, arguments(), arguments(), arguments(), arguments(), arguments(), arguments());
      if (guest->outcome().kind != Outcome::Kind::kContinue) {
        guest = std::make_unique<Guest>(options);
        fill_scratch(*guest, arguments);
      }
      guest->cpu().x[kSpSlot] = kStackTop - 0x1000;
    }
  }
  EXPECT_EQ(outer.read("secret"), "secret");
}

TEST(Hostile, WithoutMemoryEveryPointerIsBad) {
  for (u64 number = 0; number <= 500; ++number) {
    memory::AddressSpace memory(1 << 20);
    auto process = Process::create(Guest::quiet({}));
    ASSERT_TRUE(process.ok());
    Cpu cpu{};
    for (const u64 value : {u64{0}, u64{1}, u64{0x1000}, ~u64{0}, u64{1} << 63}) {
      for (std::size_t i = 0; i < 6; ++i) cpu.x[i] = value;
      cpu.x[8] = number;
      if (process->system_call(cpu, memory).kind != Outcome::Kind::kContinue) break;
    }
  }
}

TEST(Hostile, DescriptorsDoNotLeakToTheHost) {
  const auto open_files = [] {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
    return count;
  };
  TemporaryFolder folder;
  folder.write("f", "x");
  (void)Guest::quiet({});
  const std::size_t before = open_files();
  for (int round = 0; round < 5; ++round) {
    Guest guest(rooted(folder));
    for (int i = 0; i < 50; ++i) {
      guest.open("f");
      guest.open("missing");
      guest.open("/dev/zero");
      guest.call(kPipe2, kScratch, 0);
      guest.call(kNewfstatat, kCwd, guest.text("f"), kScratch + 0x100, 0);
      guest.call(kMkdirat, kCwd, guest.text("d"), 0755);
    }
  }
  EXPECT_EQ(open_files(), before);
}

}  // namespace
}  // namespace kvrm::linux_abi::test
