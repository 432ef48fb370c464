// Code that changes itself through another address of its page, in every tier. The translation is the test's own.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <optional>

#include "../machine/words.h"
#include "../memory/translation.h"
#include "interpreter/interpreter.h"
#include "translator/host/lane_regions.h"
#include "translator/translator.h"

namespace kvrm::translator {
namespace {

using namespace kvrm::test;
using memory::kPageSize;

constexpr u32 kAll = memory::kRead | memory::kWrite | memory::kExecute;
constexpr u64 kLow = 0x40000000, kHigh = 0xffff800000010000, kTop = 0xfffffffffffff000;
constexpr u64 kAddresses[] = {kLow, kLow + 5 * kPageSize, kHigh, kHigh + kPageSize, kTop};

constexpr u32 add_reg(u32 rd, u32 rn, u32 rm) { return 0x8b000000 | rm << 16 | rn << 5 | rd; }

enum class Way { kInterpreter, kRegions, kQuick };

struct Lane {
  Lane(memory::Translation& translation, Way way) : engine(translation) {
    if (way == Way::kInterpreter) return;
    Settings settings;
    settings.in_background = false;
    settings.threshold = 0;
    settings.limits = {8, 64, 2};
    settings.tiers = way == Way::kQuick ? Tiers::kQuick : Tiers::kRegions;
    std::string error;
    translator = Translator::create(settings, error);
    if (translator) regions.emplace(translator, engine);
  }
  Trap run() {
    const std::atomic<bool> cancel = false;
    return engine.run(cpu, 100000, cancel).trap;
  }

  interpreter::Interpreter engine;
  std::shared_ptr<Translator> translator;
  std::optional<LaneRegions> regions;
  Cpu cpu{};
};

class Aliases : public testing::TestWithParam<Way> {};

// Ten rounds, of which the first sees the first word as it was.
TEST_P(Aliases, AWriteThroughOneIsSeenThroughTheOther) {
  constexpr u32 kRounds = 10;
  const Words words = {movz(0, 1), add_reg(3, 3, 0), str_w(2, 1), subs_imm(5, 5, 1), b_ne(-4), hlt(0)};
  memory::test::PageTable table;
  u8* const frame = table.frame();
  for (const u64 address : kAddresses) table.map(address, frame, kAll);
  Lane lane(table, GetParam());
  if (GetParam() != Way::kInterpreter && !lane.translator) GTEST_SKIP() << "no translator on this host";
  for (const u64 runs : kAddresses) {
    for (const u64 writes : kAddresses) {
      // The TLB knows all of them as writable.
      for (const u64 address : kAddresses)
        ASSERT_EQ(lane.engine.mmu().policy().store<u64>(lane.cpu, address + 0x800, 1), Trap::kNone);
      for (u64 i = 0; i < words.size(); ++i)
        ASSERT_EQ(lane.engine.mmu().policy().store<u32>(lane.cpu, writes + 4 * i, words[i]), Trap::kNone);
      lane.cpu.pc = runs;
      lane.cpu.x[1] = writes;
      lane.cpu.x[2] = movz(0, 2);
      lane.cpu.x[3] = 0;
      lane.cpu.x[5] = kRounds;
      ASSERT_EQ(lane.run(), Trap::kHalt);
      EXPECT_EQ(lane.cpu.x[3], 1 + 2 * (kRounds - 1)) << std::hex << runs << ", written at " << writes;
      EXPECT_EQ(lane.cpu.pc, runs + 5 * 4);
      EXPECT_GT(lane.engine.code_invalidations(), 0u);
    }
  }
}

// A function in another page, called at one address and changed through another; the caller stays as it is.
TEST_P(Aliases, ACalledPageChanges) {
  const Words caller = {blr(6), add_reg(3, 3, 0), str_w(2, 1), subs_imm(5, 5, 1), b_ne(-4), hlt(0)};
  const Words callee = {movz(0, 1), kRet};
  memory::test::PageTable table;
  u8* const frame = table.frame();
  for (const u64 address : kAddresses) table.map(address, frame, kAll);
  u8* const code = table.frame();
  std::memcpy(code, caller.data(), caller.size() * 4);
  table.map(kHigh + 9 * kPageSize, code, memory::kRead | memory::kExecute);
  Lane lane(table, GetParam());
  if (GetParam() != Way::kInterpreter && !lane.translator) GTEST_SKIP() << "no translator on this host";
  for (const u64 runs : kAddresses) {
    for (const u64 writes : kAddresses) {
      for (u64 i = 0; i < callee.size(); ++i)
        ASSERT_EQ(lane.engine.mmu().policy().store<u32>(lane.cpu, runs + 4 * i, callee[i]), Trap::kNone);
      lane.cpu.pc = kHigh + 9 * kPageSize;
      lane.cpu.x[1] = writes;
      lane.cpu.x[2] = movz(0, 5);
      lane.cpu.x[3] = 0;
      lane.cpu.x[5] = 4;
      lane.cpu.x[6] = runs;
      ASSERT_EQ(lane.run(), Trap::kHalt);
      EXPECT_EQ(lane.cpu.x[3], 1u + 5 * 3) << std::hex << runs << ", written at " << writes;
    }
  }
}

// Another lane with its own TLB writes; then the address shows another frame.
TEST_P(Aliases, OtherLanesAndOtherFrames) {
  memory::test::PageTable table;
  u8* const frame = table.frame();
  table.map(kHigh, frame, kAll);
  table.map(kLow, frame, kAll);
  Lane lane(table, GetParam()), other(table, Way::kInterpreter);
  if (GetParam() != Way::kInterpreter && !lane.translator) GTEST_SKIP() << "no translator on this host";
  const auto result = [&](u64 address) {
    lane.cpu.pc = address;
    EXPECT_EQ(lane.run(), Trap::kHalt);
    return lane.cpu.x[0];
  };
  ASSERT_EQ(other.engine.mmu().policy().store<u64>(other.cpu, kLow, u64{hlt(0)} << 32 | movz(0, 1)), Trap::kNone);
  EXPECT_EQ(result(kHigh), 1u);
  for (u32 i = 2; i < 6; ++i) {
    ASSERT_EQ(other.engine.mmu().policy().store<u32>(other.cpu, i % 2 ? kLow : kHigh, movz(0, i)), Trap::kNone);
    EXPECT_EQ(result(kHigh), i);
    EXPECT_EQ(result(kLow), i);
  }
  u8* const second = table.frame();
  const Words words = {movz(0, 99), hlt(0)};
  std::memcpy(second, words.data(), 8);
  table.map(kHigh, second, kAll);
  EXPECT_EQ(result(kHigh), 99u);
  EXPECT_EQ(result(kLow), 5u);
}

INSTANTIATE_TEST_SUITE_P(Every, Aliases, testing::Values(Way::kInterpreter, Way::kRegions, Way::kQuick),
                         [](const auto& way) {
                           return way.param == Way::kInterpreter ? "Interpreter"
                                  : way.param == Way::kRegions   ? "Regions"
                                                                 : "Quick";
                         });

}  // namespace
}  // namespace kvrm::translator
