// Which code of a program becomes regions on a GPU.
#include "translator/gpu/choice.h"

#include <gtest/gtest.h>

#include "../machine/words.h"
#include "interpreter/freestanding/lane_region.h"

namespace kvrm::translator {
namespace {

using namespace test;

using Indexes = std::vector<u32>;

constexpr u32 kSideExits = 16;  // that weigh as much as one sample

constexpr u32 bl(int words) { return 0x94000000 | (static_cast<u32>(words) & 0x3ffffff); }

Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}
Words nops(u32 count) { return Words(count, kNop); }

// A program and the choice of its regions. Words are numbered from 0.
class Choosing {
 public:
  explicit Choosing(Words words, const GpuLimits& limits = {})
      : choice_(limits), words_(std::move(words)), samples_(interpreter::kSampleKinds * words_.size()) {}

  Choosing& sampled(u32 index, u32 times = 100) {
    samples_[index] += times;
    return *this;
  }
  Choosing& left_for(u32 index, u32 times) {
    samples_[words_.size() + index] += times;
    return *this;
  }
  // A loop of bulk steps, from word to word.
  Choosing& leave_loop(u32 first, u32 end) {
    const GpuCodeRange range{0, first, end};
    choice_.leave_loops(std::span(&range, 1));
    return *this;
  }
  Choosing& leave_none() {
    choice_.leave_loops({});
    return *this;
  }
  // With the samples since the last time.
  bool choose(bool default_fp_mode = false) {
    const SharedCode code{kCode, words_, 0};
    const bool more = choice_.choose(std::span(&code, 1), samples_, 0, default_fp_mode);
    samples_.assign(samples_.size(), 0);
    return more;
  }

  // Another choice that continues with this one's regions.
  Choosing resumed(std::vector<u32> samples) const {
    Choosing other(words_);
    const SharedCode code{kCode, words_, 0};
    other.choice_.resume(std::span(&code, 1), samples, choice_.entries(), choice_.ranges(), false);
    return other;
  }
  const std::vector<u32>& samples() const { return samples_; }
  // The region that starts at `from` was left for this word.
  Choosing& came_from(u32 from, u32 index) {
    samples_[static_cast<u32>(interpreter::SampleKind::kSource) * words_.size() + index] = from + 1;
    return *this;
  }
  Choosing& missed(u32 index, u32 times) {
    samples_[2 * words_.size() + index] += times;
    return *this;
  }

  Indexes entries() const {
    Indexes entries;
    for (const GpuRegionEntry& entry : choice_.entries()) {
      EXPECT_EQ(entry.pc, kCode + entry.word * 4);
      entries.push_back(entry.word);
    }
    return entries;
  }
  // The region of each entry.
  Indexes regions() const {
    Indexes regions;
    for (const GpuRegionEntry& entry : choice_.entries()) {
      const Plan& plan = region(entry.region).plan;
      EXPECT_EQ(plan.blocks[plan.entry_points.at(entry.entry_point)].address, entry.pc);
      EXPECT_EQ(kCode + entry.from * 4, plan.from());
      EXPECT_EQ(kCode + entry.until * 4, plan.until());
      regions.push_back(entry.region);
    }
    return regions;
  }
  // The regions that hold a word.
  Indexes holders(u32 index) const {
    Indexes regions;
    for (u32 i = 0; i < choice_.regions().size(); ++i) {
      for (const PlanBlock& block : region(i).plan.blocks) {
        const u64 at = kCode + index * 4;
        if (at >= block.address && at < block.address + block.words.size() * 4) regions.push_back(i);
      }
    }
    return regions;
  }
  const GpuRegion& region(u32 number) const { return choice_.regions().at(number); }
  u32 most_at_a_time() const { return choice_.entries().front().most; }
  u32 words_of(u32 number) const { return region(number).plan.words; }

 private:
  GpuChoice choice_;
  const Words words_;
  std::vector<u32> samples_;
};

// A loop of four words at 1.
const Words kLoop{movz(1, 9), add_imm(0, 0, 1), add_imm(0, 0, 1), subs_imm(1, 1, 1), b_ne(-3), hlt(0)};

TEST(RegionChoice, ARegionOfALoopStartsAtTheHeader) {
  for (const u32 word : {1u, 2u, 3u, 4u}) {
    Choosing choosing(kLoop);
    EXPECT_TRUE(choosing.sampled(word).choose());
    EXPECT_EQ(choosing.entries(), Indexes{1}) << word;
    EXPECT_EQ(choosing.words_of(0), 4u) << word;
    EXPECT_EQ(choosing.region(0).plan.blocks.front().address, kCode + 4);
  }
}

// A division may take microseconds, and so may 16 elements one by one; moving vectors does not.
TEST(RegionChoice, RegionsWithSlowInstructionsRunFewPerCall) {
  constexpr u32 kFdiv = 0x6e22fc20, kUqshl = 0x6e224c20, kDup = 0x4e080c20, kLdrVector = 0x3dc00000;
  for (const u32 word : {kFdiv, kUqshl, kDup, kLdrVector}) {
    Words words = kLoop;
    words[2] = word;
    Choosing choosing(words);
    EXPECT_TRUE(choosing.sampled(1).choose());
    const bool is_slow = word == kFdiv || word == kUqshl;
    EXPECT_EQ(choosing.most_at_a_time(), is_slow ? 512u + 4u : interpreter::LaneRegion::kNoLimit) << std::hex << word;
  }
}

TEST(RegionChoice, AllWordsOfALoopShareOneRegion) {
  Choosing choosing(kLoop);
  EXPECT_TRUE(choosing.sampled(1).sampled(2).sampled(3).sampled(4).choose());
  EXPECT_EQ(choosing.entries(), Indexes{1});
  EXPECT_FALSE(choosing.sampled(1).choose()) << "it has a region";
  EXPECT_FALSE(choosing.choose()) << "no lane was found anywhere";
}

TEST(RegionChoice, WhereTheInterpreterRunsCodeOfARegionItCanBeEntered) {
  Choosing choosing(kLoop);
  EXPECT_TRUE(choosing.sampled(1).choose());
  EXPECT_TRUE(choosing.sampled(2).choose());
  EXPECT_EQ(choosing.entries(), (Indexes{1, 2}));
  EXPECT_EQ(choosing.regions(), (Indexes{0, 0}));
  EXPECT_FALSE(choosing.sampled(2).choose()) << "it can be entered already";
}

// The inner loop is 2 to 4, the outer one 1 to 7.
const Words kNested{movz(2, 9),        movz(1, 9), add_imm(0, 0, 1),
                    subs_imm(1, 1, 1), b_ne(-2),   add_imm(0, 0, 1),
                    subs_imm(2, 2, 1), b_ne(-6),   hlt(0)};

TEST(RegionChoice, TheInnermostLoopBecomesARegion) {
  Choosing choosing(kNested);
  EXPECT_TRUE(choosing.sampled(3).sampled(6, 20).choose());
  EXPECT_EQ(choosing.entries(), Indexes{2});
  EXPECT_EQ(choosing.words_of(0), 7u) << "and the loop around it, which runs too";
}

TEST(RegionChoice, TheOuterLoopFollowsWhenItIsSampled) {
  Choosing choosing(kNested);
  EXPECT_TRUE(choosing.sampled(3).choose());
  EXPECT_EQ(choosing.entries(), Indexes{2});
  EXPECT_EQ(choosing.words_of(0), 3u);
  EXPECT_TRUE(choosing.sampled(5).choose());
  EXPECT_EQ(choosing.entries(), (Indexes{2, 1}));
  EXPECT_EQ(choosing.regions(), (Indexes{0, 0})) << "it is the same code";
  EXPECT_EQ(choosing.words_of(0), 7u);
}

TEST(RegionChoice, ALoopOfBulkStepsHasARegionForItself) {
  Choosing choosing(kNested);
  EXPECT_TRUE(choosing.leave_loop(2, 5).sampled(3).sampled(6).choose());
  const Indexes entries = choosing.entries();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0], 2u);
  EXPECT_EQ(choosing.words_of(0), 3u);
  EXPECT_EQ(choosing.holders(2), Indexes{0}) << "lanes come to it from outside";
  EXPECT_EQ(choosing.holders(6), Indexes{1});
}

TEST(RegionChoice, RegionsThatHoldALoopOfBulkStepsAreMadeAgain) {
  Choosing choosing(kNested);
  EXPECT_TRUE(choosing.sampled(3).sampled(5).choose());
  EXPECT_EQ(choosing.holders(2), Indexes{0});
  EXPECT_EQ(choosing.holders(6), Indexes{0});
  EXPECT_TRUE(choosing.leave_loop(2, 5).choose());
  ASSERT_EQ(choosing.holders(2).size(), 1u);
  const u32 loop = choosing.holders(2).front();
  EXPECT_EQ(choosing.words_of(loop), 3u);
  EXPECT_NE(choosing.holders(6), choosing.holders(2));
  EXPECT_TRUE(choosing.sampled(6).choose());
  EXPECT_EQ(choosing.words_of(choosing.holders(2).front()), 3u) << "and nothing joins it";
  EXPECT_FALSE(choosing.holders(6).empty());
}

TEST(RegionChoice, ALoopThatIsLeftToRegionsAgainIsOrdinaryCode) {
  Choosing choosing(kNested);
  EXPECT_TRUE(choosing.leave_loop(2, 5).sampled(3).choose());
  EXPECT_EQ(choosing.holders(2), Indexes{0});
  EXPECT_EQ(choosing.words_of(0), 3u);
  EXPECT_TRUE(choosing.leave_none().sampled(6).choose());
  EXPECT_EQ(choosing.holders(2), choosing.holders(6)) << "the loops are one region";
}

// Two functions, at 4 and 8, and their callers.
const Words kCalls{bl(4), bl(7), hlt(0), kNop, kNop, kNop, kNop, kRet, kNop, kNop, kNop, kRet};

TEST(RegionChoice, StraightLineCodeStartsAtItsFunction) {
  Choosing choosing(kCalls);
  EXPECT_TRUE(choosing.sampled(0, 1).sampled(1, 1).sampled(6).sampled(10, 50).choose());
  EXPECT_EQ(choosing.entries(), (Indexes{4, 8}));
}

TEST(RegionChoice, OnlyCallsThatRanShowFunctions) {
  Choosing choosing(kCalls);
  EXPECT_TRUE(choosing.sampled(10).choose());
  EXPECT_EQ(choosing.entries(), Indexes{10}) << "no sampled call leads to it";
  Choosing other(kCalls);
  EXPECT_TRUE(other.sampled(0, 1).sampled(10).choose());
  EXPECT_EQ(other.entries(), Indexes{10}) << "the function at 4 ends before";
}

TEST(RegionChoice, AnUnreachedWordGetsItsOwnRegion) {
  const u32 far = 2 + 300;
  Choosing choosing(Words{bl(2), hlt(0)} + nops(400) + Words{kRet});
  EXPECT_TRUE(choosing.sampled(0, 1).sampled(far).choose());
  EXPECT_EQ(choosing.entries(), Indexes{far});
  EXPECT_EQ(choosing.words_of(0), 101u);
  EXPECT_TRUE(choosing.sampled(100).choose());
  EXPECT_EQ(choosing.entries(), (Indexes{far, 2}));
  EXPECT_EQ(choosing.regions(), (Indexes{0, 1})) << "they have nothing in common";
  EXPECT_EQ(choosing.words_of(1), GpuLimits().words);
}

TEST(RegionChoice, UntranslatableCodeIsLeftAlone) {
  Choosing choosing({svc(0), hlt(0), 0});
  EXPECT_FALSE(choosing.sampled(0).sampled(1).sampled(2).choose());
  EXPECT_TRUE(choosing.entries().empty());
}

// A loop at 0 with a part at 4 that is seldom needed.
const Words kRarely{add_imm(0, 0, 1), b_ne(3), subs_imm(1, 1, 1), b(-3), add_imm(0, 0, 2), b(-5)};

TEST(RegionChoice, CodeThatNeverRanIsLeftOut) {
  Choosing choosing(kRarely);
  EXPECT_TRUE(choosing.sampled(0).sampled(2).choose());
  EXPECT_EQ(choosing.entries(), Indexes{0});
  EXPECT_EQ(choosing.words_of(0), 4u);
  for (const PlanBlock& block : choosing.region(0).plan.blocks) EXPECT_LT(block.address, kCode + 4 * 4);
}

TEST(RegionChoice, OneSampleInABlockShowsThatItRuns) {
  for (const u32 word : {4u, 5u}) {
    Choosing choosing(kRarely);
    EXPECT_TRUE(choosing.sampled(0).sampled(2).sampled(word, 1).choose());
    EXPECT_EQ(choosing.words_of(0), 6u) << word;
  }
  Choosing left(kRarely);
  EXPECT_TRUE(left.sampled(0).sampled(2).left_for(4, 1).choose());
  EXPECT_EQ(left.words_of(0), 6u) << "so does a lane that left for it";
}

TEST(RegionChoice, ARegionGrowsWhenMoreOfItsLoopHasRun) {
  Choosing choosing(kRarely);
  EXPECT_TRUE(choosing.sampled(0).sampled(2).choose());
  const std::string name = choosing.region(0).name;
  EXPECT_TRUE(choosing.sampled(4).choose());
  EXPECT_EQ(choosing.entries(), Indexes{0}) << "the same region";
  EXPECT_EQ(choosing.words_of(0), 6u);
  EXPECT_NE(choosing.region(0).name, name) << "it is compiled again";
  EXPECT_FALSE(choosing.sampled(0).choose()) << "there is no more";
}

TEST(RegionChoice, GrowingNeedsManySamples) {
  Choosing choosing(kRarely);
  EXPECT_TRUE(choosing.sampled(0).sampled(2).choose());
  EXPECT_FALSE(choosing.sampled(4, GpuLimits().fewest - 1).choose());
  EXPECT_EQ(choosing.words_of(0), 4u);
  EXPECT_TRUE(choosing.sampled(0).sampled(4).choose()) << "what was found before is not forgotten";
}

// A loop at 1 to 4, and straight-line code at 6.
Words with_side_exit(u32 length) { return kLoop + nops(length) + Words{hlt(0)}; }

TEST(RegionChoice, AHotSideExitBecomesARegion) {
  Choosing choosing(with_side_exit(20));
  EXPECT_TRUE(choosing.sampled(2, 10000).choose());
  constexpr u32 kSamples = 100000, kLeast = kSamples * kSideExits / GpuLimits().smallest_share;
  EXPECT_FALSE(choosing.sampled(1, kSamples).left_for(6, kLeast - 1).choose()) << "a small share";
  EXPECT_TRUE(choosing.sampled(1, kSamples).left_for(6, kLeast).choose());
  EXPECT_EQ(choosing.entries(), (Indexes{1, 6}));
  EXPECT_EQ(choosing.words_of(1), 20u);
  EXPECT_FALSE(choosing.left_for(6, 10000).choose()) << "it has a region";
}

// A side exit to code that the region holds becomes another entry point.
TEST(RegionChoice, ASideExitIntoTheSameRegionBecomesAnEntryPoint) {
  Choosing choosing(Words{kNop} + nops(20) + Words{b(-20)});
  EXPECT_TRUE(choosing.sampled(5).choose());
  EXPECT_EQ(choosing.entries(), Indexes{1});
  EXPECT_TRUE(choosing.sampled(5, 1).left_for(9, 10000).choose());
  EXPECT_EQ(choosing.entries(), (Indexes{1, 9}));
  EXPECT_EQ(choosing.regions(), (Indexes{0, 0}));
  EXPECT_EQ(choosing.words_of(0), 21u);
}

TEST(RegionChoice, AJoinedRegionStaysWithinItsLimits) {
  Choosing joined(nops(70) + Words{hlt(0)}, {.words = 30});
  EXPECT_TRUE(joined.sampled(50).choose());
  EXPECT_TRUE(joined.sampled(30).choose());
  EXPECT_EQ(joined.regions(), (Indexes{0, 0})) << "a third of it is there";
  EXPECT_EQ(joined.words_of(0), 40u);
  EXPECT_TRUE(joined.sampled(5).choose());
  EXPECT_EQ(joined.regions(), (Indexes{0, 0, 1})) << "a sixth of it is there";
  // Everything they lead to would be too much, so they hold what they held alone.
  Choosing apart(nops(100) + Words{hlt(0)}, {.words = 30});
  for (const u32 word : {50u, 40u, 25u}) EXPECT_TRUE(apart.sampled(word).choose());
  EXPECT_EQ(apart.regions(), (Indexes{0, 0, 0}));
  EXPECT_EQ(apart.words_of(0), 55u);
  EXPECT_TRUE(apart.sampled(10).choose());
  EXPECT_EQ(apart.regions(), (Indexes{0, 0, 0, 1})) << "together they would be more than twice as long as one may be";
  EXPECT_EQ(apart.words_of(1), 30u);
}

// A loop of 21 words, and 90 more to which it leads: more than two regions may hold.
TEST(RegionChoice, TheCodeOfTwoRegionsIsJoinedWhereAllWouldBeTooMuch) {
  Words words = nops(10) + Words{b_ne(11)} + nops(9) + Words{b(-20)};
  for (u32 i = 0; i < 30; ++i) words = words + Words{kNop, kNop, b(1)};
  Choosing choosing(words + Words{hlt(0)}, {.words = 50});
  std::vector<u32> samples = choosing.sampled(2).sampled(12).samples();
  for (u32 i = 0; i < 30; ++i) samples[21 + 3 * i] = 1;
  for (u32 i = 0; i < 30; ++i) choosing.sampled(21 + 3 * i, 1);
  EXPECT_TRUE(choosing.choose());
  const u32 before = choosing.words_of(0);
  EXPECT_GE(before, 50u);
  choosing.left_for(5, 30'000);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i] += choosing.samples()[i];
  EXPECT_TRUE(choosing.choose());
  EXPECT_EQ(choosing.regions(), (Indexes{0, 0}));
  EXPECT_EQ(choosing.words_of(0), before);
  const Choosing again = choosing.resumed(samples);
  EXPECT_EQ(again.regions(), (Indexes{0, 0}));
  EXPECT_EQ(again.region(0).name, choosing.region(0).name);
}

// From a function's loop lanes come back to a loop that calls it: eleven words, and the call.
TEST(RegionChoice, ASideExitThatLeadsBackJoinsTheRegions) {
  const Words function = nops(30) + Words{subs_imm(1, 1, 1), b_ne(-20), 0xd65f03c0};  // ret
  Choosing choosing(function + nops(10) + Words{bl(-43), b(-11)});
  EXPECT_TRUE(choosing.sampled(20).choose());
  EXPECT_EQ(choosing.entries(), Indexes{11});
  for (const u32 word : {2u, 35u}) choosing.sampled(word, 1);
  EXPECT_TRUE(choosing.left_for(33, 10000).choose());
  EXPECT_EQ(choosing.entries(), (Indexes{11, 33}));
  EXPECT_EQ(choosing.regions(), (Indexes{0, 0}));
}

TEST(RegionChoice, AShortSideExitIsNotWorthARegion) {
  for (const u32 length : {1u, 7u, 8u}) {
    Choosing choosing(with_side_exit(length));
    EXPECT_EQ(choosing.sampled(2, 1).left_for(6, 10000).choose(), length >= 8) << length;
  }
}

// Two functions that call each other through registers.
const Words kApart = nops(9) + Words{0xd61f0200} + nops(9) + Words{0xd61f0200};  // br x16

TEST(RegionChoice, RegionsThatLanesAlternateBetweenBecomeOne) {
  Choosing choosing(kApart);
  EXPECT_TRUE(choosing.sampled(0).choose());
  EXPECT_TRUE(choosing.sampled(10).choose());
  EXPECT_EQ(choosing.regions(), (Indexes{0, 1}));
  EXPECT_TRUE(choosing.left_for(10, 10000).came_from(0, 10).choose());
  EXPECT_EQ(choosing.entries(), (Indexes{0, 10}));
  EXPECT_EQ(choosing.regions(), (Indexes{0, 0}));
  EXPECT_EQ(choosing.words_of(0), 20u);
  EXPECT_TRUE(choosing.region(0).plan.dispatches) << "so that control stays inside";
  EXPECT_FALSE(choosing.left_for(10, 10000).came_from(0, 10).choose()) << "they are one already";
}

TEST(RegionChoice, CodeThatARegionIsLeftForJoinsIt) {
  Choosing choosing(kApart);
  EXPECT_TRUE(choosing.sampled(0).choose());
  EXPECT_TRUE(choosing.left_for(10, 10000).came_from(0, 10).choose());
  EXPECT_EQ(choosing.entries(), (Indexes{0, 10}));
  EXPECT_EQ(choosing.regions(), (Indexes{0, 0}));
}

TEST(RegionChoice, RegionsThatWouldBeTooLargeStayApart) {
  Choosing choosing(kApart, {.words = 8});
  EXPECT_TRUE(choosing.sampled(0).sampled(10).choose());
  EXPECT_TRUE(choosing.left_for(10, 10000).came_from(0, 10).sampled(8).choose());
  for (const u32 region : choosing.regions()) EXPECT_LE(choosing.words_of(region), 16u);
}

TEST(RegionChoice, ARegionAtASideExitStartsAtTheExit) {
  // Not at the header of the loop around it, where no lane is.
  Choosing choosing(Words{kNop} + nops(10) + Words{b(-10)});
  EXPECT_TRUE(choosing.sampled(5, 1).left_for(5, 10000).choose());
  EXPECT_EQ(choosing.entries(), Indexes{5});
}

TEST(RegionChoice, RegionsAtSideExitsAreSmaller) {
  Choosing choosing(with_side_exit(250));
  EXPECT_TRUE(choosing.left_for(6, 10000).choose());
  EXPECT_EQ(choosing.words_of(0), GpuLimits().words / 4);
}

TEST(RegionChoice, FewSamplesMakeNoRegion) {
  for (const u32 fewest : {1u, 4u, 50u}) {
    Choosing choosing(kLoop, {.fewest = fewest});
    EXPECT_FALSE(choosing.sampled(2, fewest - 1).choose());
    EXPECT_TRUE(choosing.sampled(2, fewest).choose());
    Choosing left(with_side_exit(20), {.fewest = fewest});
    EXPECT_FALSE(left.left_for(6, fewest * kSideExits - 1).choose());
    EXPECT_TRUE(left.left_for(6, fewest * kSideExits).choose());
  }
}

// Loops of two words each at 0, 3, 6 and so on.
Words loops(u32 count) {
  Words words;
  for (u32 i = 0; i < count; ++i) words = words + Words{subs_imm(1, 1, 1), b_ne(-1), hlt(0)};
  return words;
}

TEST(RegionChoice, TheHottestComeFirstAndARoundIsLimited) {
  Choosing choosing(loops(5), {.regions_a_round = 2});
  const auto count = [&] {
    for (u32 i = 0; i < 5; ++i) choosing.sampled(3 * i, 100 + 10 * i);
    return choosing.choose();
  };
  EXPECT_TRUE(count());
  EXPECT_EQ(choosing.entries(), (Indexes{12, 9}));
  EXPECT_TRUE(count());
  EXPECT_EQ(choosing.entries(), (Indexes{12, 9, 6, 3, 0})) << "four more in the second round";
  EXPECT_FALSE(count());
}

TEST(RegionChoice, NoMoreRegionsThanAllowed) {
  Choosing choosing(loops(5), {.regions = 3, .regions_a_round = 2});
  for (const bool more : {true, true, false}) {
    for (u32 i = 0; i < 5; ++i) choosing.sampled(3 * i);
    EXPECT_EQ(choosing.choose(), more);
  }
  EXPECT_EQ(choosing.entries(), (Indexes{0, 3, 6})) << "equally hot: in their order";
}

TEST(RegionChoice, AWordWithASmallShareIsNotWorthARegion) {
  Choosing choosing(loops(2), {.smallest_share = 10});
  EXPECT_TRUE(choosing.sampled(0, 901).sampled(3, 99).choose());
  EXPECT_EQ(choosing.entries(), Indexes{0});
  EXPECT_TRUE(choosing.sampled(0, 900).sampled(3, 100).choose());
  EXPECT_EQ(choosing.entries(), (Indexes{0, 3}));
}

TEST(RegionChoice, BlocksAndWordsOfARegionAreLimited) {
  Choosing small(nops(100) + Words{hlt(0)}, {.words = 30});
  EXPECT_TRUE(small.sampled(0).choose());
  EXPECT_EQ(small.words_of(0), 30u);
  Words chain;  // of branches to the next word
  for (u32 i = 0; i < 100; ++i) chain.push_back(b(1));
  Choosing few(chain, {.blocks = 7});
  for (u32 i = 0; i < chain.size(); ++i) few.sampled(i, 1);
  EXPECT_TRUE(few.sampled(0).choose());
  EXPECT_EQ(few.region(0).plan.blocks.size(), 7u);
}

TEST(RegionChoice, DefaultFpModeIsPassedToThePlan) {
  const Words words{0x1e602820, b(-1)};  // fadd d0, d1, d0
  for (const bool default_fp_mode : {false, true}) {
    Choosing choosing(words);
    EXPECT_TRUE(choosing.sampled(0).choose(default_fp_mode));
    EXPECT_EQ(choosing.region(0).plan.default_fp_mode, default_fp_mode);
  }
}

TEST(RegionChoice, SeveralCodesHaveTheirRegions) {
  constexpr u32 kFirstWord = 5, kSecondWord = 40, kAll = 64;
  const SharedCode codes[] = {{kCode, kLoop, kFirstWord}, {0x7000000, kLoop, kSecondWord}};
  std::vector<u32> samples(interpreter::kSampleKinds * kAll);
  samples[kFirstWord + 2] = 50;
  samples[kSecondWord + 3] = 100;
  samples[20] = 1000;  // data, it seems
  GpuChoice choice({});
  ASSERT_TRUE(choice.choose(codes, samples, 0, false));
  ASSERT_EQ(choice.entries().size(), 2u);
  EXPECT_EQ(choice.entries()[0].pc, 0x7000004u);
  EXPECT_EQ(choice.entries()[0].code, 1u);
  EXPECT_EQ(choice.entries()[0].word, kSecondWord + 1);
  EXPECT_EQ(choice.entries()[1].pc, kCode + 4);
  EXPECT_EQ(choice.entries()[1].code, 0u);
  EXPECT_EQ(choice.entries()[1].word, kFirstWord + 1);
  EXPECT_NE(choice.regions()[0].name, choice.regions()[1].name);
}

// Jobs of several programs: what is at an address in one says nothing about the others.
TEST(RegionChoice, ProgramsAtOneAddressAreKeptApart) {
  const Words longer{movz(1, 9),       add_imm(0, 0, 1),  add_imm(0, 0, 2), add_imm(0, 0, 3),
                     add_imm(0, 0, 4), subs_imm(1, 1, 1), b_ne(-5),         hlt(0)};
  constexpr u32 kSecondWord = 40, kAll = 64;
  const SharedCode codes[] = {{kCode, kLoop, 0}, {kCode, longer, kSecondWord}};
  std::vector<u32> samples(interpreter::kSampleKinds * kAll);
  samples[2] = 100;
  GpuChoice choice({});
  ASSERT_TRUE(choice.choose(codes, samples, 0, false));
  samples.assign(samples.size(), 0);
  samples[kSecondWord + 2] = 100;
  ASSERT_TRUE(choice.choose(codes, samples, 0, false));
  ASSERT_EQ(choice.entries().size(), 2u);
  for (u32 i = 0; i < 2; ++i) {
    EXPECT_EQ(choice.entries()[i].pc, kCode + 4);
    EXPECT_EQ(choice.entries()[i].code, i);
  }
  EXPECT_EQ(choice.regions()[0].plan.words, 4u);
  EXPECT_EQ(choice.regions()[1].plan.words, 6u);
  EXPECT_NE(choice.regions()[0].name, choice.regions()[1].name);
}

// The choice of several rounds is restored, and its samples choose nothing new.
TEST(RegionChoice, IsResumed) {
  const Words words = kLoop + nops(20) + kLoop;
  Choosing first(words);
  first.sampled(2);
  std::vector<u32> samples = first.samples();
  ASSERT_TRUE(first.choose());
  first.sampled(29);
  samples[29] += 100;
  ASSERT_TRUE(first.choose());
  ASSERT_EQ(first.entries(), (Indexes{1, 27}));
  Choosing second = first.resumed(samples);
  EXPECT_EQ(second.entries(), first.entries());
  EXPECT_EQ(second.regions(), first.regions());
  for (const u32 region : {0u, 1u}) EXPECT_EQ(second.region(region).name, first.region(region).name);
  EXPECT_FALSE(second.choose());
}

TEST(RegionChoice, ALongBlockIsResumedAsItWasCut) {
  Choosing first(Words{kNop} + nops(400) + Words{b(-400)});
  first.sampled(5);
  const std::vector<u32> samples = first.samples();
  ASSERT_TRUE(first.choose());
  const Choosing second = first.resumed(samples);
  EXPECT_EQ(second.words_of(0), first.words_of(0));
  EXPECT_EQ(second.region(0).name, first.region(0).name);
}

// A region is left at the first access of a segment, so the next ones of its block may be those that missed.
TEST(RegionChoice, AccessesBehindOneThatMissesReadTheL2TlbToo) {
  const Words words{movz(1, 9), 0xf9400003,        kNop,     0xf9400403, 0xf9400803, 0xf9400c03,
                    0xf9401003, subs_imm(1, 1, 1), b_ne(-7), 0xf9400003, hlt(0)};
  Choosing choosing(words);
  choosing.sampled(2);
  ASSERT_TRUE(choosing.choose());
  choosing.sampled(2).missed(3, 5000);
  ASSERT_TRUE(choosing.choose());
  EXPECT_EQ(choosing.region(0).plan.blocks[0].l2_lookups, (Indexes{2, 3, 4, 5}));
  choosing.sampled(2).missed(1, 5000);
  ASSERT_TRUE(choosing.choose());  // one more
  EXPECT_EQ(choosing.region(0).plan.blocks[0].l2_lookups, (Indexes{0, 2, 3, 4, 5}));
}

// Accesses that often miss the L1 TLB read the L2 TLB after the region is compiled again.
TEST(RegionChoice, AccessesThatMissOftenReadTheL2Tlb) {
  const Words words{movz(1, 9), 0xf9400003, add_imm(0, 0, 1), subs_imm(1, 1, 1), b_ne(-3), hlt(0)};
  Choosing choosing(words);
  choosing.sampled(2);
  ASSERT_TRUE(choosing.choose());
  const std::string before = choosing.region(0).name;
  EXPECT_TRUE(choosing.region(0).plan.blocks[0].l2_lookups.empty());
  choosing.sampled(1).missed(1, 10);  // now and then
  EXPECT_FALSE(choosing.choose());
  choosing.sampled(1).missed(1, 5000).missed(2, 5000);  // the latter is no access
  ASSERT_TRUE(choosing.choose());
  EXPECT_NE(choosing.region(0).name, before);
  EXPECT_EQ(choosing.region(0).plan.blocks[0].l2_lookups, Indexes{0});
  choosing.sampled(1).missed(1, 5000);
  EXPECT_FALSE(choosing.choose());  // it does already
}

}  // namespace
}  // namespace kvrm::translator
