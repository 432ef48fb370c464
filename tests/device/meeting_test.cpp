// Who of a group runs next: the rule of device/lanes/meeting.h against a plain statement of it.
#include "device/lanes/meeting.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "simulated_warp.h"

namespace kvrm::device::test {
namespace {

using lanes::Choice;
using Random = std::mt19937_64;

struct Standing {
  bool runnable;
  u64 place, window, sp;
};
using Group = std::vector<Standing>;

u32 runnable_lanes(const Group& group) {
  u32 mask = 0;
  for (u32 i = 0; i < group.size(); ++i) mask |= u32{group[i].runnable} << i;
  return mask;
}

// Everybody chooses; all must have come to the same.
std::vector<Choice> choose_all(Lanes kind, const Group& group, const std::vector<u32>& steps, bool meet) {
  std::vector<std::vector<Choice>> chosen(steps.size(), std::vector<Choice>(group.size()));
  const u32 runnable = runnable_lanes(group);
  run_warp(kind, u32(group.size()), steps[0], [&](SimulatedWarp& warp, u32 lane) {
    const Standing& mine = group[lane];
    for (std::size_t i = 0; i < steps.size(); ++i) {
      chosen[i][lane] = lanes::choose(WarpOfLane(warp, lane), mine.runnable, runnable, mine.place, mine.window, mine.sp,
                                      steps[i], meet);
    }
  });
  std::vector<Choice> result;
  for (const auto& one : chosen) {
    for (u32 lane = 0; lane < group.size(); ++lane) {
      EXPECT_EQ(one[lane].leader, one[0].leader);
      EXPECT_EQ(one[lane].lanes, one[0].lanes);
      EXPECT_EQ(one[lane].mine, (one[0].lanes >> lane & 1) != 0);
    }
    result.push_back(one[0]);
  }
  return result;
}

u32 at_the_place_of(const Group& group, u32 leader) {
  u32 mask = 0;
  for (u32 i = 0; i < group.size(); ++i) {
    const bool same = group[i].place == group[leader].place && group[i].window == group[leader].window;
    mask |= u32{group[i].runnable && same} << i;
  }
  return mask;
}

Group random_group(Random& random, u32 lanes) {
  Group group(lanes);
  const u64 places = 1 + random() % 4, stacks = 1 + random() % 3;
  for (Standing& one : group) {
    one = {random() % 4 != 0, 0x7000 + random() % places * 16, random() % 8 == 0 ? 2u : 1u,
           0x80000 + random() % stacks * 16};
  }
  group[random() % lanes].runnable = true;
  return group;
}

TEST(Meeting, TheDeepestThenTheFirstLeads) {
  Random random(1);
  for (int round = 0; round < 400; ++round) {
    const u32 lanes = std::array{1u, 2u, 4u, 8u, 32u}[random() % 5];
    const Group group = random_group(random, lanes);
    const u32 step = u32(random() % 1000) * lanes::kFairness + 1 + u32(random() % (lanes::kFairness - 1));
    const Choice choice = choose_all(Lanes::kFibers, group, {step}, true)[0];
    ASSERT_TRUE(group[choice.leader].runnable);
    EXPECT_EQ(choice.lanes, at_the_place_of(group, choice.leader));
    if (choice.lanes == runnable_lanes(group)) continue;  // nobody is left out, no matter who leads
    for (const Standing& other : group) {
      if (!other.runnable) continue;
      EXPECT_LE(std::pair(group[choice.leader].sp, group[choice.leader].place), std::pair(other.sp, other.place));
    }
  }
}

TEST(Meeting, LanesOfOneWarpMayBeThreads) {
  Random random(2);
  for (int round = 0; round < 20; ++round) {
    const Group group = random_group(random, 8);
    EXPECT_EQ(choose_all(Lanes::kThreads, group, {5}, true)[0].lanes,
              choose_all(Lanes::kFibers, group, {5}, true)[0].lanes);
  }
}

TEST(Meeting, EveryoneLeadsOnceInAWhile) {
  Random random(3);
  for (const bool meet : {true, false}) {
    for (const u32 lanes : {2u, 8u, 32u}) {
      Group group = random_group(random, lanes);
      for (u32 i = 0; i < lanes; ++i) group[i].place = 0x7000 + i * 16;  // nobody runs with anybody
      std::vector<u32> steps(meet ? lanes::kFairness * 32 : 32);
      const u32 first = u32(random());
      for (u32 i = 0; i < steps.size(); ++i) steps[i] = first + i;
      u32 led = 0;
      for (const Choice& choice : choose_all(Lanes::kFibers, group, steps, meet)) led |= choice.lanes;
      EXPECT_EQ(led, runnable_lanes(group));
    }
  }
}

TEST(Meeting, LanesInDifferentWindowsDoNotMeet) {
  const Group group = {{true, 0x7000, u64{4} << 32 | 64, 0x100}, {true, 0x7000, u64{20} << 32 | 64, 0x100}};
  const Choice choice = choose_all(Lanes::kFibers, group, {1}, true)[0];
  EXPECT_TRUE(choice.lanes == 1 || choice.lanes == 2);
}

}  // namespace
}  // namespace kvrm::device::test
