// Half precision against exact arithmetic: every operand of the operations with one, sampled pairs and triples of the
// others. The exact value of a sum, product or fused sum of halves fits a 113-bit significand; quotients and roots are
// far enough from any rounding boundary that a double tells the side.
#include <gtest/gtest.h>

#include <cmath>

#include "operands.h"

namespace kvrm::testing {
namespace {

using namespace semantics;
__extension__ typedef __float128 Quad;

constexpr u32 kSamples = 100'000;

double value_of(u16 half) {
  const double fraction = half & 0x3ff;
  const int exponent = half >> 10 & 31;
  const double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return half >> 15 ? -magnitude : magnitude;
}

// Rounds a value other than zero to a half, in arithmetic: how many units of the last place, rounded to an integer.
FloatResult<u16> round_to_half(Quad value, Rounding rounding) {
  const bool sign = value < 0;
  const Quad magnitude = sign ? -value : value;
  int exponent = 15;
  if (magnitude >= Quad{65536.0}) exponent = 16;
  while (exponent > -14 && magnitude < Quad{std::ldexp(1.0, exponent)}) --exponent;
  const double unit = std::ldexp(1.0, exponent - 10);
  const bool tiny = magnitude < Quad{std::ldexp(1.0, -14)};
  if (exponent == 16) return float_overflow<u16>(sign, rounding);
  const Quad units = magnitude / unit;  // exact: a power of two
  i64 whole = static_cast<i64>(units);
  const Quad rest = units - whole;
  const bool up = rounding == Rounding::kNearest ? rest > 0.5 || (rest == 0.5 && whole % 2)
                  : rounding == Rounding::kUp    ? rest != 0 && !sign
                  : rounding == Rounding::kDown  ? rest != 0 && sign
                                                 : false;
  whole += up;
  const double rounded = static_cast<double>(whole) * unit;
  if (rounded >= 65536.0) return float_overflow<u16>(sign, rounding);
  u32 bits = 0;
  for (int field = 0; field < 31; ++field) {  // find the half with this value
    const double base = std::ldexp(field == 0 ? 0 : 1024, field == 0 ? -24 : field - 25);
    const double step = std::ldexp(1.0, field == 0 ? -24 : field - 25);
    const double index = (rounded - base) / step;
    if (index >= 0 && index < 1024) bits = static_cast<u32>(field) << 10 | static_cast<u32>(index);
  }
  const u32 flags = rest != 0 ? kInexact | (tiny ? kUnderflow : 0) : 0;
  return {static_cast<u16>(bits | (sign ? 0x8000 : 0)), flags};
}

bool is_number(u16 half) { return float_is_finite(half); }

void expect_same(FloatResult<u16> ours, FloatResult<u16> expected, const char* what, u32 a, u32 b = 0, u32 c = 0) {
  if (ours.bits == expected.bits && ours.flags == expected.flags) return;
  ADD_FAILURE() << what << std::hex << " " << a << " " << b << " " << c << ": ours " << ours.bits << " flags "
                << ours.flags << ", expected " << expected.bits << " flags " << expected.flags;
}

TEST(Half, ConvertsToWiderFormatsExactly) {
  for (u32 a = 0; a < 0x10000; ++a) {
    const u16 half = static_cast<u16>(a);
    if (!is_number(half)) continue;
    EXPECT_EQ((float_convert<u64, u16>(half, 0).bits), std::bit_cast<u64>(value_of(half)));
    EXPECT_EQ((float_convert<u32, u16>(half, 0).bits), std::bit_cast<u32>(static_cast<float>(value_of(half))));
  }
}

TEST(Half, ConvertsFromWiderFormatsInEveryMode) {
  Operands random(11);
  for (const Rounding rounding : kModeRoundings) {
    for (u32 i = 0; i < kSamples && !HasFailure(); ++i) {
      // Around every half and every point in the middle of two.
      const u16 half = static_cast<u16>(random.next());
      if (!is_number(half)) continue;
      const u64 near = std::bit_cast<u64>(value_of(half)) + ((random.next() & 3) << 40) + random.below(5) - 2;
      const double value = std::bit_cast<double>(near);
      if (value == 0 || !std::isfinite(value)) continue;
      expect_same(float_convert<u16, u64>(near, mode_of(rounding)), round_to_half(value, rounding), "double", half);
      const float single = static_cast<float>(value);
      if (single == 0) continue;
      expect_same(float_convert<u16, u32>(std::bit_cast<u32>(single), mode_of(rounding)),
                  round_to_half(single, rounding), "single", half);
    }
  }
}

TEST(Half, SquareRootOfEveryOperand) {
  for (const Rounding rounding : kModeRoundings) {
    for (u32 a = 1; a < 0x7c00; ++a) {
      const double root = std::sqrt(value_of(static_cast<u16>(a)));
      expect_same(float_sqrt<u16>(static_cast<u16>(a), mode_of(rounding)), round_to_half(root, rounding), "sqrt", a);
    }
  }
}

TEST(Half, RoundsEveryOperandToIntegral) {
  constexpr Rounding kAll[] = {Rounding::kNearest, Rounding::kUp, Rounding::kDown, Rounding::kZero, Rounding::kAway};
  for (const Rounding rounding : kAll) {
    for (u32 a = 0; a < 0x10000; ++a) {
      const u16 half = static_cast<u16>(a);
      if (!is_number(half)) continue;
      const double x = value_of(half);
      const double rounded = rounding == Rounding::kNearest ? std::nearbyint(x)
                             : rounding == Rounding::kUp    ? std::ceil(x)
                             : rounding == Rounding::kDown  ? std::floor(x)
                             : rounding == Rounding::kZero  ? std::trunc(x)
                                                            : std::round(x);
      const u16 zero = static_cast<u16>(half & 0x8000);
      const u16 bits = rounded == 0 ? zero : round_to_half(rounded, Rounding::kNearest).bits;
      expect_same(float_round_to_integral(half, rounding, true, 0), {bits, rounded == x ? 0 : kInexact}, "integral", a);
      const auto integer = float_to_int(half, rounding, 0, true, 64, 0);
      EXPECT_EQ(static_cast<double>(static_cast<i64>(integer.bits)), rounded);
      const auto narrow = float_to_int(half, rounding, 0, false, 16, 0);
      EXPECT_EQ(static_cast<double>(narrow.bits), rounded < 0 ? 0 : rounded);
      EXPECT_EQ(narrow.flags, rounded < 0 ? kInvalid : rounded == x ? 0 : kInexact);
    }
  }
}

TEST(Half, PairsInEveryMode) {
  Operands random(12);
  for (const Rounding rounding : kModeRoundings) {
    const u32 mode = mode_of(rounding);
    for (u32 i = 0; i < kSamples && !HasFailure(); ++i) {
      const u16 a = random.pick<u16>(), b = random.pick<u16>();
      if (!is_number(a) || !is_number(b)) continue;
      const double x = value_of(a), y = value_of(b);
      if (x + y != 0) expect_same(float_add(a, b, mode), round_to_half(x + y, rounding), "add", a, b);
      if (x - y != 0) expect_same(float_sub(a, b, mode), round_to_half(x - y, rounding), "sub", a, b);
      if (x == 0 || y == 0) continue;
      expect_same(float_mul(a, b, mode), round_to_half(x * y, rounding), "mul", a, b);
      expect_same(float_div(a, b, mode), round_to_half(x / y, rounding), "div", a, b);
    }
  }
}

TEST(Half, FusedTriplesInEveryMode) {
  Operands random(13);
  for (const Rounding rounding : kModeRoundings) {
    for (u32 i = 0; i < kSamples && !HasFailure(); ++i) {
      const u16 a = random.pick<u16>(), b = random.pick<u16>();
      const u16 near = float_neg(float_mul(a, b, 0).bits);
      const u16 c = random.below(2) ? random.pick<u16>() : static_cast<u16>(near + random.below(3) - 1);
      if (!is_number(a) || !is_number(b) || !is_number(c)) continue;
      const Quad sum = Quad{value_of(a)} * value_of(b) + value_of(c);
      if (sum != 0) {
        expect_same(float_fma(c, a, b, mode_of(rounding)), round_to_half(sum, rounding), "fma", a, b, c);
      }
      const Quad step = 2 - Quad{value_of(a)} * value_of(b);
      if (step != 0) {
        expect_same(float_recip_step(a, b, mode_of(rounding)), round_to_half(step, rounding), "recps", a, b);
      }
      const Quad other = (3 - Quad{value_of(a)} * value_of(b)) / 2;
      if (other != 0) {
        expect_same(float_rsqrt_step(a, b, mode_of(rounding)), round_to_half(other, rounding), "rsqrts", a, b);
      }
    }
  }
}

TEST(Half, FixedPointInEveryMode) {
  Operands random(14);
  for (const Rounding rounding : kModeRoundings) {
    for (u32 i = 0; i < kSamples / 4 && !HasFailure(); ++i) {
      const u64 value = random.next() >> random.below(64);
      const u32 fraction_bits = random.below(65);
      if (value == 0) continue;
      const Quad scale = std::ldexp(1.0, static_cast<int>(fraction_bits));
      expect_same(int_to_float<u16>(value, false, fraction_bits, mode_of(rounding)),
                  round_to_half(static_cast<Quad>(value) / scale, rounding), "unsigned", fraction_bits);
      const i64 as_signed = static_cast<i64>(value);
      expect_same(int_to_float<u16>(value, true, fraction_bits, mode_of(rounding)),
                  round_to_half(static_cast<Quad>(as_signed) / scale, rounding), "signed", fraction_bits);
    }
  }
}

}  // namespace
}  // namespace kvrm::testing
