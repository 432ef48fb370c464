#include "backend/cpu/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace kvrm::backend::cpu {
namespace {

TEST(ThreadPool, DoesEveryPieceOnce) {
  for (const unsigned threads : {1u, 2u, 7u}) {
    ThreadPool pool(threads);
    for (const u64 count : {0u, 1u, 2u, 1000u}) {
      std::vector<std::atomic<int>> done(count);
      pool.each(count, [&](u64 i) { ++done[i]; });
      for (const auto& times : done) EXPECT_EQ(times, 1);
    }
  }
}

TEST(ThreadPool, RoundsDoNotMix) {
  ThreadPool pool(4);
  for (u64 round = 0; round < 500; ++round) {
    std::atomic<u64> sum = 0;
    pool.each(round % 9, [&](u64 i) { sum += i + round; });
    u64 expected = 0;
    for (u64 i = 0; i < round % 9; ++i) expected += i + round;
    ASSERT_EQ(sum, expected);
  }
}

TEST(ThreadPool, RunsNoMoreAtATimeThanAsked) {
  ThreadPool pool(3);
  std::atomic<int> inside = 0, most = 0;
  pool.each(200, [&](u64) {
    const int now = ++inside;
    for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) continue;
    --inside;
  });
  EXPECT_LE(most, 3);
}

}  // namespace
}  // namespace kvrm::backend::cpu
