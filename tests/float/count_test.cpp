// What a build with KVRM_COUNT_FLOAT counts.
#include <gtest/gtest.h>

#include "semantics/float_operations.h"
#include "semantics/float_vector.h"

namespace kvrm::semantics {
namespace {

constexpr u64 kOne = 0x3ff0'0000'0000'0000, kTwo = 0x4000'0000'0000'0000;

// Operations and cold ones among them, as f makes them.
template <class F>
FloatCounts counted(F f) {
  const FloatCounts before = counted_floats();
  f();
  const FloatCounts after = counted_floats();
  return {after.operations - before.operations, after.cold - before.cold};
}

#define EXPECT_COUNTS(operations_, cold_, ...)                 \
  do {                                                         \
    const FloatCounts counts = counted([&] { __VA_ARGS__; });  \
    EXPECT_EQ(counts.operations, operations_) << #__VA_ARGS__; \
    EXPECT_EQ(counts.cold, cold_) << #__VA_ARGS__;             \
  } while (false)

TEST(FloatCount, FastWhereInexactIsSticky) {
  EXPECT_COUNTS(1u, 0u, float_add(kOne, kTwo, kInexact));
  EXPECT_COUNTS(1u, 0u, float_mulx(kOne, kTwo, kInexact));
  EXPECT_COUNTS(1u, 0u, float_greater(kOne, kTwo, 0));
  EXPECT_COUNTS(1u, 0u, float_max_num(kOne, kTwo, 0));
  EXPECT_COUNTS(1u, 0u, int_to_float<u64>(3, true, 0, 0));
  EXPECT_COUNTS(1u, 0u, float_convert<u32, u64>(kOne, 0));
}

TEST(FloatCount, SlowElsewhere) {
  EXPECT_COUNTS(1u, 1u, float_add(kOne, kTwo, 0));
  EXPECT_COUNTS(1u, 1u, float_add(kNan<u64>, kTwo, kInexact));
  EXPECT_COUNTS(1u, 1u, float_div(kOne, u64{0}, kInexact));
  EXPECT_COUNTS(1u, 1u, float_add(u16{0x3c00}, u16{0x3c00}, kInexact));
  EXPECT_COUNTS(1u, 1u, float_compare(kNan<u64>, kTwo, false, 0));
  EXPECT_COUNTS(1u, 1u, float_recip_estimate(kTwo, kInexact));
}

TEST(FloatCount, EveryElementOfAVector) {
  const u64 singles = u64{0x3f80'0000} << 32 | 0x3f80'0000;
  EXPECT_COUNTS(2u, 0u, float_chunk<u32>(FloatAdd{}, kInexact, singles, singles));
  EXPECT_COUNTS(4u, 4u, float_chunk<u16>(FloatAdd{}, kInexact, singles, singles));
}

}  // namespace
}  // namespace kvrm::semantics
