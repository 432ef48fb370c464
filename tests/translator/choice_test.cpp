// Which code of a program becomes regions on a GPU.
#include "translator/gpu_choice.h"

#include <gtest/gtest.h>

#include "../machine/words.h"
#include "interpreter/lane_region.h"

namespace kvrm::translator {
namespace {

using namespace test;

using Indexes = std::vector<u32>;

constexpr u32 kWaysOut = 16;  // that weigh as much as one finding

constexpr u32 bl(int words) { return 0x94000000 | (static_cast<u32>(words) & 0x3ffffff); }

Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}
Words nops(u32 count) { return Words(count, kNop); }

// A program, and a choice of its heads. Places are numbers of words.
class Choosing {
 public:
  explicit Choosing(Words words, const GpuLimits& limits = {})
      : choice_(limits), words_(std::move(words)), heat_(interpreter::kNotedParts * words_.size()) {}

  Choosing& found(u32 index, u32 times = 100) {
    heat_[index] += times;
    return *this;
  }
  Choosing& left_for(u32 index, u32 times) {
    heat_[words_.size() + index] += times;
    return *this;
  }
  // With what was counted since the last time.
  bool choose(bool usual_float = false) {
    const SharedCode code{kCode, words_, 0};
    const bool more = choice_.choose(std::span(&code, 1), heat_, usual_float);
    heat_.assign(heat_.size(), 0);
    return more;
  }

  // Another one that goes on with what this one has chosen.
  Choosing resumed(std::vector<u32> heat) const {
    Choosing other(words_);
    const SharedCode code{kCode, words_, 0};
    other.choice_.resume(std::span(&code, 1), heat, choice_.heads(), choice_.stretches(), false);
    return other;
  }
  const std::vector<u32>& heat() const { return heat_; }
  Choosing& missed(u32 index, u32 times) {
    heat_[2 * words_.size() + index] += times;
    return *this;
  }

  Indexes heads() const {
    Indexes heads;
    for (const GpuHead& head : choice_.heads()) {
      EXPECT_EQ(head.address, kCode + head.entry * 4);
      heads.push_back(head.entry);
    }
    return heads;
  }
  // Which region each head leads into.
  Indexes regions() const {
    Indexes regions;
    for (const GpuHead& head : choice_.heads()) {
      const Plan& plan = region(head.region).plan;
      EXPECT_EQ(plan.blocks[plan.ways_in.at(head.way_in)].address, head.address);
      EXPECT_EQ(kCode + head.from * 4, plan.from());
      EXPECT_EQ(kCode + head.until * 4, plan.until());
      regions.push_back(head.region);
    }
    return regions;
  }
  const GpuRegion& region(u32 number) const { return choice_.regions().at(number); }
  u32 most_at_a_time() const { return choice_.heads().front().most; }
  u32 words_of(u32 number) const { return region(number).plan.words; }

 private:
  GpuChoice choice_;
  const Words words_;
  std::vector<u32> heat_;
};

// A loop of four words at 1.
const Words kLoop{movz(1, 9), add_imm(0, 0, 1), add_imm(0, 0, 1), subs_imm(1, 1, 1), b_ne(-3), hlt(0)};

TEST(ChoiceOfHeads, ALoopBeginsAtItsHead) {
  for (const u32 place : {1u, 2u, 3u, 4u}) {
    Choosing choosing(kLoop);
    EXPECT_TRUE(choosing.found(place).choose());
    EXPECT_EQ(choosing.heads(), Indexes{1}) << place;
    EXPECT_EQ(choosing.words_of(0), 4u) << place;
    EXPECT_EQ(choosing.region(0).plan.blocks.front().address, kCode + 4);
  }
}

// A division may take microseconds, and so may 16 elements one by one; moving vectors does not.
TEST(ChoiceOfHeads, SlowInstructionsAreGivenFewAtATime) {
  constexpr u32 kFdiv = 0x6e22fc20, kUqshl = 0x6e224c20, kDup = 0x4e080c20, kLdrVector = 0x3dc00000;
  for (const u32 word : {kFdiv, kUqshl, kDup, kLdrVector}) {
    Words words = kLoop;
    words[2] = word;
    Choosing choosing(words);
    EXPECT_TRUE(choosing.found(1).choose());
    const bool is_slow = word == kFdiv || word == kUqshl;
    EXPECT_EQ(choosing.most_at_a_time(), is_slow ? 512u + 4u : interpreter::LaneRegion::kNoLimit) << std::hex << word;
  }
}

TEST(ChoiceOfHeads, OneRegionForAllPlacesOfALoop) {
  Choosing choosing(kLoop);
  EXPECT_TRUE(choosing.found(1).found(2).found(3).found(4).choose());
  EXPECT_EQ(choosing.heads(), Indexes{1});
  EXPECT_FALSE(choosing.found(2).choose()) << "it has a region";
  EXPECT_FALSE(choosing.choose()) << "no lane was found anywhere";
}

// The inner loop is 2 to 4, the outer one 1 to 7.
const Words kNested{movz(2, 9),        movz(1, 9), add_imm(0, 0, 1),
                    subs_imm(1, 1, 1), b_ne(-2),   add_imm(0, 0, 1),
                    subs_imm(2, 2, 1), b_ne(-6),   hlt(0)};

TEST(ChoiceOfHeads, TheInnermostLoop) {
  Choosing choosing(kNested);
  EXPECT_TRUE(choosing.found(3).found(6, 20).choose());
  EXPECT_EQ(choosing.heads(), Indexes{2});
  EXPECT_EQ(choosing.words_of(0), 7u) << "and the loop around it, which runs too";
}

TEST(ChoiceOfHeads, TheOuterLoopWhenLanesAreFoundThere) {
  Choosing choosing(kNested);
  EXPECT_TRUE(choosing.found(3).choose());
  EXPECT_EQ(choosing.heads(), Indexes{2});
  EXPECT_EQ(choosing.words_of(0), 3u);
  EXPECT_TRUE(choosing.found(5).choose());
  EXPECT_EQ(choosing.heads(), (Indexes{2, 1}));
  EXPECT_EQ(choosing.regions(), (Indexes{0, 0})) << "it is the same code";
  EXPECT_EQ(choosing.words_of(0), 7u);
}

// Two functions, at 4 and 8, and who calls them.
const Words kCalls{bl(4), bl(7), hlt(0), kNop, kNop, kNop, kNop, kRet, kNop, kNop, kNop, kRet};

TEST(ChoiceOfHeads, StraightCodeBeginsWithItsFunction) {
  Choosing choosing(kCalls);
  EXPECT_TRUE(choosing.found(0, 1).found(1, 1).found(6).found(10, 50).choose());
  EXPECT_EQ(choosing.heads(), (Indexes{4, 8}));
}

TEST(ChoiceOfHeads, OnlyCallsThatRanShowFunctions) {
  Choosing choosing(kCalls);
  EXPECT_TRUE(choosing.found(10).choose());
  EXPECT_EQ(choosing.heads(), Indexes{10}) << "nobody is known to call it";
  Choosing other(kCalls);
  EXPECT_TRUE(other.found(0, 1).found(10).choose());
  EXPECT_EQ(other.heads(), Indexes{10}) << "the function at 4 ends before";
}

TEST(ChoiceOfHeads, APlaceThatItsFunctionsRegionDoesNotReach) {
  const u32 far = 2 + 300;
  Choosing choosing(Words{bl(2), hlt(0)} + nops(400) + Words{kRet});
  EXPECT_TRUE(choosing.found(0, 1).found(far).choose());
  EXPECT_EQ(choosing.heads(), Indexes{far});
  EXPECT_EQ(choosing.words_of(0), 101u);
  EXPECT_TRUE(choosing.found(100).choose());
  EXPECT_EQ(choosing.heads(), (Indexes{far, 2}));
  EXPECT_EQ(choosing.regions(), (Indexes{0, 1})) << "they have nothing in common";
  EXPECT_EQ(choosing.words_of(1), GpuLimits().words);
}

TEST(ChoiceOfHeads, WhatCannotBeTranslatedIsLeftAlone) {
  Choosing choosing({svc(0), hlt(0), 0});
  EXPECT_FALSE(choosing.found(0).found(1).found(2).choose());
  EXPECT_TRUE(choosing.heads().empty());
}

// A loop at 0 with a part at 4 that is seldom needed.
const Words kRarely{add_imm(0, 0, 1), b_ne(3), subs_imm(1, 1, 1), b(-3), add_imm(0, 0, 2), b(-5)};

TEST(ChoiceOfHeads, CodeThatNeverRanIsLeftOut) {
  Choosing choosing(kRarely);
  EXPECT_TRUE(choosing.found(0).found(2).choose());
  EXPECT_EQ(choosing.heads(), Indexes{0});
  EXPECT_EQ(choosing.words_of(0), 4u);
  for (const PlanBlock& block : choosing.region(0).plan.blocks) EXPECT_LT(block.address, kCode + 4 * 4);
}

TEST(ChoiceOfHeads, OneFindingAnywhereInABlockShowsThatItRuns) {
  for (const u32 place : {4u, 5u}) {
    Choosing choosing(kRarely);
    EXPECT_TRUE(choosing.found(0).found(2).found(place, 1).choose());
    EXPECT_EQ(choosing.words_of(0), 6u) << place;
  }
  Choosing left(kRarely);
  EXPECT_TRUE(left.found(0).found(2).left_for(4, 1).choose());
  EXPECT_EQ(left.words_of(0), 6u) << "so does a lane that left for it";
}

TEST(ChoiceOfHeads, ARegionGrowsWhenMoreOfItsLoopHasRun) {
  Choosing choosing(kRarely);
  EXPECT_TRUE(choosing.found(0).found(2).choose());
  const std::string name = choosing.region(0).name;
  EXPECT_TRUE(choosing.found(4).choose());
  EXPECT_EQ(choosing.heads(), Indexes{0}) << "the same region";
  EXPECT_EQ(choosing.words_of(0), 6u);
  EXPECT_NE(choosing.region(0).name, name) << "it is compiled again";
  EXPECT_FALSE(choosing.found(4).choose()) << "there is no more";
}

TEST(ChoiceOfHeads, ManyFindingsAreNeededToGrow) {
  Choosing choosing(kRarely);
  EXPECT_TRUE(choosing.found(0).found(2).choose());
  EXPECT_FALSE(choosing.found(4, GpuLimits().fewest - 1).choose());
  EXPECT_EQ(choosing.words_of(0), 4u);
  EXPECT_TRUE(choosing.found(0).found(4).choose()) << "what was found before is not forgotten";
}

// A loop at 1 to 4, and straight code of some length at 6.
Words with_way_out(u32 length) { return kLoop + nops(length) + Words{hlt(0)}; }

TEST(ChoiceOfHeads, AWayOutThatIsTakenOften) {
  Choosing choosing(with_way_out(20));
  EXPECT_TRUE(choosing.found(2, 10000).choose());
  EXPECT_FALSE(choosing.found(2, 10000).left_for(6, 10000 * kWaysOut / 100 - 1).choose()) << "less than one in 100";
  EXPECT_TRUE(choosing.found(2, 10000).left_for(6, 10000 * kWaysOut / 100).choose());
  EXPECT_EQ(choosing.heads(), (Indexes{1, 6}));
  EXPECT_EQ(choosing.words_of(1), 20u);
  EXPECT_FALSE(choosing.left_for(6, 10000).choose()) << "it has a region";
}

// Where a region is left for code that it holds, there is another way into it.
TEST(ChoiceOfHeads, AWayOutIntoTheSameRegion) {
  Choosing choosing(Words{kNop} + nops(20) + Words{b(-20)});
  EXPECT_TRUE(choosing.found(5).choose());
  EXPECT_EQ(choosing.heads(), Indexes{1});
  EXPECT_TRUE(choosing.found(5, 1).left_for(9, 10000).choose());
  EXPECT_EQ(choosing.heads(), (Indexes{1, 9}));
  EXPECT_EQ(choosing.regions(), (Indexes{0, 0}));
  EXPECT_EQ(choosing.words_of(0), 21u);
}

TEST(ChoiceOfHeads, ARegionTakesInNoMoreThanItMayHold) {
  Choosing joined(nops(70) + Words{hlt(0)}, {.words = 30});
  EXPECT_TRUE(joined.found(50).choose());
  EXPECT_TRUE(joined.found(30).choose());
  EXPECT_EQ(joined.regions(), (Indexes{0, 0})) << "a third of it is there";
  EXPECT_EQ(joined.words_of(0), 40u);
  EXPECT_TRUE(joined.found(5).choose());
  EXPECT_EQ(joined.regions(), (Indexes{0, 0, 1})) << "a sixth of it is there";
  // All that they lead to would be too much, so they hold what they held alone.
  Choosing apart(nops(100) + Words{hlt(0)}, {.words = 30});
  for (const u32 place : {50u, 40u, 25u}) EXPECT_TRUE(apart.found(place).choose());
  EXPECT_EQ(apart.regions(), (Indexes{0, 0, 0}));
  EXPECT_EQ(apart.words_of(0), 55u);
  EXPECT_TRUE(apart.found(10).choose());
  EXPECT_EQ(apart.regions(), (Indexes{0, 0, 0, 1})) << "together they would be more than twice as long as one may be";
  EXPECT_EQ(apart.words_of(1), 30u);
}

// A loop of 21 words, and 90 more to which it leads: more than two regions may hold.
TEST(ChoiceOfHeads, WhatTwoHoldIsJoinedWhereAllWouldBeTooMuch) {
  Words words = nops(10) + Words{b_ne(11)} + nops(9) + Words{b(-20)};
  for (u32 i = 0; i < 30; ++i) words = words + Words{kNop, kNop, b(1)};
  Choosing choosing(words + Words{hlt(0)}, {.words = 50});
  std::vector<u32> heat = choosing.found(2).found(12).heat();
  for (u32 i = 0; i < 30; ++i) heat[21 + 3 * i] = 1;
  for (u32 i = 0; i < 30; ++i) choosing.found(21 + 3 * i, 1);
  EXPECT_TRUE(choosing.choose());
  const u32 before = choosing.words_of(0);
  EXPECT_GE(before, 50u);
  choosing.left_for(5, 30'000);
  for (std::size_t i = 0; i < heat.size(); ++i) heat[i] += choosing.heat()[i];
  EXPECT_TRUE(choosing.choose());
  EXPECT_EQ(choosing.regions(), (Indexes{0, 0}));
  EXPECT_EQ(choosing.words_of(0), before);
  const Choosing again = choosing.resumed(heat);
  EXPECT_EQ(again.regions(), (Indexes{0, 0}));
  EXPECT_EQ(again.region(0).name, choosing.region(0).name);
}

// From a function's loop lanes come back to a loop that calls it: eleven words, and the way into the function.
TEST(ChoiceOfHeads, AWayOutThatLeadsBack) {
  const Words function = nops(30) + Words{subs_imm(1, 1, 1), b_ne(-20), 0xd65f03c0};  // ret
  Choosing choosing(function + nops(10) + Words{bl(-43), b(-11)});
  EXPECT_TRUE(choosing.found(20).choose());
  EXPECT_EQ(choosing.heads(), Indexes{11});
  for (const u32 place : {2u, 35u}) choosing.found(place, 1);
  EXPECT_TRUE(choosing.left_for(33, 10000).choose());
  EXPECT_EQ(choosing.heads(), (Indexes{11, 33}));
  EXPECT_EQ(choosing.regions(), (Indexes{0, 0}));
}

TEST(ChoiceOfHeads, AShortWayOutIsNotWorthIt) {
  for (const u32 length : {1u, 7u, 8u}) {
    Choosing choosing(with_way_out(length));
    EXPECT_EQ(choosing.found(2, 1).left_for(6, 10000).choose(), length >= 8) << length;
  }
}

TEST(ChoiceOfHeads, AWayOutBeginsWhereLanesAre) {
  // Not at the head of the loop around it, where they are not.
  Choosing choosing(Words{kNop} + nops(10) + Words{b(-10)});
  EXPECT_TRUE(choosing.found(5, 1).left_for(5, 10000).choose());
  EXPECT_EQ(choosing.heads(), Indexes{5});
}

TEST(ChoiceOfHeads, RegionsForWaysOutAreSmaller) {
  Choosing choosing(with_way_out(250));
  EXPECT_TRUE(choosing.left_for(6, 10000).choose());
  EXPECT_EQ(choosing.words_of(0), GpuLimits().words / 4);
}

TEST(ChoiceOfHeads, FewFindingsMakeNoRegion) {
  for (const u32 fewest : {1u, 4u, 50u}) {
    Choosing choosing(kLoop, {.fewest = fewest});
    EXPECT_FALSE(choosing.found(2, fewest - 1).choose());
    EXPECT_TRUE(choosing.found(2, fewest).choose());
    Choosing left(with_way_out(20), {.fewest = fewest});
    EXPECT_FALSE(left.left_for(6, fewest * kWaysOut - 1).choose());
    EXPECT_TRUE(left.left_for(6, fewest * kWaysOut).choose());
  }
}

// Loops of two words each at 0, 3, 6 and so on.
Words loops(u32 count) {
  Words words;
  for (u32 i = 0; i < count; ++i) words = words + Words{subs_imm(1, 1, 1), b_ne(-1), hlt(0)};
  return words;
}

TEST(ChoiceOfHeads, TheHottestFirstAndSoManyInARound) {
  Choosing choosing(loops(5), {.regions_a_round = 2});
  const auto count = [&] {
    for (u32 i = 0; i < 5; ++i) choosing.found(3 * i, 100 + 10 * i);
    return choosing.choose();
  };
  EXPECT_TRUE(count());
  EXPECT_EQ(choosing.heads(), (Indexes{12, 9}));
  EXPECT_TRUE(count());
  EXPECT_EQ(choosing.heads(), (Indexes{12, 9, 6, 3}));
  EXPECT_TRUE(count());
  EXPECT_EQ(choosing.heads(), (Indexes{12, 9, 6, 3, 0}));
  EXPECT_FALSE(count());
}

TEST(ChoiceOfHeads, NoMoreRegionsThanAllowed) {
  Choosing choosing(loops(5), {.regions = 3, .regions_a_round = 2});
  for (const bool more : {true, true, false}) {
    for (u32 i = 0; i < 5; ++i) choosing.found(3 * i);
    EXPECT_EQ(choosing.choose(), more);
  }
  EXPECT_EQ(choosing.heads(), (Indexes{0, 3, 6})) << "equally hot: in their order";
}

TEST(ChoiceOfHeads, APlaceWithASmallShareIsNotWorthIt) {
  Choosing choosing(loops(2), {.smallest_share = 10});
  EXPECT_TRUE(choosing.found(0, 901).found(3, 99).choose());
  EXPECT_EQ(choosing.heads(), Indexes{0});
  EXPECT_TRUE(choosing.found(0, 900).found(3, 100).choose());
  EXPECT_EQ(choosing.heads(), (Indexes{0, 3}));
}

TEST(ChoiceOfHeads, TheLimitsOfARegion) {
  Choosing small(nops(100) + Words{hlt(0)}, {.words = 30});
  EXPECT_TRUE(small.found(0).choose());
  EXPECT_EQ(small.words_of(0), 30u);
  Words chain;  // of branches to the next word
  for (u32 i = 0; i < 100; ++i) chain.push_back(b(1));
  Choosing few(chain, {.blocks = 7});
  for (u32 i = 0; i < chain.size(); ++i) few.found(i, 1);
  EXPECT_TRUE(few.found(0).choose());
  EXPECT_EQ(few.region(0).plan.blocks.size(), 7u);
}

TEST(ChoiceOfHeads, UsualFloatingPointIsHandedOn) {
  const Words words{0x1e602820, b(-1)};  // fadd d0, d1, d0
  for (const bool usual : {false, true}) {
    Choosing choosing(words);
    EXPECT_TRUE(choosing.found(0).choose(usual));
    EXPECT_EQ(choosing.region(0).plan.usual_float, usual);
  }
}

TEST(ChoiceOfHeads, SeveralPiecesOfCode) {
  constexpr u32 kFirstEntry = 5, kSecondEntry = 40, kAll = 64;
  const SharedCode codes[] = {{kCode, kLoop, kFirstEntry}, {0x7000000, kLoop, kSecondEntry}};
  std::vector<u32> heat(interpreter::kNotedParts * kAll);
  heat[kFirstEntry + 2] = 50;
  heat[kSecondEntry + 3] = 100;
  heat[20] = 1000;  // data, it seems
  GpuChoice choice({});
  ASSERT_TRUE(choice.choose(codes, heat, false));
  ASSERT_EQ(choice.heads().size(), 2u);
  EXPECT_EQ(choice.heads()[0].address, 0x7000004u);
  EXPECT_EQ(choice.heads()[0].code, 1u);
  EXPECT_EQ(choice.heads()[0].entry, kSecondEntry + 1);
  EXPECT_EQ(choice.heads()[1].address, kCode + 4);
  EXPECT_EQ(choice.heads()[1].code, 0u);
  EXPECT_EQ(choice.heads()[1].entry, kFirstEntry + 1);
  EXPECT_NE(choice.regions()[0].name, choice.regions()[1].name);
}

// Jobs of several programs: what is at an address in one says nothing about the others.
TEST(ChoiceOfHeads, SeveralProgramsAtOneAddress) {
  const Words longer{movz(1, 9),       add_imm(0, 0, 1),  add_imm(0, 0, 2), add_imm(0, 0, 3),
                     add_imm(0, 0, 4), subs_imm(1, 1, 1), b_ne(-5),         hlt(0)};
  constexpr u32 kSecondEntry = 40, kAll = 64;
  const SharedCode codes[] = {{kCode, kLoop, 0}, {kCode, longer, kSecondEntry}};
  std::vector<u32> heat(interpreter::kNotedParts * kAll);
  heat[2] = 100;
  GpuChoice choice({});
  ASSERT_TRUE(choice.choose(codes, heat, false));
  heat.assign(heat.size(), 0);
  heat[kSecondEntry + 2] = 100;
  ASSERT_TRUE(choice.choose(codes, heat, false));
  ASSERT_EQ(choice.heads().size(), 2u);
  for (u32 i = 0; i < 2; ++i) {
    EXPECT_EQ(choice.heads()[i].address, kCode + 4);
    EXPECT_EQ(choice.heads()[i].code, i);
  }
  EXPECT_EQ(choice.regions()[0].plan.words, 4u);
  EXPECT_EQ(choice.regions()[1].plan.words, 6u);
  EXPECT_NE(choice.regions()[0].name, choice.regions()[1].name);
}

// What was chosen in several rounds, as it was; nothing new is chosen for what was counted then.
TEST(ChoiceOfHeads, IsTakenUpAgain) {
  const Words words = kLoop + nops(20) + kLoop;
  Choosing first(words);
  first.found(2);
  std::vector<u32> heat = first.heat();
  ASSERT_TRUE(first.choose());
  first.found(29);
  heat[29] += 100;
  ASSERT_TRUE(first.choose());
  ASSERT_EQ(first.heads(), (Indexes{1, 27}));
  Choosing second = first.resumed(heat);
  EXPECT_EQ(second.heads(), first.heads());
  EXPECT_EQ(second.regions(), first.regions());
  for (const u32 region : {0u, 1u}) EXPECT_EQ(second.region(region).name, first.region(region).name);
  EXPECT_FALSE(second.choose());
}

TEST(ChoiceOfHeads, ALongBlockIsTakenUpAgainAsItWasCut) {
  Choosing first(Words{kNop} + nops(400) + Words{b(-400)});
  first.found(5);
  const std::vector<u32> heat = first.heat();
  ASSERT_TRUE(first.choose());
  const Choosing second = first.resumed(heat);
  EXPECT_EQ(second.words_of(0), first.words_of(0));
  EXPECT_EQ(second.region(0).name, first.region(0).name);
}

// Accesses that a region can often not do are looked for farther away, by a region that is made again.
TEST(ChoiceOfHeads, AccessesThatMissAreFar) {
  const Words words{movz(1, 9), 0xf9400003, add_imm(0, 0, 1), subs_imm(1, 1, 1), b_ne(-3), hlt(0)};
  Choosing choosing(words);
  choosing.found(2);
  ASSERT_TRUE(choosing.choose());
  const std::string before = choosing.region(0).name;
  EXPECT_TRUE(choosing.region(0).plan.blocks[0].far.empty());
  choosing.found(2).missed(1, 10);  // now and then
  EXPECT_FALSE(choosing.choose());
  choosing.found(2).missed(1, 5000).missed(2, 5000);  // the latter is no access
  ASSERT_TRUE(choosing.choose());
  EXPECT_NE(choosing.region(0).name, before);
  EXPECT_EQ(choosing.region(0).plan.blocks[0].far, Indexes{0});
  choosing.found(2).missed(1, 5000);
  EXPECT_FALSE(choosing.choose());  // it is so already
}

}  // namespace
}  // namespace kvrm::translator
