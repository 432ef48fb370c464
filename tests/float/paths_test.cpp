// Every fast path against the software it stands for: with inexact sticky the bits are the same, and so are the flags
// but for inexact itself; without, all flags are. In all modes: a path must step aside where it does not serve.
#include <gtest/gtest.h>

#include <type_traits>

#include "operands.h"

namespace kvrm::testing {
namespace {

using namespace semantics;

constexpr u32 kCases = 1'500'000;

u32 random_mode(Operands& random) {
  constexpr u32 kControls = kFlushHalf | kRoundingMask | kFlush | kDefaultNan | kAlternativeHalf;
  switch (random.below(6)) {
    case 0: return static_cast<u32>(random.next()) & (kControls | kInexact);
    case 1: return kFlush | kInexact;
    case 2: return kFlush;
    case 3: return 0;
    default: return kInexact;
  }
}

template <class T>
bool same(const FloatResult<T>& fast, const FloatResult<T>& software, u32 mode) {
  const u32 sticky = mode & kInexact;
  return fast.bits == software.bits && (fast.flags | sticky) == (software.flags | sticky);
}

template <class T>
class Paths : public ::testing::Test {};
using Formats = ::testing::Types<u32, u64>;
TYPED_TEST_SUITE(Paths, Formats);

#define EXPECT_SAME(fast, software) \
  EXPECT_TRUE(same(fast, software, mode)) << std::hex << a << " " << b << " " << c << " mode " << mode

TYPED_TEST(Paths, Arithmetic) {
  using T = TypeParam;
  Operands random(21);
  for (u32 i = 0; i < kCases && !::testing::Test::HasFailure(); ++i) {
    const u32 mode = random_mode(random);
    const T a = random.pick<T>(), b = random.pick<T>();
    const T near = float_neg(float_mul_software(a, b, false, 0).bits);
    const T c = random.below(4) ? random.pick<T>() : static_cast<T>(near + random.below(5) - 2);
    EXPECT_SAME(float_add(a, b, mode), float_add_software(a, b, false, mode));
    EXPECT_SAME(float_sub(a, b, mode), float_add_software(a, b, true, mode));
    EXPECT_SAME(float_mul(a, b, mode), float_mul_software(a, b, false, mode));
    EXPECT_SAME(float_mulx(a, b, mode), float_mul_software(a, b, true, mode));
    EXPECT_SAME(float_div(a, b, mode), float_div_software(a, b, mode));
    EXPECT_SAME(float_sqrt(a, mode), float_sqrt_software(a, mode));
    EXPECT_SAME(float_fma(c, a, b, mode), float_fma_software(c, a, b, mode));
    EXPECT_SAME(float_recip_step(a, b, mode), float_step_software(a, b, false, mode));
    EXPECT_SAME(float_rsqrt_step(a, b, mode), float_step_software(a, b, true, mode));
  }
}

TYPED_TEST(Paths, OrderAndConversions) {
  using T = TypeParam;
  constexpr Rounding kAll[] = {Rounding::kNearest, Rounding::kUp, Rounding::kDown, Rounding::kZero, Rounding::kAway};
  Operands random(22);
  for (u32 i = 0; i < kCases && !::testing::Test::HasFailure(); ++i) {
    const u32 mode = random_mode(random);
    const T a = random.pick<T>(), b = random.below(4) ? random.pick<T>() : static_cast<T>(a + random.below(3) - 1);
    const u64 c = random.next() >> random.below(64);
    EXPECT_SAME(float_max(a, b, mode), float_max_min_cold(a, b, true, false, mode));
    EXPECT_SAME(float_min(a, b, mode), float_max_min_cold(a, b, false, false, mode));
    EXPECT_SAME(float_max_num(a, b, mode), float_max_min_cold(a, b, true, true, mode));
    EXPECT_SAME(float_min_num(a, b, mode), float_max_min_cold(a, b, false, true, mode));
    const FloatOrder order = float_compare(a, b, i & 1, mode), cold = float_compare_cold(a, b, i & 1, mode);
    EXPECT_EQ(order.nzcv, cold.nzcv);
    EXPECT_EQ(order.flags, cold.flags);
    const Rounding rounding = kAll[i % 5];
    // These report inexact themselves: without the sticky bit the flags are the same too.
    for (const u32 m : {mode, mode & ~kInexact}) {
      const bool exact = i & 8, is_signed = i & 16;
      const u32 width = 16u << i % 3, fraction_bits = i & 32 ? random.below(64) + 1 : 0;
      const auto integral = float_round_to_integral(a, rounding, exact, m);
      const auto integral_cold = float_round_to_integral_cold(a, rounding, exact, m);
      EXPECT_EQ(integral.bits, integral_cold.bits) << std::hex << a << " mode " << m;
      EXPECT_EQ(integral.flags, integral_cold.flags) << std::hex << a << " mode " << m;
      const auto integer = float_to_int(a, rounding, fraction_bits, is_signed, width, m);
      const auto integer_cold = float_to_int_cold(a, rounding, fraction_bits, is_signed, width, m);
      EXPECT_EQ(integer.bits, integer_cold.bits) << std::hex << a << " mode " << m << " width " << width;
      EXPECT_EQ(integer.flags, integer_cold.flags) << std::hex << a << " mode " << m << " width " << width;
    }
    EXPECT_SAME(int_to_float<T>(c, i & 4, i & 32 ? 5 : 0, mode), int_to_float_cold<T>(c, i & 4, i & 32 ? 5 : 0, mode));
    EXPECT_SAME(int_to_float<T>(0 - c, i & 4, 0, mode), int_to_float_cold<T>(0 - c, i & 4, 0, mode));
    using Other = std::conditional_t<sizeof(T) == 4, u64, u32>;
    const Rounding mode_rounding = rounding_of(mode);
    EXPECT_SAME((float_convert<Other, T>(a, mode)), (float_convert_cold<Other, T>(a, mode_rounding, mode)));
    const u16 half = static_cast<u16>(c);
    EXPECT_SAME((float_convert<T, u16>(half, mode)), (float_convert_cold<T, u16>(half, mode_rounding, mode)));
  }
}

TYPED_TEST(Paths, ExactResultsNeedNoStickyFlag) {
  using T = TypeParam;
  // Whole numbers stay whole: nothing may be reported, whatever path is taken.
  for (u64 i = 0; i < 1000; ++i) {
    const T a = int_to_float<T>(i, false, 0, 0).bits, b = int_to_float<T>(i * 3, false, 0, 0).bits;
    const T sum = int_to_float<T>(i * 4, false, 0, 0).bits, product = int_to_float<T>(i * i * 3, false, 0, 0).bits;
    EXPECT_EQ(float_add(a, b, 0).bits, sum);
    EXPECT_EQ(float_add(a, b, 0).flags, 0u);
    EXPECT_EQ(float_mul(a, b, 0).bits, product);
    EXPECT_EQ(float_mul(a, b, 0).flags, 0u);
  }
}

}  // namespace
}  // namespace kvrm::testing
