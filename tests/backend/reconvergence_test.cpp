// Who of a group runs next: the rule of backend/kernel/reconvergence.h against a plain statement of it.
#include "backend/kernel/reconvergence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "simulated_warp.h"

namespace kvrm::backend::test {
namespace {

using kernel::Choice;
using Random = std::mt19937_64;

struct LanePosition {
  bool runnable;
  u64 entry, window, sp;
};
using Group = std::vector<LanePosition>;

u32 runnable_lanes(const Group& group) {
  u32 mask = 0;
  for (u32 i = 0; i < group.size(); ++i) mask |= u32{group[i].runnable} << i;
  return mask;
}

// All lanes choose, and must agree.
std::vector<Choice> choose_all(Lanes kind, const Group& group, const std::vector<u32>& steps, bool reconverge) {
  std::vector<std::vector<Choice>> chosen(steps.size(), std::vector<Choice>(group.size()));
  const u32 runnable = runnable_lanes(group);
  run_warp(kind, u32(group.size()), steps[0], [&](SimulatedWarp& warp, u32 lane) {
    const LanePosition& mine = group[lane];
    for (std::size_t i = 0; i < steps.size(); ++i) {
      chosen[i][lane] = kernel::choose(WarpOfLane(warp, lane), mine.runnable, runnable, {mine.entry, mine.window},
                                       mine.sp, steps[i], reconverge);
    }
  });
  std::vector<Choice> result;
  for (const auto& one : chosen) {
    for (u32 lane = 0; lane < group.size(); ++lane) {
      EXPECT_EQ(one[lane].leader, one[0].leader);
      EXPECT_EQ(one[lane].lanes, one[0].lanes);
      EXPECT_EQ(one[lane].runs, (one[0].lanes >> lane & 1) != 0);
    }
    result.push_back(one[0]);
  }
  return result;
}

u32 lanes_at_position_of(const Group& group, u32 leader) {
  u32 mask = 0;
  for (u32 i = 0; i < group.size(); ++i) {
    const bool same = group[i].entry == group[leader].entry && group[i].window == group[leader].window;
    mask |= u32{group[i].runnable && same} << i;
  }
  return mask;
}

Group random_group(Random& random, u32 lanes) {
  Group group(lanes);
  const u64 entries = 1 + random() % 4, stacks = 1 + random() % 3;
  for (LanePosition& one : group) {
    one = {random() % 4 != 0, 0x7000 + random() % entries * 16, random() % 8 == 0 ? 2u : 1u,
           0x80000 + random() % stacks * 16};
  }
  group[random() % lanes].runnable = true;
  return group;
}

TEST(Reconvergence, DeepestLaneThenSmallestPcLeads) {
  Random random(1);
  for (int round = 0; round < 400; ++round) {
    const u32 lanes = std::array{1u, 2u, 4u, 8u, 32u}[random() % 5];
    const Group group = random_group(random, lanes);
    const u32 step = u32(random() % 1000) * kernel::kFairness + 1 + u32(random() % (kernel::kFairness - 1));
    const Choice choice = choose_all(Lanes::kFibers, group, {step}, true)[0];
    ASSERT_TRUE(group[choice.leader].runnable);
    EXPECT_EQ(choice.lanes, lanes_at_position_of(group, choice.leader));
    if (choice.lanes == runnable_lanes(group)) continue;  // all of them run, whichever leads
    for (const LanePosition& other : group) {
      if (!other.runnable) continue;
      EXPECT_LE(std::pair(group[choice.leader].sp, group[choice.leader].entry), std::pair(other.sp, other.entry));
    }
  }
}

TEST(Reconvergence, ThreadsAndFibersChooseTheSame) {
  Random random(2);
  for (int round = 0; round < 20; ++round) {
    const Group group = random_group(random, 8);
    EXPECT_EQ(choose_all(Lanes::kThreads, group, {5}, true)[0].lanes,
              choose_all(Lanes::kFibers, group, {5}, true)[0].lanes);
  }
}

TEST(Reconvergence, EveryRunnableLaneLeadsEventually) {
  Random random(3);
  for (const bool reconverge : {true, false}) {
    for (const u32 lanes : {2u, 8u, 32u}) {
      Group group = random_group(random, lanes);
      for (u32 i = 0; i < lanes; ++i) group[i].entry = 0x7000 + i * 16;  // each lane runs alone
      std::vector<u32> steps(reconverge ? kernel::kFairness * 32 : 32);
      const u32 first = u32(random());
      for (u32 i = 0; i < steps.size(); ++i) steps[i] = first + i;
      u32 led = 0;
      for (const Choice& choice : choose_all(Lanes::kFibers, group, steps, reconverge)) led |= choice.lanes;
      EXPECT_EQ(led, runnable_lanes(group));
    }
  }
}

TEST(Reconvergence, LanesInDifferentWindowsStayApart) {
  const Group group = {{true, 0x7000, u64{4} << 32 | 64, 0x100}, {true, 0x7000, u64{20} << 32 | 64, 0x100}};
  const Choice choice = choose_all(Lanes::kFibers, group, {1}, true)[0];
  EXPECT_TRUE(choice.lanes == 1 || choice.lanes == 2);
}

}  // namespace
}  // namespace kvrm::backend::test
