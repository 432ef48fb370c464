// What becomes one region.
#include "translator/plan.h"

#include <gtest/gtest.h>

#include "../machine/words.h"

namespace kvrm::translator {
namespace {

using namespace test;

Plan plan_of(
    const Words& words, const PlanLimits& limits = {}, std::function<bool(u64)> follow = [](u64) { return true; }) {
  CodeView view;
  view.word = [&](u64 address) -> std::optional<u32> {
    const u64 index = (address - kCode) / 4;
    return index < words.size() ? std::optional(words[index]) : std::nullopt;
  };
  view.follow = std::move(follow);
  return make_plan(kCode, view, limits);
}

TEST(PlanOfARegion, ALoopGoesBackToItself) {
  const Plan plan = plan_of({add_imm(0, 0, 1), subs_imm(1, 1, 1), b_ne(-2), hlt(0)});
  ASSERT_EQ(plan.blocks.size(), 1u);
  EXPECT_EQ(plan.words, 3u);
  ASSERT_EQ(plan.blocks[0].edges.size(), 2u);
  EXPECT_EQ(plan.blocks[0].edges[0].target, kCode + 12);  // HLT is the interpreter's
  EXPECT_FALSE(plan.blocks[0].edges[0].block);
  EXPECT_EQ(plan.blocks[0].edges[1].block, 0u);
  EXPECT_TRUE(plan.blocks[0].is_loop_head);
}

TEST(PlanOfARegion, TrapsAreTheInterpreters) {
  EXPECT_TRUE(plan_of({svc(0)}).blocks.empty());
  EXPECT_TRUE(plan_of({0}).blocks.empty());
  EXPECT_TRUE(plan_of({0xd53be040}).blocks.empty());  // mrs x0, cntvct_el0: the clock
  EXPECT_FALSE(plan_of({0xd53bd040}).blocks.empty());  // mrs x0, tpidr_el0
}

TEST(PlanOfARegion, CallsAreFollowedAndComeBack) {
  // bl +3; add; hlt; ret
  const Plan plan = plan_of({0x94000003, add_imm(0, 0, 1), hlt(0), kRet});
  ASSERT_EQ(plan.blocks.size(), 3u);
  const PlanBlock& callee = plan.blocks[1];
  EXPECT_EQ(callee.address, kCode + 12);
  EXPECT_TRUE(callee.may_go_elsewhere);
  ASSERT_EQ(callee.edges.size(), 1u);
  EXPECT_EQ(callee.edges[0].target, kCode + 4);
  EXPECT_TRUE(callee.edges[0].block);
}

TEST(PlanOfARegion, LimitsHold) {
  Words words(5000, kNop);
  EXPECT_EQ(plan_of(words, {4, 100, 1}).words, 100u);
  // A chain of branches to the next word but one.
  Words chain;
  for (int i = 0; i < 100; ++i) chain.insert(chain.end(), {b(2), hlt(0)});
  EXPECT_EQ(plan_of(chain, {8, 256, 1}).blocks.size(), 8u);
  // A function that calls itself for ever.
  EXPECT_LE(plan_of({kNop, 0x97ffffff}, {8, 256, 2}).blocks.size(), 8u);
}

TEST(PlanOfARegion, CodeThatNeverRanIsLeftOut) {
  const Plan plan = plan_of({subs_imm(1, 1, 1), b_ne(2), hlt(0), kNop, b(-4)}, {}, [](u64) { return false; });
  ASSERT_EQ(plan.blocks.size(), 1u);
  EXPECT_FALSE(plan.blocks[0].edges[0].block);
  EXPECT_FALSE(plan.blocks[0].edges[1].block);
}

TEST(PlanOfARegion, EveryLoopHasAHead) {
  // A loop inside a loop.
  const Plan plan = plan_of({kNop, subs_imm(1, 1, 1), b_ne(-1), subs_imm(2, 2, 1), b_ne(-4), hlt(0)});
  ASSERT_GT(plan.blocks.size(), 1u);
  // Without its heads there is no way round.
  std::function<unsigned(u32)> longest = [&](u32 block) -> unsigned {
    unsigned most = 0;
    for (const auto& edge : plan.blocks[block].edges) {
      if (edge.block && !plan.blocks[*edge.block].is_loop_head) most = std::max(most, longest(*edge.block));
    }
    return most + 1;
  };
  for (u32 i = 0; i < plan.blocks.size(); ++i) EXPECT_LE(longest(i), plan.blocks.size());
}

}  // namespace
}  // namespace kvrm::translator
