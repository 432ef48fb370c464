#include "memory/address_space.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "memory/mmu.h"

namespace kvrm::memory {
namespace {

constexpr u64 kBase = 0x40000000;
constexpr u32 kReadWrite = kRead | kWrite;

struct Guest {
  AddressSpace space{1 << 24};
  Mmu mmu{space};
  Paged<Mmu> memory = mmu.policy();
  Cpu cpu{};

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
};

TEST(AddressSpace, UnmappedAndForbiddenAccessesFault) {
  Guest g;
  u64 value = 0;
  EXPECT_EQ(g.memory.load(g.cpu, kBase, value), Trap::kUnmapped);
  EXPECT_EQ(g.cpu.fault_address, kBase);
  ASSERT_TRUE(g.space.map(kBase, kPageSize, kRead));
  EXPECT_EQ(g.memory.load(g.cpu, kBase, value), Trap::kNone);
  EXPECT_EQ(g.store<u8>(kBase + 1, 1), Trap::kPermission);
  EXPECT_EQ(g.cpu.fault_access, static_cast<u32>(Access::kWrite));
  EXPECT_EQ(g.memory.load(g.cpu, u64{1} << 50, value), Trap::kUnmapped);
}

TEST(AddressSpace, ACrossingStoreWritesBothPagesOrNone) {
  Guest g;
  ASSERT_TRUE(g.space.map(kBase, kPageSize, kReadWrite));
  ASSERT_EQ(g.store<u64>(kBase + 0xff8, 0), Trap::kNone);
  EXPECT_EQ(g.store<u64>(kBase + 0xffc, ~u64{0}), Trap::kUnmapped);
  EXPECT_EQ(g.cpu.fault_address, kBase + kPageSize);
  EXPECT_EQ(g.load<u64>(kBase + 0xff8), 0u);
  ASSERT_TRUE(g.space.map(kBase + kPageSize, kPageSize, kReadWrite));
  ASSERT_EQ(g.store<u64>(kBase + 0xffc, 0x1122334455667788), Trap::kNone);
  EXPECT_EQ(g.load<u32>(kBase + 0xffc), 0x55667788u);
  EXPECT_EQ(g.load<u32>(kBase + 0x1000), 0x11223344u);
}

TEST(AddressSpace, ImagesAreSharedUntilWritten) {
  std::vector<u8> bytes(kPageSize + 100, 0x5a);
  auto image = std::make_shared<const Image>(bytes);
  Guest a, b;
  ASSERT_TRUE(a.space.map_image(kBase, 2 * kPageSize, kReadWrite, image, 0));
  ASSERT_TRUE(b.space.map_image(kBase, 2 * kPageSize, kReadWrite, image, 0));
  EXPECT_EQ(a.load<u8>(kBase + 4195), 0x5a);
  EXPECT_EQ(a.load<u8>(kBase + 4196), 0);  // padding
  EXPECT_EQ(a.space.private_bytes(), 0u);
  ASSERT_EQ(a.store<u8>(kBase, 1), Trap::kNone);
  EXPECT_EQ(a.space.private_bytes(), kPageSize);
  EXPECT_EQ(a.load<u8>(kBase), 1);
  EXPECT_EQ(b.load<u8>(kBase), 0x5a);
  EXPECT_EQ(*image->page(0), 0x5a);
}

TEST(AddressSpace, TheLimitIsAFaultNotACrash) {
  AddressSpace space(2 * kPageSize);
  Cpu cpu{};
  Mmu mmu(space);
  auto memory = mmu.policy();
  ASSERT_TRUE(space.map(kBase, 8 * kPageSize, kReadWrite));
  EXPECT_EQ(memory.store<u8>(cpu, kBase, 1), Trap::kNone);
  EXPECT_EQ(memory.store<u8>(cpu, kBase + kPageSize, 1), Trap::kNone);
  EXPECT_EQ(memory.store<u8>(cpu, kBase + 2 * kPageSize, 1), Trap::kOutOfMemory);
  space.unmap(kBase, kPageSize);
  EXPECT_EQ(memory.store<u8>(cpu, kBase + 2 * kPageSize, 1), Trap::kNone);
}

// Reading pages far apart takes no frames, but each needs a page table of its own.
TEST(AddressSpace, PageTablesCountAgainstTheLimit) {
  AddressSpace space(1 << 20);
  Cpu cpu{};
  Mmu mmu(space);
  auto memory = mmu.policy();
  ASSERT_TRUE(space.map(kBase, u64{1} << 44, kReadWrite));
  Trap trap = Trap::kNone;
  u64 reads = 0;
  for (; reads < 1000 && trap == Trap::kNone; ++reads) {
    u8 value = 0;
    trap = memory.load(cpu, kBase + (reads << 24), value);
  }
  EXPECT_EQ(trap, Trap::kOutOfMemory);
  EXPECT_LT(reads, 200u);
}

// What the host keeps for the guest elsewhere counts against the same limit.
TEST(AddressSpace, OneAccountForEverything) {
  AddressSpace space(4 * kPageSize);
  Cpu cpu{};
  Mmu mmu(space);
  auto memory = mmu.policy();
  ASSERT_TRUE(space.map(kBase, 8 * kPageSize, kReadWrite));
  ASSERT_EQ(memory.store<u8>(cpu, kBase, 1), Trap::kNone);
  EXPECT_EQ(space.account()->used(), kPageSize);
  auto charge = Charge::make(space.account(), 3 * kPageSize);
  ASSERT_NE(charge, nullptr);
  EXPECT_EQ(Charge::make(space.account(), 1), nullptr);
  EXPECT_EQ(memory.store<u8>(cpu, kBase + kPageSize, 1), Trap::kOutOfMemory);
  charge.reset();
  EXPECT_EQ(memory.store<u8>(cpu, kBase + kPageSize, 1), Trap::kNone);
}

TEST(AddressSpace, AreasCountAgainstTheLimit) {
  AddressSpace space(1 << 20);
  const auto where = [](u64 number) { return kBase + number * 2 * kPageSize; };
  u64 count = 0;
  while (count < 100000 && space.map(where(count), kPageSize, kRead)) ++count;
  EXPECT_GT(count, 5000u);
  EXPECT_LT(count, 30000u);
  // What does not fit changes nothing.
  EXPECT_TRUE(space.is_free(where(count), kPageSize));
  EXPECT_FALSE(space.move(where(0), kPageSize, where(count), kPageSize));
  EXPECT_TRUE(space.is_mapped(where(0), kPageSize));
}

TEST(AddressSpace, AreasAreLimited) {
  AddressSpace space(16 << 20);
  u64 count = 0;
  while (count < 100000 && space.map(kBase + count * 2 * kPageSize, kPageSize, kRead)) ++count;
  EXPECT_EQ(count, 65530u);
}

TEST(AddressSpace, BadRangesAreRefused) {
  AddressSpace space(1 << 20);
  EXPECT_FALSE(space.map(kBase + 1, kPageSize, kRead));
  EXPECT_FALSE(space.map(kBase, 0, kRead));
  EXPECT_FALSE(space.map(kAddressLimit - kPageSize, 2 * kPageSize, kRead));
  EXPECT_FALSE(space.map(~u64{0} & ~(kPageSize - 1), kPageSize, kRead));
  EXPECT_TRUE(space.map(kAddressLimit - kPageSize, kPageSize, kRead));
}

TEST(AddressSpace, HugeReservationsCostNothing) {
  Guest g;
  ASSERT_TRUE(g.space.map(kBase, u64{1} << 40, kReadWrite));
  EXPECT_EQ(g.store<u8>(kBase + (u64{1} << 39), 1), Trap::kNone);
  g.space.unmap(kBase, u64{1} << 40);
  EXPECT_EQ(g.space.private_bytes(), 0u);
}

TEST(AddressSpace, FindFreeTakesTheHighestHole) {
  AddressSpace space(1 << 20);
  ASSERT_TRUE(space.map(0x10000, 0x1000, kRead));
  ASSERT_TRUE(space.map(0x14000, 0x1000, kRead));
  EXPECT_EQ(space.find_free(0x1000, 0, 0x20000), 0x1f000u);
  EXPECT_EQ(space.find_free(0x3000, 0, 0x15000), 0x11000u);
  EXPECT_EQ(space.find_free(0x4000, 0, 0x15000), 0xc000u);
  EXPECT_EQ(space.find_free(0x4000, 0xd000, 0x15000), std::nullopt);
}

TEST(AddressSpace, MoveKeepsContents) {
  Guest g;
  ASSERT_TRUE(g.space.map(kBase, 2 * kPageSize, kReadWrite));
  ASSERT_EQ(g.store<u32>(kBase + kPageSize, 42), Trap::kNone);
  ASSERT_TRUE(g.space.move(kBase, 2 * kPageSize, kBase * 2, 4 * kPageSize));
  EXPECT_TRUE(g.space.is_free(kBase, 2 * kPageSize));
  EXPECT_TRUE(g.space.is_mapped(kBase * 2, 4 * kPageSize));
  EXPECT_EQ(g.load<u32>(kBase * 2 + kPageSize), 42u);
  EXPECT_EQ(g.load<u32>(kBase * 2 + 3 * kPageSize), 0u);
}

class Recorder : public CodeListener {
 public:
  void code_written(const u8* page) override { written.push_back(page); }
  void code_remapped() override { ++remapped; }
  std::vector<const u8*> written;
  int remapped = 0;
};

TEST(AddressSpace, WritesToCodeAreNoticed) {
  Guest g;
  Recorder recorder;
  g.mmu.set_code_listener(&recorder);
  ASSERT_TRUE(g.space.map(kBase, kPageSize, kRead | kWrite | kExecute));
  ASSERT_EQ(g.store<u32>(kBase, 1), Trap::kNone);
  const auto page = g.mmu.code_page(kBase);
  ASSERT_EQ(page.trap, Trap::kNone);
  EXPECT_TRUE(recorder.written.empty());
  ASSERT_EQ(g.store<u32>(kBase, 2), Trap::kNone);
  ASSERT_EQ(recorder.written.size(), 1u);
  EXPECT_EQ(recorder.written[0], page.bytes);
  ASSERT_EQ(g.store<u32>(kBase, 3), Trap::kNone);  // no longer marked: nothing to tell
  EXPECT_EQ(recorder.written.size(), 1u);
  // The debugger's writes and the system-call layer's count as well.
  g.mmu.code_page(kBase);
  const u32 word = 4;
  ASSERT_TRUE(g.space.write(kBase, &word, sizeof(word)));
  EXPECT_EQ(recorder.written.size(), 2u);
  // So does taking the page away.
  g.mmu.code_page(kBase);
  g.space.unmap(kBase, kPageSize);
  EXPECT_EQ(recorder.written.size(), 3u);
  g.mmu.set_code_listener(nullptr);
}

// Random maps, unmaps, protections and accesses, against a model that knows one byte at a time.
TEST(AddressSpace, AgreesWithAModel) {
  struct Byte {
    u32 protection;
    u8 value;
  };
  constexpr u64 kPages = 12;
  Guest g;
  std::map<u64, Byte> model;
  std::mt19937_64 random(1);
  for (int step = 0; step < 20000; ++step) {
    const u64 page = random() % kPages;
    const u64 count = 1 + random() % std::min<u64>(4, kPages - page);
    const u64 start = kBase + page * kPageSize;
    const u32 protection = static_cast<u32>(random() % 4);
    switch (random() % 40) {
      case 0:
        ASSERT_TRUE(g.space.map(start, count * kPageSize, protection));
        for (u64 a = start; a < start + count * kPageSize; ++a) model[a] = {protection, 0};
        break;
      case 1:
        g.space.unmap(start, count * kPageSize);
        model.erase(model.lower_bound(start), model.lower_bound(start + count * kPageSize));
        break;
      case 2:
        g.space.protect(start, count * kPageSize, protection);
        for (auto byte = model.lower_bound(start); byte != model.lower_bound(start + count * kPageSize); ++byte) {
          byte->second.protection = protection;
        }
        break;
      default: {
        const u64 address = start + (random() % 3 ? random() % kPageSize : kPageSize - random() % 8);
        const bool is_write = random() % 2;
        const u32 needed = is_write ? kWrite : kRead;
        Trap expected = Trap::kNone;
        u64 fault = 0;
        for (u64 a = address; a < address + 8 && expected == Trap::kNone; ++a) {
          auto byte = model.find(a);
          if (byte == model.end())
            expected = Trap::kUnmapped;
          else if (!(byte->second.protection & needed))
            expected = Trap::kPermission;
          fault = a;
        }
        const u64 value = random();
        u64 loaded = 0;
        const Trap trap = is_write ? g.memory.store(g.cpu, address, value) : g.memory.load(g.cpu, address, loaded);
        ASSERT_EQ(trap, expected);
        if (trap != Trap::kNone) {
          ASSERT_EQ(g.cpu.fault_address, fault);
          break;
        }
        for (u64 i = 0; i < 8; ++i) {
          if (is_write)
            model[address + i].value = static_cast<u8>(value >> (8 * i));
          else
            ASSERT_EQ(model[address + i].value, static_cast<u8>(loaded >> (8 * i)));
        }
      }
    }
  }
}

}  // namespace
}  // namespace kvrm::memory
