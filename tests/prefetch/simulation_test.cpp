// The models of caches, and schemes on accesses whose best prefetcher is known.
#include "prefetch/simulation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "prefetch/recorder.h"
#include "prefetch/scheme.h"

namespace kvrm::prefetch {
namespace {

bool no_peek(u64, u32, u64&) { return false; }

TEST(CacheModel, TheLeastRecentlyUsedLineLeaves) {
  CacheModel cache(4 * kLineBytes, 4);
  for (u64 line = 0; line < 4; ++line) cache.insert(line, 0, false);
  EXPECT_TRUE(cache.find(0));
  cache.insert(4, 0, false);
  EXPECT_TRUE(cache.find(0));
  EXPECT_FALSE(cache.find(1));
}

const Score& named(const Totals& totals, const std::string& name) {
  for (const Score& score : totals.scores) {
    if (score.name == name) return score;
  }
  ADD_FAILURE() << name;
  return totals.scores.front();
}

double coverage(const Totals& totals, const std::string& name) {
  return static_cast<double>(named(totals, name).covered) / static_cast<double>(totals.misses);
}

TEST(Simulation, AStreamIsCoveredByAllButTheTemporalPolicy) {
  Simulation::Settings settings;
  settings.warm_up = 100'000;
  settings.history_bits = 16;
  Simulation simulation(settings, no_peek);
  for (u64 i = 0; i < 400'000; ++i) simulation.load({0x40, 0x10000000 + i * 64}, i * 10);
  const Totals totals = simulation.totals();
  EXPECT_EQ(totals.loads, 300'000u);
  EXPECT_EQ(totals.misses, 300'000u);
  for (const char* name : {"next line", "stride", "best offset", "counters"})
    EXPECT_GT(coverage(totals, name), 0.95) << name;
  EXPECT_EQ(coverage(totals, "temporal"), 0);
  EXPECT_LT(named(totals, "counters").cycles, named(totals, "none").cycles);
  EXPECT_LT(named(totals, "perfect").cycles, named(totals, "none").cycles);
  EXPECT_EQ(named(totals, "perfect").overhead, 0u);
  EXPECT_EQ(named(totals, "none").far_misses, totals.misses);
}

TEST(Simulation, OnlyTheTemporalPolicyAndTheCountersKnowASecondPass) {
  Simulation::Settings settings;
  constexpr u64 kLines = 1 << 16;
  settings.warm_up = 2 * kLines;
  settings.history_bits = 18;
  Simulation simulation(settings, no_peek);
  u64 instructions = 0;
  for (int pass = 0; pass < 4; ++pass) {
    u64 at = 1;
    for (u64 i = 0; i < kLines; ++i) {
      at = (at * 25173 + 13849) % (1 << 24);
      simulation.load({0x40, 0x10000000 + at * 64}, instructions += 10);
    }
  }
  const Totals totals = simulation.totals();
  EXPECT_GT(coverage(totals, "temporal"), 0.95);
  EXPECT_GT(coverage(totals, "counters"), 0.9);
  EXPECT_LT(coverage(totals, "stride"), 0.05);
  EXPECT_LT(coverage(totals, "next line"), 0.05);
}

TEST(Simulation, CountersLeaveAloneWhatNoPolicyPredicts) {
  Simulation::Settings settings;
  settings.history_bits = 16;
  Simulation simulation(settings, no_peek);
  u64 random = 1;
  for (u64 i = 0; i < 400'000; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    simulation.load({0x40, (random >> 30) << 3}, i * 10);
  }
  const Totals totals = simulation.totals();
  const Score& counters = named(totals, "counters");
  EXPECT_LT(counters.issued, totals.misses / 50);
  EXPECT_LT(static_cast<double>(counters.overhead), 0.05 * static_cast<double>(counters.cycles));
}

TEST(Recorder, KnowsWhichPolicyWouldHaveHelped) {
  Recorder recorder(no_peek, 16);
  for (u64 i = 0; i < 20'000; ++i) recorder.load({0x40, 0x10000000 + i * 256}, i * 100);
  const auto& records = recorder.records();
  ASSERT_GT(records.size(), 10 * Recorder::kRecord);
  ASSERT_EQ(records.size() % Recorder::kRecord, 0u);
  const float* last = &records[records.size() - Recorder::kRecord];
  const float* saved = last + kWindow * kWindowFeatures;
  const auto of = [&](Policy policy, u32 level) { return saved[static_cast<u32>(policy) * kLevels + level]; };
  EXPECT_NEAR(of(Policy::kStride, 0), 1, 0.05);
  EXPECT_NEAR(of(Policy::kNextLine, 2), 1, 0.05);
  EXPECT_NEAR(of(Policy::kNextLine, 0), 0, 0.01);
  EXPECT_NEAR(of(Policy::kTemporal, 0), 0, 0.01);
}

}  // namespace
}  // namespace kvrm::prefetch
