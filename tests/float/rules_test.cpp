// The rules that are Arm's own, case by case: NaNs, flushing, the alternative half format, odd rounding, estimates.
#include <gtest/gtest.h>

#include "operands.h"

namespace kvrm::testing {
namespace {

using namespace semantics;

constexpr u32 kQuietOne = 0x7fc00001, kQuietTwo = 0xffc00002, kSignalling = 0x7f800003, kSignallingTwo = 0xff800004;
constexpr u32 kOne = 0x3f800000, kTwoSingle = 0x40000000, kSmallDenormal = 0x00000001;
constexpr u32 kInf = kInfinity<u32>;

template <class T>
void expect_result(FloatResult<T> result, T bits, u32 flags) {
  EXPECT_EQ(result.bits, bits);
  EXPECT_EQ(result.flags, flags);
}

TEST(Rules, NansOfTwoOperands) {
  expect_result(float_add(kQuietOne, kOne, 0), kQuietOne, 0);
  expect_result(float_add(kOne, kQuietTwo, 0), kQuietTwo, 0);
  expect_result(float_mul(kQuietOne, kQuietTwo, 0), kQuietOne, 0);
  expect_result(float_sub(kOne, kQuietTwo, 0), kQuietTwo, 0);  // the sign of a NaN is not negated
  expect_result(float_div(kQuietOne, kSignallingTwo, 0), kSignallingTwo | 0x400000, kInvalid);
  expect_result(float_add(kSignalling, kSignallingTwo, 0), kSignalling | 0x400000, kInvalid);
  expect_result(float_add(kQuietTwo, kOne, kDefaultNan), kNan<u32>, 0);
  expect_result(float_add(kInf, float_neg(kInf), 0), kNan<u32>, kInvalid);
  expect_result(float_mul(kInf, 0u, 0), kNan<u32>, kInvalid);
  expect_result(float_mulx(kInf, 0x80000000u, 0), float_neg(kTwoSingle), 0);
  expect_result(float_sqrt(0xbf800000u, 0), kNan<u32>, kInvalid);
  expect_result(float_sqrt(0x80000000u, 0), 0x80000000u, 0);
}

TEST(Rules, NansOfThreeOperands) {
  expect_result(float_fma(kQuietOne, kQuietTwo, kOne, 0), kQuietOne, 0);
  expect_result(float_fma(kQuietOne, kSignallingTwo, kOne, 0), kSignallingTwo | 0x400000, kInvalid);
  expect_result(float_fma(kSignalling, kSignallingTwo, kOne, 0), kSignalling | 0x400000, kInvalid);
  expect_result(float_fma(kOne, kQuietTwo, kQuietOne, 0), kQuietTwo, 0);
  expect_result(float_fma(kQuietOne, kInf, 0u, 0), kNan<u32>, kInvalid);
  expect_result(float_fma(kSignalling, kInf, 0u, 0), kSignalling | 0x400000, kInvalid);
  expect_result(float_fma(kOne, kInf, 0u, 0), kNan<u32>, kInvalid);
  expect_result(float_recip_step(kInf, 0u, 0), kTwoSingle, 0);
  expect_result(float_rsqrt_step(0u, kInf, 0), 0x3fc00000u, 0);
  expect_result(float_recip_step(kQuietOne, kOne, 0), float_neg(kQuietOne), 0);
}

TEST(Rules, NumbersWinOverQuietNans) {
  expect_result(float_max_num(kQuietOne, kOne, 0), kOne, 0);
  expect_result(float_min_num(kOne, kQuietTwo, 0), kOne, 0);
  expect_result(float_max_num(kQuietOne, kQuietTwo, 0), kQuietOne, 0);
  expect_result(float_max_num(kQuietOne, kSignalling, 0), kSignalling | 0x400000, kInvalid);
  expect_result(float_max(0x80000000u, 0u, 0), 0u, 0);
  expect_result(float_min(0u, 0x80000000u, 0), 0x80000000u, 0);
}

TEST(Rules, Comparisons) {
  EXPECT_EQ(float_compare(kOne, kQuietOne, false, 0).flags, 0u);
  EXPECT_EQ(float_compare(kOne, kQuietOne, true, 0).flags, kInvalid);
  EXPECT_EQ(float_compare(kOne, kSignalling, false, 0).flags, kInvalid);
  EXPECT_EQ(float_compare(kOne, kSignalling, false, 0).nzcv, 3);
  EXPECT_EQ(float_equal(kOne, kQuietOne, 0).flags, 0u);
  EXPECT_EQ(float_greater(kOne, kQuietOne, 0).flags, kInvalid);
  EXPECT_TRUE(float_equal(0u, 0x80000000u, 0).holds);
  EXPECT_TRUE(float_equal(kSmallDenormal, 0u, kFlush).holds);
  EXPECT_EQ(float_equal(kSmallDenormal, 0u, kFlush).flags, kInputDenormal);
  EXPECT_TRUE(float_equal<u16>(1, 0, kFlushHalf).holds);
  EXPECT_EQ(float_equal<u16>(1, 0, kFlushHalf).flags, 0u);
  EXPECT_FALSE(float_equal<u16>(1, 0, kFlush).holds);
}

TEST(Rules, Flushing) {
  expect_result(float_add(kSmallDenormal, kOne, kFlush), kOne, kInputDenormal);
  expect_result(float_mul(0x00800000u, 0x3f000000u, kFlush), 0u, kUnderflow);           // exact, and still flushed
  expect_result(float_mul(0x80ffffffu, 0x3f000000u, kFlush), 0x80000000u, kUnderflow);  // tiny before rounding
  expect_result(float_mul(0x00ffffffu, 0x3f000000u, 0), 0x00800000u, kUnderflow | kInexact);
  expect_result(float_mul(0x00800000u, 0x3f000000u, 0), 0x00400000u, 0);  // exact: no underflow
  expect_result(float_add<u16>(1, 0x3c00, kFlushHalf), u16{0x3c00}, 0);
  expect_result(float_mul<u16>(0x0400, 0x3800, kFlushHalf), u16{0}, kUnderflow);
  expect_result(float_mul<u16>(0x0400, 0x3800, kFlush), u16{0x0200}, 0);
  expect_result(float_add(kSmallDenormal, kSignalling, kFlush), kSignalling | 0x400000, kInvalid | kInputDenormal);
}

TEST(Rules, HalfConversions) {
  expect_result(float_convert<u16, u32>(kSignalling | 0x2000, 0), u16{0x7e01}, kInvalid);
  expect_result(float_convert<u16, u32>(kQuietTwo, kAlternativeHalf), u16{0x8000}, kInvalid);
  expect_result(float_convert<u16, u32>(kInf, kAlternativeHalf), u16{0x7fff}, kInvalid);
  expect_result(float_convert<u16, u32>(0x47ffe000u, kAlternativeHalf), u16{0x7fff}, 0);        // 131008
  expect_result(float_convert<u16, u32>(0x48000000u, kAlternativeHalf), u16{0x7fff}, kInvalid);  // 131072
  expect_result(float_convert<u16, u32>(0x47ffe000u, 0), u16{0x7c00}, kOverflow | kInexact);
  expect_result(float_convert<u32, u16>(0x7c00, kAlternativeHalf), 0x47800000u, 0);  // 65536
  expect_result(float_convert<u32, u16>(0x7c01, 0), 0x7fc02000u, kInvalid);
  expect_result(float_convert<u32, u16>(1, kFlush | kFlushHalf), 0x33800000u, 0);  // never flushed
  expect_result(float_convert<u16, u32>(0x33800000u, kFlush | kFlushHalf), u16{1}, 0);
  expect_result(float_convert<u16, u32>(kSmallDenormal, kFlush), u16{0}, kInputDenormal);
}

TEST(Rules, RoundToOdd) {
  constexpr u64 kOneDouble = 0x3ff0000000000000;
  expect_result(float_convert<u32, u64>(kOneDouble + 1, Rounding::kOdd, 0), kOne | 1, kInexact);
  expect_result(float_convert<u32, u64>(kOneDouble + (u64{3} << 28), Rounding::kOdd, 0), kOne | 1, kInexact);
  expect_result(float_convert<u32, u64>(kOneDouble, Rounding::kOdd, 0), kOne, 0);
  expect_result(float_convert<u32, u64>(0x7fe0000000000000, Rounding::kOdd, 0), kInf - 1, kOverflow | kInexact);
}

TEST(Rules, Estimates) {
  expect_result(float_recip_estimate(kOne, 0), 0x3f7f8000u, 0);
  expect_result(float_recip_estimate(0u, 0), kInf, kDivideByZero);
  expect_result(float_recip_estimate(kInf, 0), 0u, 0);
  expect_result(float_recip_estimate(kSmallDenormal, 0), kInf, kOverflow | kInexact);
  expect_result(float_recip_estimate(kSmallDenormal, mode_of(Rounding::kZero)), kInf - 1, kOverflow | kInexact);
  expect_result(float_recip_estimate(0x7f000000u, kFlush), 0u, kUnderflow);
  expect_result(float_rsqrt_estimate(kOne, 0), 0x3f7f8000u, 0);
  expect_result(float_rsqrt_estimate(0xbf800000u, 0), kNan<u32>, kInvalid);
  expect_result(float_rsqrt_estimate(0x80000000u, 0), float_neg(kInf), kDivideByZero);
  expect_result(float_recip_exponent(kOne, 0), 0x40000000u, 0);
  expect_result(float_recip_exponent(0x80000000u, 0), 0xff000000u, 0);
  expect_result(float_recip_exponent(kInf, 0), 0u, 0);
}

TEST(Rules, IntegersSaturate) {
  expect_result<u64>(float_to_int(kQuietOne, Rounding::kZero, 0, true, 32, 0), 0, kInvalid);
  expect_result<u64>(float_to_int(float_neg(kInf), Rounding::kZero, 0, true, 32, 0), 0x80000000, kInvalid);
  expect_result<u64>(float_to_int(float_neg(kOne), Rounding::kZero, 0, false, 64, 0), 0, kInvalid);
  expect_result<u64>(float_to_int(0xbf000000u, Rounding::kZero, 0, false, 64, 0), 0, kInexact);
  expect_result<u64>(float_to_int(0x5f800000u, Rounding::kZero, 0, false, 64, 0), ~u64{0}, kInvalid);
  expect_result<u64>(float_to_int(0xcf000000u, Rounding::kZero, 0, true, 32, 0), 0x80000000, 0);
  expect_result<u64>(float_to_int(kOne, Rounding::kZero, 31, true, 32, 0), 0x7fffffff, kInvalid);
  expect_result<u64>(float_to_int(kSmallDenormal, Rounding::kUp, 0, true, 32, kFlush), 0, kInputDenormal);
}

}  // namespace
}  // namespace kvrm::testing
