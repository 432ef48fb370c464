// Self-modifying code: what is written runs, at once, whatever was decoded before.
#include <gtest/gtest.h>

#include "kvrm/machine.h"
#include "words.h"

namespace kvrm {
namespace {

using namespace test;

TEST(Code, AStoreToTheNextInstructionTakesEffect) {
  // str w2, [x3] overwrites the word after it.
  Machine machine = machine_with({kNop, str_w(2, 3), movz(0, 1), hlt(0)});
  machine.set_x(2, movz(0, 2));
  machine.set_x(3, kCode + 8);
  EXPECT_EQ(machine.run().reason, StopReason::kHalt);
  EXPECT_EQ(machine.x(0), 2u);
  EXPECT_EQ(machine.statistics().code_invalidations, 1u);
}

TEST(Code, ALoopThatRewritesItself) {
  // Each iteration runs the instruction at +8, which the iteration before has replaced by the next add x0, x0, #n.
  Machine machine = machine_with({
      str_w(2, 3),          // +0
      add_imm(2, 2, 1024),  // +4: the next immediate (imm12 starts at bit 10)
      kNop,                 // +8: replaced
      subs_imm(4, 4, 1),    // +12
      b_ne(-4),             // +16
      hlt(0),
  });
  machine.set_x(2, add_imm(0, 0, 1));
  machine.set_x(3, kCode + 8);
  machine.set_x(4, 100);
  EXPECT_EQ(machine.run().reason, StopReason::kHalt);
  EXPECT_EQ(machine.x(0), 100u * 101 / 2);
}

TEST(Code, ABudgetDoesNotChangeWhatSelfModifyingCodeDoes) {
  for (std::uint64_t slice : {1u, 2u, 3u, 7u}) {
    Machine machine = machine_with({str_w(2, 3), add_imm(2, 2, 1024), kNop, subs_imm(4, 4, 1), b_ne(-4), hlt(0)});
    machine.set_x(2, add_imm(0, 0, 1));
    machine.set_x(3, kCode + 8);
    machine.set_x(4, 20);
    while (machine.run(slice).reason == StopReason::kBudget) {
    }
    EXPECT_EQ(machine.x(0), 20u * 21 / 2) << slice;
  }
}

TEST(Code, StraightLineCodeCrossesPages) {
  Words words(3000, add_imm(0, 0, 1));
  words.push_back(hlt(0));
  Machine machine = machine_with(words);
  EXPECT_EQ(machine.run().reason, StopReason::kHalt);
  EXPECT_EQ(machine.x(0), 3000u);
  EXPECT_EQ(machine.statistics().instructions, 3000u);
}

TEST(Code, RemappedPagesShowTheirNewCode) {
  Machine machine = machine_with({blr(1), hlt(0)});
  constexpr std::uint64_t kPlugin = 0x50000;
  for (unsigned version = 1; version <= 3; ++version) {
    ASSERT_TRUE(machine.unmap(kPlugin, 4096));
    ASSERT_TRUE(machine.load(bytes_of({movz(0, version), kRet}), kPlugin).ok());
    machine.set_x(1, kPlugin);
    machine.set_pc(kCode);
    EXPECT_EQ(machine.run().reason, StopReason::kHalt);
    EXPECT_EQ(machine.x(0), version);
  }
}

TEST(Code, PagesWithoutExecutePermissionFault) {
  Machine machine = machine_with({kNop, hlt(0)});
  ASSERT_TRUE(machine.protect(kCode, 4096, kProtectRead | kProtectWrite).ok());
  const Stop stop = machine.run();
  EXPECT_EQ(stop.reason, StopReason::kFault);
  EXPECT_EQ(stop.fault, FaultKind::kPermission);
  EXPECT_EQ(stop.pc, kCode);
}

// QEMU 7.2 raises SIGILL here, though the core has the instruction and HWCAP says so (docs/deviations.md).
TEST(Code, DcCvap) {
  constexpr std::uint32_t kDcCvapX0 = 0xd50b7c20;
  Machine machine = machine_with({kDcCvapX0, hlt(0)});
  EXPECT_EQ(machine.run().reason, StopReason::kHalt);
}

TEST(Code, TheLastPageOfTheAddressSpace) {
  auto machine = Machine::create();
  constexpr std::uint64_t kLast = (std::uint64_t{1} << 48) - 8;
  ASSERT_TRUE(machine->load(bytes_of({add_imm(0, 0, 1), add_imm(0, 0, 1)}), kLast).ok());
  machine->set_pc(kLast);
  const Stop stop = machine->run();
  EXPECT_EQ(stop.reason, StopReason::kFault);
  EXPECT_EQ(stop.pc, std::uint64_t{1} << 48);
  EXPECT_EQ(machine->x(0), 2u);
}

}  // namespace
}  // namespace kvrm
