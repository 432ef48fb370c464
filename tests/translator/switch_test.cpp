// Indirect branches whose targets traces have seen: they stay inside their region, and whatever else leaves it.
#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "pair.h"

namespace kvrm {
namespace {

using namespace test;

// An interpreter of bytecode: x10 points at the next operation, x11 at the table of handlers, x5 counts rounds.
const Words kSwitch = {
    0x38401541,             // 0   ldrb w1, [x10], #1
    0xf8617970,             // 1   ldr x16, [x11, x1, lsl #3]
    0xd61f0200,             // 2   br x16
    add_imm(0, 0, 1),       // 3   operation 0
    b(-4),                  // 4
    eor_reg(0, 0, 2),       // 5   operation 1
    b(-6),                  // 6
    add_imm(0, 0, 7),       // 7   operation 2
    b(-8),                  // 8
    add_imm(10, 13, 0),     // 9   operation 3: the next round
    subs_imm(5, 5, 1),      // 10
    b_ne(-11),              // 11
    hlt(0),                 // 12
    add_imm(0, 0, 100),     // 13  operation 4
    b(-14),                 // 14
    str_w(7, 8),            // 15  operation 5: changes operation 0
    b(-16),                 // 16
    0xd63f0120,             // 17  operation 6: blr x9
    b(-18),                 // 18
    add_imm(0, 0, 3),       // 19  the function
    kRet,                   // 20
};

class SwitchInterpreter : public SampledCode {
 protected:
  // Operation 7 has no code.
  SwitchInterpreter() : pair_(kSwitch, 24) {
    std::vector<std::uint64_t> table;
    for (const unsigned word : {3u, 5u, 7u, 9u, 13u, 15u, 17u}) table.push_back(kCode + word * 4);
    table.push_back(0x123456000);
    pair_.both([&](Machine& machine) {
      EXPECT_TRUE(machine.write(kData + 0x1000, std::as_bytes(std::span(table))).ok());
      for (const unsigned pointer : {10u, 13u}) machine.set_x(pointer, kData);
      machine.set_x(2, 0x55);
      machine.set_x(5, 1'000'000'000);
      machine.set_x(7, add_imm(0, 0, 9));
      machine.set_x(8, kCode + 3 * 4);
      machine.set_x(9, kCode + 19 * 4);
      machine.set_x(11, kData + 0x1000);
    });
    program({0, 1, 2, 6, 3});
  }
  // From the next round on, as the lane is anywhere in the old one.
  void program(const std::vector<unsigned char>& operations) {
    at_ += 64;
    pair_.both([&](Machine& machine) {
      EXPECT_TRUE(machine.write(kData + at_, std::as_bytes(std::span(operations))).ok());
      machine.set_x(13, kData + at_);
    });
  }
  void warm_up() {
    (void)pair_.run(2'000'000);
    EXPECT_EQ(pair_.jit().statistics().regions, 1u) << "the loop with all its operations";
  }
  double share_in_regions() {
    const Tier regions = pair_.jit().statistics().tiers.at(2);
    return static_cast<double>(regions.instructions) / static_cast<double>(pair_.jit().statistics().instructions);
  }

  Pair pair_;

 private:
  std::uint64_t at_ = 0;
};

TEST_F(SwitchInterpreter, StaysInsideItsRegion) {
  warm_up();
  (void)pair_.run(10'000'000);
  const Statistics statistics = pair_.jit().statistics();
  EXPECT_EQ(statistics.regions, 1u) << "where control left it, others would begin";
  EXPECT_EQ(statistics.tiers.at(2).words, 16u);
  EXPECT_GT(share_in_regions(), 0.9);
}

TEST_F(SwitchInterpreter, EveryBudgetStopsWhereTheInterpreterDoes) {
  warm_up();
  for (std::uint64_t budget = 1; budget < 60 && !HasFailure(); ++budget) (void)pair_.run(budget);
  for (std::uint64_t budget = 2550; budget < 2650 && !HasFailure(); ++budget) (void)pair_.run(budget);
  for (std::uint64_t budget = 5000; budget < 5040 && !HasFailure(); ++budget) (void)pair_.run(budget);
}

TEST_F(SwitchInterpreter, MayGoWhereItNeverWent) {
  warm_up();
  program({0, 4, 1, 4, 6, 3});
  (void)pair_.run(100'000);
  program({1, 0, 3});
  (void)pair_.run(100'000);
  program({2, 2, 7, 3});  // no such code
  EXPECT_EQ(pair_.run(1'000'000).reason, StopReason::kFault);
}

TEST_F(SwitchInterpreter, RunsTheNewCodeOfATarget) {
  warm_up();
  program({0, 1, 5, 0, 1, 6, 3});
  (void)pair_.run(100'000);
  const std::vector<std::uint32_t> code{add_imm(0, 0, 5)};
  pair_.both([&](Machine& machine) {
    machine.set_x(7, add_imm(0, 0, 5));
    EXPECT_TRUE(machine.write(kCode + 19 * 4, std::as_bytes(std::span(code))).ok());
  });
  (void)pair_.run(100'000);
  program({0, 6, 3});
  (void)pair_.run(3'000'000);
}

}  // namespace
}  // namespace kvrm
