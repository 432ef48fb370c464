// What traces say about code.
#include "translator/host/profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "../machine/words.h"

namespace kvrm::translator {
namespace {

using isa::Flow;
using Steps = std::vector<TraceStep>;

// 0x1000 to 0x1008 is a loop; it calls 0x2000.
const Steps kLoop = {{0x1000, 0x1004},
                     {0x1004, 0x2000, Flow::kCall},
                     {0x2000, 0x1008, Flow::kReturn},
                     {0x1008, 0x1000, Flow::kConditional}};

std::vector<u64> entries(Profile& profile, u64 least = 0) {
  std::vector<u64> found;
  for (const Profile::Candidate& candidate : profile.candidates(8, least)) found.push_back(candidate.pc);
  return found;
}

TEST(Profile, CallAndLoopTargetsAreCandidates) {
  Profile profile;
  profile.add(kLoop, 100);
  profile.add(Steps{{0x1000, 0x1010, Flow::kConditional}}, 1000);
  EXPECT_EQ(entries(profile), (std::vector<u64>{0x1000, 0x1008, 0x2000})) << "not where a branch skips a few words";
  profile.add(Steps{{0x1010, 0x1014, Flow::kNext, true}}, 50);
  EXPECT_EQ(entries(profile), (std::vector<u64>{0x1010})) << "unless control comes there out of a region";
}

TEST(Profile, TheMostFrequentCandidateComesFirst) {
  Profile profile;
  profile.add(kLoop, 100);
  profile.add(Steps{{0x3000, 0x2000, Flow::kCall}}, 100);
  EXPECT_DOUBLE_EQ(profile.share_of_arrivals(0x1004, 0x2000), 0.5);
  EXPECT_EQ(entries(profile), (std::vector<u64>{0x2000, 0x1000, 0x1008}));
  EXPECT_TRUE(entries(profile).empty()) << "nothing was added since";
  profile.add(kLoop, 10);
  EXPECT_EQ(entries(profile, 150), (std::vector<u64>{0x2000}));
}

TEST(Profile, ACandidateSetAsideReturnsWhenItHasRunMore) {
  Profile profile;
  profile.add(kLoop, 100);
  profile.set_aside(0x2000);
  EXPECT_EQ(entries(profile), (std::vector<u64>{0x1000, 0x1008}));
  profile.add(kLoop, 49);
  EXPECT_EQ(entries(profile).size(), 2u);
  profile.add(kLoop, 1);
  EXPECT_EQ(entries(profile).size(), 3u);
}

// The region was never installed, or its code has changed.
TEST(Profile, SettledCodeThatIsStillInterpretedIsACandidate) {
  Profile profile;
  profile.add(kLoop, 100);
  profile.settle(0x2000, std::vector<u64>{0x2000});
  (void)entries(profile);
  profile.add(kLoop, 99);
  EXPECT_EQ(entries(profile).size(), 2u);
  profile.add(kLoop, 1);
  ASSERT_EQ(entries(profile).size(), 3u);
  profile.add(kLoop, 100);
  const auto again = profile.candidates(8, 0);
  EXPECT_TRUE(
      std::ranges::any_of(again, [](const auto& candidate) { return candidate.pc == 0x2000 && candidate.settled; }));
  profile.settle(0x2000, {});
  Steps into = kLoop;
  into[1].enters_region = true;
  profile.add(into, 1000);
  EXPECT_EQ(entries(profile).size(), 2u) << "where a region begins, arrivals are not the interpreter's";
}

TEST(Profile, ARegionPaysForItsWordsOnce) {
  Profile profile;
  profile.add(kLoop, 100);
  profile.settle(0x1000, std::vector<u64>{0x1000, 0x1004, 0x1008});
  EXPECT_TRUE(profile.is_settled(0x1000));
  EXPECT_EQ(entries(profile), (std::vector<u64>{0x1008, 0x2000}));
  EXPECT_EQ(profile.unpaid(0x1004), 0u);
  EXPECT_EQ(profile.unpaid(0x2000), 100u);
  profile.add(kLoop, 10);  // reached without the region
  EXPECT_EQ(profile.unpaid(0x1004), 10u);
  profile.reopen(0x1000);
  profile.add(kLoop, 10);
  EXPECT_EQ(entries(profile).size(), 3u) << "other code stands there now";
}

TEST(Profile, ABranchsTargetsComeByFrequency) {
  Profile profile;
  for (u64 i = 0; i < 12; ++i) profile.add(Steps{{0x1000, 0x2000 + i * 16, Flow::kIndirect}}, i / 2 + 10);
  profile.add(Steps{{0x1000, 0x3000, Flow::kIndirect}}, 100);
  profile.add(Steps{{0x1000, 0x4000, Flow::kIndirect}, {0x1004, 0x5000, Flow::kIndirect}}, 1);
  const std::vector<u64> expected{0x3000, 0x20a0, 0x20b0, 0x2080, 0x2090, 0x2060, 0x2070, 0x2040};
  EXPECT_EQ(profile.targets_of(0x1000), expected);
  EXPECT_EQ(profile.targets_of(0x1004), std::vector<u64>{0x5000});
  EXPECT_TRUE(profile.targets_of(0x1008).empty());
  profile.add(Steps{{0x1100, 0x1104, Flow::kIndirect}, {0x1200, 0x1204, Flow::kConditional}}, 1);
  EXPECT_EQ(profile.targets_of(0x1100), std::vector<u64>{0x1104}) << "the first case of a switch";
  EXPECT_TRUE(profile.targets_of(0x1200).empty()) << "not taken";
  profile.add(Steps{{0x1000, 0x3000, Flow::kIndirect}}, 10000);
  EXPECT_EQ(profile.targets_of(0x1000), std::vector<u64>{0x3000}) << "the others are rare";
  cache::Writer writer;
  profile.write(writer);
  Profile again;
  cache::Reader reader(writer.bytes());
  ASSERT_TRUE(again.read(reader));
  EXPECT_EQ(again.targets_of(0x1000), std::vector<u64>{0x3000});
}

TEST(Profile, SurvivesTheDisk) {
  Profile profile;
  profile.add(kLoop, 100);
  profile.settle(0x2000, std::vector<u64>{0x2000});
  profile.end_run(3.0, 0.5);
  cache::Writer writer;
  profile.write(writer);
  Profile again;
  cache::Reader reader(writer.bytes());
  ASSERT_TRUE(again.read(reader));
  EXPECT_EQ(again.past().runs, 1u);
  EXPECT_EQ(again.past().run_seconds, 3.0);
  EXPECT_EQ(again.past().compile_seconds, 0.5);
  EXPECT_EQ(again.unpaid(0x1004), 100u);
  EXPECT_EQ(again.unpaid(0x2000), 0u);
  EXPECT_FALSE(again.is_settled(0x2000)) << "whether there is a region is for the cache to say";
  EXPECT_DOUBLE_EQ(again.share_of_arrivals(0x1004, 0x2000), 1.0);

  EXPECT_TRUE(entries(again).empty()) << "nothing was reached yet in this run";
  for (const double seconds : {-1.0, std::numeric_limits<double>::quiet_NaN()}) {
    Profile past;
    past.end_run(seconds, 0);
    cache::Writer bytes;
    past.write(bytes);
    cache::Reader bad(bytes.bytes());
    EXPECT_FALSE(Profile().read(bad));
  }

  cache::Writer damaged;
  damaged.put(Profile::Past{});
  damaged.put(~u64{0});
  Profile none;
  cache::Reader cut(damaged.bytes());
  EXPECT_FALSE(none.read(cut));
}

// A region whose visits are short is left out of later runs, but for some.
TEST(Profile, WhatDoesNotPayIsTriedAgainSometimes) {
  Profile profile;
  profile.add(kLoop, 1);
  profile.leave_out(0x1000);
  u32 left_out = 0, runs = 0;
  for (; runs < 16; ++runs) {
    profile.end_run(1, 0);
    cache::Writer written;
    profile.write(written);
    cache::Reader from(written.bytes());
    Profile next;
    ASSERT_TRUE(next.read(from));
    left_out += next.left_out().contains(0x1000);
  }
  EXPECT_EQ(left_out, runs - 2);
}

// Another command of the same program runs other code.
TEST(Profile, CodeIsNewForAFewRuns) {
  Profile profile;
  for (u32 run = 0; run < 5; ++run) {
    profile.add(kLoop, 100);
    EXPECT_EQ(profile.executions_of_new_code(), run < Profile::kEarlyRuns ? 400u : 0u) << run;
    profile.end_run(1, 0);
  }
  profile.add(Steps{{0x8000, 0x8004}}, 7);
  EXPECT_EQ(profile.executions_of_new_code(), 7u);
  profile.end_run(1, 0, 0.25);
  cache::Writer written;
  profile.write(written);
  cache::Reader from(written.bytes());
  Profile next;
  ASSERT_TRUE(next.read(from));
  EXPECT_EQ(next.past().compile_seconds_left, 0.25);
  next.add(kLoop, 100);
  next.add(Steps{{0x8000, 0x8004}}, 7);
  EXPECT_EQ(next.executions_of_new_code(), 7u);
}

TEST(Profile, PagesAreBusyByTheirMeanRun) {
  Profile profile;
  profile.add(kLoop, 100);
  profile.end_run(1, 0);
  EXPECT_EQ(profile.busy_pages(300), std::unordered_set<u64>{0x1000});
  EXPECT_EQ(profile.busy_pages(100), (std::unordered_set<u64>{0x1000, 0x2000}));
  profile.end_run(1, 0);
  EXPECT_EQ(profile.busy_pages(100), std::unordered_set<u64>{0x1000}) << "half as busy in the mean of two runs";
  EXPECT_TRUE(profile.busy_pages(151).empty());
}

// A loop is visited when control comes to it from elsewhere, not with each iteration.
TEST(Profile, IterationsAreNoVisits) {
  Profile profile;
  profile.add(Steps{{0xf00, 0x1000, Flow::kDirect}}, 3);
  for (u32 i = 0; i < 10; ++i) profile.add(kLoop, 100);
  Plan plan;
  plan.blocks.emplace_back();
  plan.blocks[0].address = 0x1000;
  plan.blocks[0].words = {0, 0, 0};
  EXPECT_EQ(profile.executions(plan), 3000u);
  EXPECT_EQ(profile.visits(plan), 3u);
  plan.blocks[0].words = {0, 0};
  EXPECT_EQ(profile.visits(plan), 1003u) << "the branch back is outside";
  EXPECT_EQ(profile.visits(Plan{}), 0u) << "no region can begin at a system call";
}

TEST(Profile, ExecutionsIncludeWhatIsPaid) {
  Profile profile;
  profile.add(kLoop, 100);
  Plan plan;
  plan.blocks.emplace_back();
  plan.blocks[0].address = 0x1000;
  plan.blocks[0].words = {0, 0};
  EXPECT_EQ(profile.executions(plan), 200u);
  profile.settle(0x1000, plan.addresses());
  EXPECT_EQ(profile.executions(plan), 200u);
  EXPECT_EQ(profile.unpaid(plan), 0u);
}

TEST(Profile, TheLeastFrequentAreDroppedBeyondTheLimit) {
  Profile profile;
  profile.add(kLoop, 1000);
  for (u64 round = 0; round < 40; ++round) {
    Steps steps;
    for (u64 i = 0; i < 10000; ++i) {
      const u64 pc = 0x100000 + (round * 10000 + i) * 16;
      steps.push_back({pc, pc - 8, Flow::kConditional});
    }
    profile.add(steps, 1);
  }
  EXPECT_LE(profile.size(), 3u << 17);
  EXPECT_EQ(profile.unpaid(0x1004), 1000u);
  EXPECT_EQ(entries(profile).front(), 0x1000u);
}

}  // namespace
}  // namespace kvrm::translator
