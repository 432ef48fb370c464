// Machines whose words are routed by the table, by a network, or by both.
#include <gtest/gtest.h>

#include <numeric>

#include "kvrm/machine.h"
#include "kvrm/models.h"
#include "samples.h"

namespace kvrm {
namespace {

// x0 = 10 * 11 / 2 by addition, then a multiply, a divide, a shift, a load and a store, and HLT.
constexpr std::uint32_t kProgram[] = {
    0xd2800000,  // mov x0, #0
    0xd2800141,  // mov x1, #10
    0x8b010000,  // loop: add x0, x0, x1
    0xf1000421,  // subs x1, x1, #1
    0x54ffffc1,  // b.ne loop
    0x9b007c02,  // mul x2, x0, x0
    0x9ac00843,  // udiv x3, x2, x0
    0xd37ff864,  // lsl x4, x3, #1
    0xf90000a4,  // str x4, [x5]
    0xf94000a6,  // ldr x6, [x5]
    0xd4400000,  // hlt #0
};
constexpr std::uint64_t kWords = std::size(kProgram), kRetired = 2 + 3 * 10 + 5;

Machine machine_with(const Options& options) {
  auto machine = Machine::create(options);
  EXPECT_TRUE(machine) << machine.error().message;
  for (unsigned lane = 0; lane < options.lanes; ++lane) {
    EXPECT_TRUE(machine->lane(lane).load(std::as_bytes(std::span(kProgram)), 0x1000));
    EXPECT_TRUE(machine->lane(lane).map(0x8000, 0x1000, kProtectRead | kProtectWrite));
    machine->lane(lane).set_x(5, 0x8000);
    machine->lane(lane).set_pc(0x1000);
  }
  return std::move(*machine);
}

Options options_with(Dispatch dispatch) {
  Options options;
  options.device = Device::kCpu;
  options.neural.dispatch = dispatch;
  return options;
}

std::uint64_t sum(const std::array<std::uint64_t, 7>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

TEST(Dispatch, AllModesEndInTheSameState) {
  for (const bool every : {false, true}) {
    for (const Dispatch dispatch : {Dispatch::kTable, Dispatch::kNeural, Dispatch::kHybrid}) {
      Options options = options_with(dispatch);
      options.neural.every = every;
      Machine machine = machine_with(options);
      const Stop stop = machine.run();
      EXPECT_EQ(stop.reason, StopReason::kHalt) << to_string(dispatch);
      EXPECT_EQ(stop.instructions, kRetired);
      EXPECT_EQ(machine.x(0), 55u);
      EXPECT_EQ(machine.x(2), 3025u);
      EXPECT_EQ(machine.x(6), 110u);
      const DispatchStatistics statistics = machine.statistics().dispatch;
      EXPECT_EQ(statistics.mode, dispatch);
      EXPECT_EQ(statistics.every, every);
      EXPECT_TRUE(statistics.verified);
      EXPECT_EQ(statistics.weights.empty(), dispatch == Dispatch::kTable);
      // HLT is routed, and does not retire.
      EXPECT_EQ(sum(statistics.routed), every ? kRetired + 1 : kWords);
      if (!every) {
        EXPECT_EQ(statistics.routed, (std::array<std::uint64_t, 7>{2, 2, 2, 1, 2, 1, 1}));
        for (unsigned i = 0; i < 7; ++i) {
          EXPECT_EQ(statistics.confusion[i][i], dispatch == Dispatch::kHybrid ? statistics.routed[i] : 0);
        }
      }
    }
  }
}

TEST(Dispatch, EachLaneHasItsOwnStatistics) {
  Options options = options_with(Dispatch::kHybrid);
  options.lanes = 3;
  Machine machine = machine_with(options);
  static_cast<void>(machine.lane(0).run(Machine::kNoLimit));
  static_cast<void>(machine.lane(1).run(3));
  EXPECT_EQ(sum(machine.lane(0).dispatch_statistics().value().routed), kWords);
  EXPECT_EQ(sum(machine.lane(1).dispatch_statistics().value().routed), 3u);
  EXPECT_EQ(sum(machine.lane(2).dispatch_statistics().value().routed), 0u);
  EXPECT_EQ(sum(machine.statistics().dispatch.routed), kWords + 3);
  EXPECT_THROW((void)machine.lane(3).dispatch_statistics(), std::out_of_range);
}

TEST(Dispatch, UnverifiedWeightsMayNotDecide) {
  Options options = options_with(Dispatch::kNeural);
  options.neural.weights = make_weights(neural::random_values(135, 1)).value();
  auto refused = Machine::create(options);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("verif"), std::string::npos) << refused.error().message;

  options.neural.dispatch = Dispatch::kHybrid;
  EXPECT_TRUE(Machine::create(options).ok()) << "the table decides";

  options.neural.dispatch = Dispatch::kNeural;
  options.neural.unverified = true;
  auto machine = Machine::create(options);
  ASSERT_TRUE(machine);
  EXPECT_FALSE(machine->statistics().dispatch.verified) << "and it is reported";
}

TEST(Dispatch, AWrongClassIsUndefinedNeverAnotherMeaning) {
  Options options = options_with(Dispatch::kNeural);
  options.neural.unverified = true;
  Weights weights = **built_in_weights("dispatch-embedding");
  // MUL's top byte looks like that of LDR (literal).
  for (std::size_t i = 0; i < 32; ++i) weights.values[0x9b * 32 + i] = weights.values[0x58 * 32 + i];
  weights.verification.reset();
  options.neural.weights = std::make_shared<const Weights>(std::move(weights));
  Machine machine = machine_with(options);
  const Stop stop = machine.run();
  EXPECT_EQ(stop.reason, StopReason::kUndefined);
  EXPECT_EQ(stop.pc, 0x1000 + 4 * 5u);
  EXPECT_EQ(machine.x(0), 55u);
  EXPECT_EQ(machine.x(2), 0u);
}

TEST(Dispatch, HybridRecordsWhatTheNetworkGotWrong) {
  Options options = options_with(Dispatch::kHybrid);
  Weights weights = **built_in_weights("dispatch-embedding");
  for (std::size_t i = 0; i < 32; ++i) weights.values[0x9b * 32 + i] = weights.values[0x58 * 32 + i];
  options.neural.weights = std::make_shared<const Weights>(std::move(weights));
  Machine machine = machine_with(options);
  EXPECT_EQ(machine.run().reason, StopReason::kHalt);
  EXPECT_EQ(machine.x(2), 3025u);
  EXPECT_EQ(machine.statistics().dispatch.confusion[4][2], 1u);
}

TEST(Dispatch, OldWeightsRunAsHybridWithAWarning) {
  Options options = options_with(Dispatch::kNeural);
  options.neural.weights = make_weights(neural::random_values(10279, 1)).value();
  std::vector<std::string> notices;
  options.notice = [&](const std::string& line) { notices.push_back(line); };
  Machine machine = machine_with(options);
  EXPECT_EQ(machine.run().reason, StopReason::kHalt);
  EXPECT_EQ(machine.x(0), 55u);
  EXPECT_EQ(machine.statistics().dispatch.mode, Dispatch::kHybrid);
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_NE(notices[0].find("hybrid"), std::string::npos);
}

TEST(Dispatch, WeightsOfAnotherModelAreRefused) {
  Options options = options_with(Dispatch::kHybrid);
  options.neural.weights = make_weights(neural::random_values(271124, 1)).value();
  auto machine = Machine::create(options);
  ASSERT_FALSE(machine);
  EXPECT_NE(machine.error().message.find("memory-oracle"), std::string::npos);
}

// Code that is written anew is routed anew.
TEST(Dispatch, CodeThatChangesIsRoutedAgain) {
  Machine machine = machine_with(options_with(Dispatch::kNeural));
  static_cast<void>(machine.run());
  const std::uint64_t before = sum(machine.statistics().dispatch.routed);
  const std::uint32_t halt = 0xd4400000;
  ASSERT_TRUE(machine.write(0x1004, std::as_bytes(std::span(&halt, 1))));
  machine.set_pc(0x1000);
  EXPECT_EQ(machine.run().instructions, 1u);
  EXPECT_EQ(sum(machine.statistics().dispatch.routed), before + 2);
}

}  // namespace
}  // namespace kvrm
