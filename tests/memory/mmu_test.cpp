// Frames with several addresses, and addresses of the upper half.
#include "memory/mmu.h"

#include <gtest/gtest.h>

#include <vector>

#include "translation.h"

namespace kvrm::memory {
namespace {

using test::PageTable;

constexpr u64 kLow = 0x40000000, kOther = 0x40001000, kHigh = 0xffff800000010000, kTop = 0xfffffffffffff000;
constexpr u32 kAll = kRead | kWrite | kExecute;

class Recorder : public CodeListener {
 public:
  void code_written(const u8* page) override { written.push_back(page); }
  void code_remapped() override { ++remapped; }
  std::vector<const u8*> written;
  int remapped = 0;
};

struct Lane {
  explicit Lane(Translation& translation) : mmu(translation) { mmu.set_code_listener(&recorder); }
  ~Lane() { mmu.set_code_listener(nullptr); }
  Trap store(u64 address, u32 value) { return mmu.policy().store<u32>(cpu, address, value); }
  u32 load(u64 address) {
    u32 value = 0;
    EXPECT_EQ(mmu.policy().load(cpu, address, value), Trap::kNone);
    return value;
  }
  bool stores_at_once(u64 address) { return mmu.tlb().at(address).write_tag == (address & kPageMask); }

  Recorder recorder;
  Mmu mmu;
  Cpu cpu{};
};

TEST(Mmu, AddressesOfTheUpperHalfAreCached) {
  PageTable table;
  Lane lane(table);
  for (const u64 address : {kLow, kHigh, kTop}) {
    table.map(address, table.frame(), kRead | kWrite);
    ASSERT_EQ(lane.store(address + 4, 7), Trap::kNone);
    EXPECT_TRUE(lane.stores_at_once(address));
    EXPECT_EQ(lane.mmu.tlb().at(address).read_tag, address);
    EXPECT_EQ(lane.load(address + 4), 7u);
  }
  // Only addresses of the lower half have tags.
  EXPECT_EQ(lane.load((u64{0x5a} << 56 | kLow) + 4), 7u);
  EXPECT_EQ(lane.store(kHigh & ~(u64{0xff} << 56), 1), Trap::kUnmapped);
  EXPECT_EQ(lane.store(kHigh - 4, 1), Trap::kUnmapped);
  EXPECT_EQ(lane.cpu.fault_address, kHigh - 4);
}

TEST(Mmu, OneFrameHasOneContentAtAllItsAddresses) {
  PageTable table;
  Lane lane(table);
  u8* const frame = table.frame();
  for (const u64 address : {kLow, kOther, kHigh}) table.map(address, frame, kRead | kWrite);
  ASSERT_EQ(lane.store(kHigh + 8, 42), Trap::kNone);
  EXPECT_EQ(lane.load(kLow + 8), 42u);
  ASSERT_EQ(lane.store(kOther + 8, 43), Trap::kNone);
  EXPECT_EQ(lane.load(kHigh + 8), 43u);
  table.map(kHigh, table.frame(), kRead);
  EXPECT_EQ(lane.load(kHigh + 8), 0u);
  EXPECT_EQ(lane.store(kHigh + 8, 1), Trap::kPermission);
}

// Decoded through any address, written through any other, by any lane, in any translation.
TEST(Mmu, CodeIsFoundThroughEveryAlias) {
  PageTable table, second(std::shared_ptr<PhysicalMemory>(&table.physical(), [](PhysicalMemory*) {}));
  Lane lane(table), other(table), elsewhere(second);
  u8* const frame = table.frame();
  const u64 addresses[] = {kLow, kOther, kHigh, kTop};
  for (const u64 address : addresses) table.map(address, frame, kAll);
  second.map(kLow + 7 * kPageSize, frame, kAll);
  second.map(kHigh, frame, kAll);
  std::size_t written = 0;
  for (const u64 decoded : addresses) {
    for (const u64 address : addresses) {
      for (Lane* writer : {&lane, &other, &elsewhere}) {
        const u64 at = writer == &elsewhere ? kHigh : address;
        for (const u64 warm : addresses) ASSERT_EQ(lane.store(warm, 1), Trap::kNone);
        ASSERT_EQ(writer->store(at, 2), Trap::kNone);
        EXPECT_TRUE(writer->stores_at_once(at));
        const auto code = lane.mmu.code_page(decoded);
        ASSERT_EQ(code.trap, Trap::kNone);
        EXPECT_EQ(code.bytes, frame);
        for (const u64 each : addresses) {
          EXPECT_FALSE(lane.stores_at_once(each));
          EXPECT_TRUE(lane.mmu.holds_code(each, 4));
          EXPECT_FALSE(other.stores_at_once(each));
        }
        EXPECT_FALSE(elsewhere.stores_at_once(kHigh));
        EXPECT_EQ(lane.recorder.written.size(), written);
        ASSERT_EQ(writer->store(at, 3), Trap::kNone);
        ++written;
        for (Lane* each : {&lane, &other, &elsewhere}) {
          ASSERT_EQ(each->recorder.written.size(), written);
          EXPECT_EQ(each->recorder.written.back(), frame);
        }
        EXPECT_FALSE(lane.mmu.holds_code(decoded, 4));
        EXPECT_EQ(lane.load(decoded), 3u);
      }
    }
  }
}

// In neither translation is the frame aliased, and the address in one says nothing of that in the other.
TEST(Mmu, CodeIsFoundThroughOneAddressInEachOfTwoTranslations) {
  PageTable table, second(std::shared_ptr<PhysicalMemory>(&table.physical(), [](PhysicalMemory*) {}));
  Lane one(table), two(second);
  u8* const frame = table.frame();
  table.map(kLow, frame, kAll);
  second.map(kOther, frame, kAll);
  for (std::size_t written = 1; written <= 2; ++written) {
    ASSERT_EQ(two.store(kOther, 2), Trap::kNone);
    EXPECT_TRUE(two.stores_at_once(kOther));
    ASSERT_EQ(one.mmu.code_page(kLow).bytes, frame);
    EXPECT_FALSE(two.stores_at_once(kOther));
    ASSERT_EQ(two.store(kOther, 3), Trap::kNone);
    for (Lane* each : {&one, &two}) {
      ASSERT_EQ(each->recorder.written.size(), written);
      EXPECT_EQ(each->recorder.written.back(), frame);
    }
    EXPECT_FALSE(one.mmu.holds_code(kLow, 4));
    EXPECT_EQ(one.load(kLow), 3u);
  }
}

// A store that begins before the page with code and ends in it.
TEST(Mmu, AStoreAcrossPagesFindsCodeInEither) {
  PageTable table;
  Lane lane(table);
  u8* const frame = table.frame();
  table.map(kHigh, frame, kAll);
  table.map(kLow, table.frame(), kAll);
  table.map(kOther, frame, kAll);
  ASSERT_EQ(lane.mmu.code_page(kHigh).trap, Trap::kNone);
  EXPECT_TRUE(lane.mmu.holds_code(kOther - 2, 4));
  ASSERT_EQ(lane.store(kOther - 2, ~0u), Trap::kNone);
  ASSERT_EQ(lane.recorder.written.size(), 1u);
  EXPECT_EQ(lane.load(kHigh), 0xffffu);
}

}  // namespace
}  // namespace kvrm::memory
