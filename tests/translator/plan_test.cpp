// What becomes one region.
#include "translator/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "../machine/words.h"

namespace kvrm::translator {
namespace {

using namespace test;

CodeView view_of(const Words& words) {
  CodeView view;
  view.word = [&](u64 address) -> std::optional<u32> {
    const u64 index = (address - kCode) / 4;
    return index < words.size() ? std::optional(words[index]) : std::nullopt;
  };
  view.follow = [](const Transition&) { return true; };
  return view;
}

Plan plan_of(
    const Words& words, const PlanLimits& limits = {}, std::function<bool(u64)> follow = [](u64) { return true; }) {
  CodeView view = view_of(words);
  view.follow = [&](const Transition& transition) { return follow(transition.to); };
  return make_plan(kCode, view, limits);
}

// With entries at these words, and no code twice.
Plan plan_once(const Words& words, const std::vector<u32>& entries, u32 most_words = 256) {
  std::vector<u64> addresses;
  for (const u32 entry : entries) addresses.push_back(kCode + entry * 4);
  const Plan plan = make_plan(addresses, view_of(words), {.words = most_words, .once = true});
  std::set<u64> seen;
  for (const PlanBlock& block : plan.blocks) {
    EXPECT_EQ(block.words.size(), block.rows.size());
    for (u32 i = 0; i < block.words.size(); ++i) {
      EXPECT_TRUE(seen.insert(block.address + i * 4).second) << "twice";
      EXPECT_EQ(block.words[i], words[(block.address - kCode) / 4 + i]);
    }
  }
  EXPECT_EQ(seen.size(), plan.words);
  for (u32 i = 0; i < plan.entry_points.size(); ++i) {
    EXPECT_EQ(plan.blocks[plan.entry_points[i]].address, addresses[i]);
    EXPECT_TRUE(plan.blocks[plan.entry_points[i]].is_loop_header);
  }
  return plan;
}

const PlanBlock& block_at(const Plan& plan, u32 index) {
  const auto found = std::ranges::find(plan.blocks, kCode + index * 4, &PlanBlock::address);
  EXPECT_NE(found, plan.blocks.end()) << index;
  return *found;
}
std::set<u64> targets(const PlanBlock& block) {
  std::set<u64> found;
  for (const PlanBlock::Edge& edge : block.edges) {
    if (edge.block) found.insert((edge.target - kCode) / 4);
  }
  return found;
}

constexpr u32 bl(int words) { return 0x94000000 | (static_cast<u32>(words) & 0x3ffffff); }

TEST(PlanWithoutRepetition, ALoopInsideABlockIsSplitOff) {
  // The loop, 2 to 4, is found when the code before it is in a block already; so is the loop around it.
  const Plan plan =
      plan_once({kNop, kNop, kNop, subs_imm(1, 1, 1), b_ne(-2), subs_imm(2, 2, 1), b_ne(-5), hlt(0)}, {0});
  EXPECT_EQ(plan.words, 7u);
  EXPECT_EQ(targets(block_at(plan, 0)), std::set<u64>{1});
  EXPECT_EQ(targets(block_at(plan, 1)), std::set<u64>{2});
  EXPECT_EQ(targets(block_at(plan, 2)), (std::set<u64>{2, 5}));
  EXPECT_EQ(targets(block_at(plan, 5)), std::set<u64>{1});
  EXPECT_TRUE(block_at(plan, 2).is_loop_header);
}

TEST(PlanWithoutRepetition, ABlockMayBeSplitOften) {
  // Each branch leads into the first block, further back each time.
  const Plan plan = plan_once({kNop, kNop, kNop, b_ne(-1), b_ne(-3), b_ne(-5), hlt(0)}, {0});
  EXPECT_EQ(plan.words, 6u);
  EXPECT_EQ(targets(block_at(plan, 1)), std::set<u64>{2});
  EXPECT_EQ(targets(block_at(plan, 2)), (std::set<u64>{2, 4})) << "the branch went with the last part";
}

TEST(PlanWithoutRepetition, AFunctionReturnsToAllItsCallers) {
  // 0: bl 4; 1: bl 4; 2: hlt; 4: nop; 5: ret
  const Plan plan = plan_once({bl(4), bl(3), hlt(0), hlt(0), kNop, kRet}, {0});
  EXPECT_EQ(plan.words, 4u);
  EXPECT_EQ(targets(block_at(plan, 0)), std::set<u64>{4});
  EXPECT_EQ(targets(block_at(plan, 1)), std::set<u64>{4});
  EXPECT_EQ(targets(block_at(plan, 4)), std::set<u64>{1}) << "the code after the second call is left out";
  EXPECT_TRUE(block_at(plan, 4).has_indirect_branch);
}

TEST(PlanWithoutRepetition, FunctionsMayCallThemselvesAndOthers) {
  // 0: bl 3; 1: nop; 2: b 0; 3: bl 7; 4: b.ne 6; 5: bl 3; 6: ret; 7: ret
  const Plan plan = plan_once({bl(3), kNop, b(-2), bl(4), b_ne(2), bl(-2), kRet, kRet}, {0});
  EXPECT_EQ(plan.words, 8u);
  EXPECT_EQ(targets(block_at(plan, 6)), (std::set<u64>{1, 6})) << "to both who call 3";
  EXPECT_EQ(targets(block_at(plan, 7)), std::set<u64>{4}) << "to who calls 7";
}

TEST(PlanWithoutRepetition, NoCodeFollowsACallThatNeverReturns) {
  // 0: bl 4; 1: nop; 2: nop; 3: hlt; 4: nop; 5: br x17
  const Plan plan = plan_once({bl(4), kNop, kNop, hlt(0), kNop, 0xd61f0220}, {0});
  EXPECT_EQ(plan.words, 3u);
  EXPECT_EQ(plan.until(), kCode + 6 * 4);
  const Plan known = plan_once({bl(4), kNop, kNop, hlt(0), kNop, 0xd61f0220}, {0, 1});
  EXPECT_EQ(known.words, 5u) << "unless an entry is there";
}

TEST(PlanWithoutRepetition, ARegionMayHaveSeveralEntryPoints) {
  const Words words{kNop, kNop, subs_imm(1, 1, 1), b_ne(-3), hlt(0), kNop, hlt(0)};
  const Plan plan = plan_once(words, {0, 2, 5});
  EXPECT_EQ(plan.words, 5u);
  EXPECT_EQ(plan.entry_points.size(), 3u);
  EXPECT_EQ(targets(block_at(plan, 0)), std::set<u64>{2});
  EXPECT_EQ(targets(block_at(plan, 2)), std::set<u64>{0});
  EXPECT_TRUE(plan_once(words, {0, 4}).blocks.empty()) << "nothing can be translated there";
}

TEST(PlanWithoutRepetition, RandomCodeKeepsTheInvariants) {
  u64 random = 1;
  const auto next = [&](u32 below) {
    return u32((random = random * 6364136223846793005u + 1442695040888963407u) >> 33) % below;
  };
  for (int round = 0; round < 2000; ++round) {
    Words words;
    const u32 size = 4 + next(40);
    for (u32 i = 0; i < size; ++i) {
      const int distance = int(next(size)) - int(i);
      const Words kinds{kNop, kNop, kNop, b_ne(distance), b(distance), bl(distance), kRet, hlt(0)};
      words.push_back(kinds[next(8)]);
    }
    const std::vector<u32> entries{next(size), next(size)};
    const Plan plan = plan_once(words, entries[0] == entries[1] ? std::vector<u32>{entries[0]} : entries, 4 + next(60));
    for (const PlanBlock& block : plan.blocks) {
      for (const PlanBlock::Edge& edge : block.edges) {
        if (edge.block) EXPECT_EQ(plan.blocks[*edge.block].address, edge.target);
      }
      if (!block.has_indirect_branch) EXPECT_LE(block.edges.size(), 2u);
      if (!block.words.empty() && !block.has_indirect_branch) EXPECT_GE(block.edges.size(), 1u);
    }
  }
}

TEST(PlanOfARegion, ALoopLeadsBackToItself) {
  const Plan plan = plan_of({add_imm(0, 0, 1), subs_imm(1, 1, 1), b_ne(-2), hlt(0)});
  ASSERT_EQ(plan.blocks.size(), 1u);
  EXPECT_EQ(plan.words, 3u);
  ASSERT_EQ(plan.blocks[0].edges.size(), 2u);
  EXPECT_EQ(plan.blocks[0].edges[0].target, kCode + 12);  // the interpreter runs HLT
  EXPECT_FALSE(plan.blocks[0].edges[0].block);
  EXPECT_EQ(plan.blocks[0].edges[1].block, 0u);
  EXPECT_TRUE(plan.blocks[0].is_loop_header);
}

TEST(PlanOfARegion, TrapsAndTheClockAreLeftOut) {
  EXPECT_TRUE(plan_of({svc(0)}).blocks.empty());
  EXPECT_TRUE(plan_of({0}).blocks.empty());
  EXPECT_TRUE(plan_of({0xd53be040}).blocks.empty());  // mrs x0, cntvct_el0: the clock
  EXPECT_FALSE(plan_of({0xd53bd040}).blocks.empty());  // mrs x0, tpidr_el0
}

TEST(PlanOfARegion, CallsAreFollowedAndReturn) {
  // bl +3; add; hlt; ret
  const Plan plan = plan_of({0x94000003, add_imm(0, 0, 1), hlt(0), kRet});
  ASSERT_EQ(plan.blocks.size(), 3u);
  const PlanBlock& callee = plan.blocks[1];
  EXPECT_EQ(callee.address, kCode + 12);
  EXPECT_TRUE(callee.has_indirect_branch);
  ASSERT_EQ(callee.edges.size(), 1u);
  EXPECT_EQ(callee.edges[0].target, kCode + 4);
  EXPECT_TRUE(callee.edges[0].block);
}

TEST(PlanOfARegion, PlansStayWithinTheirLimits) {
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

constexpr u32 br(u32 rn) { return 0xd61f0000 | rn << 5; }
constexpr u32 blr(u32 rn) { return 0xd63f0000 | rn << 5; }

// Of a view in which the word with this index goes to those.
Plan plan_with_targets(
    const Words& words, u32 from, const std::vector<u32>& to, const PlanLimits& limits = {},
    std::function<bool(u64)> follow = [](u64) { return true; }) {
  CodeView view = view_of(words);
  view.follow = [&](const Transition& transition) { return follow(transition.to); };
  view.targets = [&](u64 address) {
    std::vector<u64> found;
    for (const u32 index : to) {
      if (address == kCode + from * 4) found.push_back(kCode + index * 4);
    }
    return found;
  };
  return make_plan(kCode, view, limits);
}

TEST(SeenTargets, OfASwitchAreBlocksOfTheLoop) {
  // 0: nop; 1: br x16; 2: nop; 3: b 0; 4: nop; 5: b 0; 6: hlt
  const Words words{kNop, br(16), kNop, b(-3), kNop, b(-5), hlt(0)};
  const Plan plan = plan_with_targets(words, 1, {4, 2, 4, 6});
  EXPECT_EQ(plan.words, 6u);
  const PlanBlock& dispatch = block_at(plan, 0);
  EXPECT_TRUE(dispatch.has_indirect_branch);
  EXPECT_TRUE(dispatch.is_loop_header);
  ASSERT_EQ(dispatch.edges.size(), 2u) << "each once, and none to what the interpreter runs";
  EXPECT_EQ(dispatch.edges[0].target, kCode + 16) << "the most frequent first";
  EXPECT_EQ(targets(block_at(plan, 2)), std::set<u64>{0});
  EXPECT_EQ(plan_with_targets(words, 1, {}).words, 2u);
}

TEST(SeenTargets, StayWithinTheLimits) {
  const Words words{kNop, br(16), kNop, b(-3), kNop, b(-5), kNop, b(-7)};
  EXPECT_EQ(block_at(plan_with_targets(words, 1, {2, 4, 6}, {.blocks = 3}), 0).edges.size(), 2u);
  EXPECT_TRUE(block_at(plan_with_targets(words, 1, {2, 4, 6}, {.words = 2}), 0).edges.empty());
  const Plan plan = plan_with_targets(words, 1, {2, 4, 6}, {}, [](u64 to) { return to != kCode + 16; });
  EXPECT_EQ(targets(block_at(plan, 0)), (std::set<u64>{2, 6})) << "what does not pay leaves";
  EXPECT_EQ(plan_with_targets(words, 1, {2, 4, 6}, {}, [](u64 to) { return to == kCode + 8; }).words, 2u)
      << "where most leave, all do";
  EXPECT_EQ(plan_with_targets(words, 1, {2, 4, 6}, {.once = true}).words, 2u);
}

TEST(SeenTargets, OfACallReturnBehindIt) {
  // 0: blr x9; 1: add; 2: hlt; 3: b 4; 4: ret
  const Words words{blr(9), add_imm(0, 0, 1), hlt(0), b(1), kRet};
  const Plan plan = plan_with_targets(words, 0, {3});
  EXPECT_EQ(targets(block_at(plan, 0)), std::set<u64>{3});
  EXPECT_EQ(targets(block_at(plan, 4)), std::set<u64>{1});
  EXPECT_EQ(plan.words, 4u);
}

TEST(SeenTargets, OfAReturnAreNotFollowed) {
  EXPECT_EQ(plan_with_targets({kNop, kRet, kNop, b(-3)}, 1, {2}).words, 2u);
}

TEST(PlanOfARegion, EveryLoopHasAHeader) {
  // A loop inside a loop.
  const Plan plan = plan_of({kNop, subs_imm(1, 1, 1), b_ne(-1), subs_imm(2, 2, 1), b_ne(-4), hlt(0)});
  ASSERT_GT(plan.blocks.size(), 1u);
  // Without the headers the plan has no cycle.
  std::function<unsigned(u32)> longest = [&](u32 block) -> unsigned {
    unsigned most = 0;
    for (const auto& edge : plan.blocks[block].edges) {
      if (edge.block && !plan.blocks[*edge.block].is_loop_header) most = std::max(most, longest(*edge.block));
    }
    return most + 1;
  };
  for (u32 i = 0; i < plan.blocks.size(); ++i) EXPECT_LE(longest(i), plan.blocks.size());
}

}  // namespace
}  // namespace kvrm::translator
