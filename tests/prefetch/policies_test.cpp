// Each policy alone: what it learns from a sequence of loads, and what it expects then.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <vector>

#include "prefetch/freestanding/best_offset.h"
#include "prefetch/freestanding/counters.h"
#include "prefetch/freestanding/indirect.h"
#include "prefetch/freestanding/next_line.h"
#include "prefetch/freestanding/site_window.h"
#include "prefetch/freestanding/stride.h"
#include "prefetch/freestanding/temporal.h"

namespace kvrm::prefetch {
namespace {

TEST(NextLine, IsWholeLinesAhead) {
  EXPECT_EQ(NextLine::predict({0x10, 0x1038}, 0), 0x1040u);
  EXPECT_EQ(NextLine::predict({0x10, 0x1000}, 3), 0x1200u);
}

TEST(StridePolicy, NeedsTheSameDifferenceThreeTimes) {
  const auto stride = std::make_unique<Stride<6>>();
  std::vector<u64> expected;
  for (u64 i = 0; i < 6; ++i) {
    const Load load{0x40, 0x10000 + i * 192};
    stride->observe(load);
    expected.push_back(stride->predict(load, 1));
  }
  EXPECT_EQ(expected, (std::vector<u64>{0, 0, 0, 0x10000 + 5 * 192, 0x10000 + 6 * 192, 0x10000 + 7 * 192}));
}

TEST(StridePolicy, WalksBackwardsAndForgetsWhatChanged) {
  Stride<6> stride;
  for (u64 i = 0; i < 8; ++i) stride.observe({0x40, 0x10000 - i * 64});
  EXPECT_EQ(stride.stride_of(0x40), -64);
  EXPECT_EQ(stride.predict({0x40, 0x9000}, 2), 0x9000u - 256);
  for (const u64 address : {0x500000u, 0x100u, 0x777000u, 0x30u}) stride.observe({0x40, address});
  EXPECT_EQ(stride.predict({0x40, 0x30}, 0), 0u);
  EXPECT_EQ(stride.stride_of(0x44), 0);
}

TEST(BestOffsetPolicy, FindsTheOffsetOfAStream) {
  BestOffset policy;
  for (u64 i = 1; i < 20000; ++i) policy.observe(i * 3);
  EXPECT_EQ(policy.offset() % 3, 0u);
  EXPECT_GE(policy.offset(), 24u);  // lines count as loaded eight misses later
}

TEST(BestOffsetPolicy, PausesWithoutAPattern) {
  BestOffset policy;
  u64 random = 1;
  for (u64 i = 1; i < 20000; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    policy.observe(random >> 20);
  }
  EXPECT_EQ(policy.offset(), 0u);
  EXPECT_EQ(policy.predict({0, 0x1000}), 0u);
}

TEST(TemporalPolicy, KnowsTheOrderOfTheLastPass) {
  std::vector<u32> history(1 << 10), index(1 << 10);
  Temporal policy(history.data(), index.data(), 10);
  const std::vector<u64> lines = {70, 12, 900, 33, 5, 61, 8, 404};
  for (const u64 line : lines) {
    policy.observe(line);
    EXPECT_EQ(policy.predict(0), 0u);
  }
  for (std::size_t i = 0; i + 2 < lines.size(); ++i) {
    policy.observe(lines[i]);
    EXPECT_TRUE(policy.knows());
    EXPECT_EQ(policy.predict(0), lines[i + 1] << kLineShift);
    EXPECT_EQ(policy.predict(1), lines[i + 2] << kLineShift);
    EXPECT_EQ(policy.was_right(), i != 0);
  }
}

TEST(TemporalPolicy, KnowsHighAddressesToo) {
  std::vector<u32> history(1 << 6), index(1 << 6);
  Temporal policy(history.data(), index.data(), 6);
  constexpr u64 kFar = 0x7ffff0000000 >> kLineShift;
  for (const u64 line : {kFar + 7, kFar + 100, kFar + 31, kFar + 7}) policy.observe(line);
  EXPECT_EQ(policy.predict(0), (kFar + 100) << kLineShift);
}

TEST(TemporalPolicy, ForgetsWhatItsTablesHaveNoRoomFor) {
  std::vector<u32> history(1 << 4), index(1 << 4);
  Temporal policy(history.data(), index.data(), 4);
  for (u64 line = 1; line < 100; ++line) policy.observe(line);
  policy.observe(1);
  EXPECT_EQ(policy.predict(0), 0u);
}

// A[B[i]] with B at 0x10000 in 4-byte numbers and A at 0x900000 in elements of 16 bytes.
class IndirectPolicy : public testing::Test {
 protected:
  static u64 number(u64 i) { return (i * 7919 + 13) % 4096; }
  void walk(u64 first, u64 last) {
    for (u64 i = first; i < last; ++i) {
      policy_->observe({0x100, 0x10000 + i * 4, number(i), 4}, i % 16 == 0);
      policy_->observe({0x108, 0x900000 + number(i) * 16, i, 8}, true);
    }
  }
  std::map<u64, u64> expected(const Load& load, u32 level, bool may_read = true) const {
    std::map<u64, u64> result;
    policy_->predict(
        load, [&](u64) { return level; },
        [&](u64 address, u32 size, u64& value) {
          EXPECT_EQ(size, 4u);
          value = number((address - 0x10000) / 4);
          return may_read;
        },
        [&](u64 pc, u64 address) { result[pc] = address; });
    return result;
  }

  std::unique_ptr<Indirect<6>> policy_ = std::make_unique<Indirect<6>>();
};

TEST_F(IndirectPolicy, ReadsTheIndexAhead) {
  walk(0, 64);
  EXPECT_TRUE(policy_->depends(0x108));
  EXPECT_FALSE(policy_->depends(0x100));
  const auto found = expected({0x100, 0x10000 + 64 * 4, number(64), 4}, 3);
  ASSERT_EQ(found.count(0x108), 1u);
  EXPECT_EQ(found.at(0x108), 0x900000 + number(64 + 8) * 16);
}

TEST_F(IndirectPolicy, ExpectsNothingWhereItMayNotRead) {
  walk(0, 64);
  EXPECT_TRUE(expected({0x100, 0x10000 + 64 * 4, number(64), 4}, 3, false).empty());
}

TEST_F(IndirectPolicy, DropsALinkThatIsWrong) {
  walk(0, 64);
  u64 random = 3;
  for (u64 i = 64; i < 200; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    policy_->observe({0x100, 0x10000 + i * 4, number(i), 4}, false);
    policy_->observe({0x108, random >> 30, i, 8}, true);
  }
  EXPECT_FALSE(policy_->depends(0x108));
}

using QuickCounters = Counters<6, 10, 10>;

TEST(CountersPolicy, ChoosesWhatIsRight) {
  const auto counters = std::make_unique<QuickCounters>();
  EXPECT_EQ(counters->choice(0x40).policy, Policy::kNone);
  u64 random = 5;
  for (u32 i = 0; i < 200; ++i) {
    const u64 line = 1000 + u64{i} * 5;
    counters->need(line, i * 20);
    counters->expect(0x40, Policy::kStride, line + 5 * distance_of(counters->level(0x40, Policy::kStride)), i * 20);
    random = random * 6364136223846793005u + 1442695040888963407u;
    counters->expect(0x40, Policy::kTemporal, random >> 24, i * 20);
  }
  EXPECT_EQ(counters->choice(0x40).policy, Policy::kStride);
  EXPECT_EQ(counters->choice(0x44).policy, Policy::kNone);
}

TEST(CountersPolicy, GoesFurtherAheadWhenLate) {
  const auto counters = std::make_unique<Counters<6, 10, 100>>();
  for (u32 i = 0; i < 400; ++i) {
    const u64 line = 1000 + u64{i};
    counters->need(line, i * 10);
    counters->expect(0x40, Policy::kNextLine, line + distance_of(counters->level(0x40, Policy::kNextLine)), i * 10);
  }
  EXPECT_GE(distance_of(counters->choice(0x40).level), 10u);  // ten misses take as long as memory
}

TEST(CountersPolicy, GivesUpWhatIsNoLongerRight) {
  const auto counters = std::make_unique<QuickCounters>();
  for (u32 i = 0; i < 100; ++i) {
    counters->need(1000 + i, i * 20);
    counters->expect(0x40, Policy::kNextLine, 1000 + i + 2, i * 20);
  }
  ASSERT_EQ(counters->choice(0x40).policy, Policy::kNextLine);
  u64 random = 9;
  for (u32 i = 100; i < 4000; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    counters->need(random >> 24, i * 20);
    counters->expect(0x40, Policy::kNextLine, (random >> 24) + 2, i * 20);
  }
  EXPECT_EQ(counters->choice(0x40).policy, Policy::kNone);
}

TEST(SiteWindow, HasTheOldestMissFirst) {
  SiteWindow window;
  for (u64 i = 0; i < 20; ++i) window.add({0x40, 0x10000 + i * 128}, i * 10, i, {i == 19, false, true});
  float features[kWindow][kWindowFeatures];
  window.copy(features);
  EXPECT_EQ(window.count(), 20u);
  EXPECT_EQ(features[0][1], 2.0f / 16);
  EXPECT_EQ(features[0][2], 1.0f);
  EXPECT_EQ(features[14][5], 0.0f);
  EXPECT_EQ(features[15][5], 1.0f);
  EXPECT_EQ(features[15][7], 1.0f);
}

TEST(SiteWindow, LogarithmIsExactAtPowersOfTwo) {
  EXPECT_EQ(log2_of(0), 0.0f);
  EXPECT_EQ(log2_of(1), 1.0f);
  EXPECT_EQ(log2_of(7), 3.0f);
  EXPECT_EQ(log2_of(~u64{0}), 64.0f);
}

}  // namespace
}  // namespace kvrm::prefetch
