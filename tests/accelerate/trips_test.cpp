// Trip counts against counting.
#include <gtest/gtest.h>

#include <random>

#include "accelerate/freestanding/trips.h"

namespace kvrm::accelerate {
namespace {

TEST(Trips, AreNeverTooMany) {
  constexpr u32 kWidth = 8;
  constexpr Op kCompares[] = {Op::kEqual,     Op::kNotEqual,   Op::kLess,
                              Op::kLessEqual, Op::kLessSigned, Op::kLessEqualSigned};
  std::mt19937 random(1);
  for (int round = 0; round < 400000; ++round) {
    const Op op = kCompares[random() % 6];
    const bool wanted = random() % 2 != 0;
    const u64 a = random() % 256, b = random() % 256;
    const u64 step_a = random() % 3 ? random() % 256 : 0, step_b = random() % 3 ? 0 : random() % 256;
    const u64 claimed = trips_of(op, wanted, a, step_a, b, step_b, kWidth);
    u64 counted = 0;
    while (counted < 300 &&
           (evaluate(op, 1, kWidth, (a + counted * step_a) & 255, (b + counted * step_b) & 255, 0) != 0) == wanted)
      ++counted;
    if (claimed < 300) {
      ASSERT_LE(claimed, counted);
    } else {
      ASSERT_EQ(counted, 300u);
    }
    // What may go on takes at least an iteration, and "differs" is exact.
    ASSERT_EQ(claimed != 0, counted != 0);
    if (op == Op::kNotEqual && wanted) ASSERT_EQ(std::min<u64>(claimed, 300), counted);
  }
}

}  // namespace
}  // namespace kvrm::accelerate
