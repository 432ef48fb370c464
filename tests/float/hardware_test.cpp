// Single and double against the host's own arithmetic, in its four rounding modes, flags included. Two things differ by
// architecture and are computed here: NaNs, and underflow, which x86 detects after rounding and Arm before.
#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>

#include "operands.h"

namespace kvrm::testing {
namespace {

using namespace semantics;
__extension__ typedef __float128 Quad;

constexpr u32 kCases = 150'000;  // for each operation, format and rounding mode

int host_rounding(Rounding rounding) {
  switch (rounding) {
    case Rounding::kUp: return FE_UPWARD;
    case Rounding::kDown: return FE_DOWNWARD;
    case Rounding::kZero: return FE_TOWARDZERO;
    default: return FE_TONEAREST;
  }
}

u32 arm_flags(int host) {
  return (host & FE_INVALID ? kInvalid : 0) | (host & FE_DIVBYZERO ? kDivideByZero : 0) |
         (host & FE_OVERFLOW ? kOverflow : 0) | (host & FE_UNDERFLOW ? kUnderflow : 0) |
         (host & FE_INEXACT ? kInexact : 0);
}

// f() in the host's rounding mode, with the flags it raises. f reads volatile operands, so nothing is folded or moved.
template <class T, class F>
[[gnu::noinline]] FloatResult<T> on_host(Rounding rounding, F f) {
  std::fesetround(host_rounding(rounding));
  std::feclearexcept(FE_ALL_EXCEPT);
  volatile auto value = f();
  const int flags = std::fetestexcept(FE_ALL_EXCEPT);
  std::fesetround(FE_TONEAREST);
  const Hardware<T> copy = value;
  return {std::bit_cast<T>(copy), arm_flags(flags)};
}

template <class T>
Hardware<T> read(const volatile T& bits) {
  const T copy = bits;
  return std::bit_cast<Hardware<T>>(copy);
}

// The manual's rule for the NaN of an operation, written down once more.
template <class T>
T expected_nan(std::initializer_list<T> operands) {
  for (const T operand : operands) {
    if (float_is_signalling(operand)) return static_cast<T>(operand | kQuietBit<T>);
  }
  for (const T operand : operands) {
    if (float_is_nan(operand)) return operand;
  }
  return kNan<T>;
}

template <class T>
constexpr Quad smallest_normal() {
  return static_cast<Quad>(std::bit_cast<Hardware<T>>(static_cast<T>(T{1} << kFractionBits<T>)));
}

Quad magnitude(Quad x) { return x < 0 ? -x : x; }

// tiny: whether the exact result is below the smallest normal number; asked only where the host's answer may differ.
template <class T, class Tiny>
FloatResult<T> arm_answer(FloatResult<T> host, std::initializer_list<T> operands, Tiny tiny) {
  if (float_is_nan(host.bits)) host.bits = expected_nan(operands);
  const bool at_limit = float_abs(host.bits) == static_cast<T>(T{1} << kFractionBits<T>);
  if (at_limit && host.flags & kInexact && tiny()) host.flags |= kUnderflow;
  return host;
}

template <class T>
void expect_same(FloatResult<T> ours, FloatResult<T> host, const char* what, std::initializer_list<T> operands,
                 Rounding rounding) {
  if (ours.bits == host.bits && ours.flags == host.flags) return;
  ADD_FAILURE() << what << " rounding " << static_cast<u32>(rounding) << std::hex << " ours " << +ours.bits << " flags "
                << ours.flags << ", host " << +host.bits << " flags " << host.flags << ", operands "
                << +*operands.begin() << " " << +*(operands.end() - 1) << " (" << operands.size() << ")";
}

template <class T>
class Hardware_ : public ::testing::Test {};
using Formats = ::testing::Types<u32, u64>;
TYPED_TEST_SUITE(Hardware_, Formats);

TYPED_TEST(Hardware_, AddAndSubtract) {
  using T = TypeParam;
  Operands random(1);
  for (const Rounding rounding : kModeRoundings) {
    for (u32 i = 0; i < kCases && !::testing::Test::HasFailure(); ++i) {
      const volatile T a = random.pick<T>(), b = random.pick<T>();
      const auto never = [] { return false; };
      const auto sum = on_host<T>(rounding, [&] { return read(a) + read(b); });
      expect_same<T>(float_add<T>(a, b, mode_of(rounding)), arm_answer<T>(sum, {a, b}, never), "add", {a, b}, rounding);
      const auto difference = on_host<T>(rounding, [&] { return read(a) - read(b); });
      expect_same<T>(float_sub<T>(a, b, mode_of(rounding)), arm_answer<T>(difference, {a, b}, never), "sub", {a, b},
                     rounding);
    }
  }
}

TYPED_TEST(Hardware_, Multiply) {
  using T = TypeParam;
  Operands random(2);
  for (const Rounding rounding : kModeRoundings) {
    for (u32 i = 0; i < kCases && !::testing::Test::HasFailure(); ++i) {
      const volatile T a = random.pick<T>(), b = random.pick<T>();
      const auto product = on_host<T>(rounding, [&] { return read(a) * read(b); });
      const auto tiny = [&] { return magnitude(Quad{read(a)} * read(b)) < smallest_normal<T>(); };
      expect_same<T>(float_mul<T>(a, b, mode_of(rounding)), arm_answer<T>(product, {a, b}, tiny), "mul", {a, b},
                     rounding);
    }
  }
}

TYPED_TEST(Hardware_, Divide) {
  using T = TypeParam;
  Operands random(3);
  for (const Rounding rounding : kModeRoundings) {
    for (u32 i = 0; i < kCases && !::testing::Test::HasFailure(); ++i) {
      const volatile T a = random.pick<T>(), b = random.pick<T>();
      const auto quotient = on_host<T>(rounding, [&] { return read(a) / read(b); });
      const auto tiny = [&] { return magnitude(read(a)) < magnitude(Quad{read(b)} * smallest_normal<T>()); };
      expect_same<T>(float_div<T>(a, b, mode_of(rounding)), arm_answer<T>(quotient, {a, b}, tiny), "div", {a, b},
                     rounding);
    }
  }
}

TYPED_TEST(Hardware_, SquareRoot) {
  using T = TypeParam;
  Operands random(4);
  for (const Rounding rounding : kModeRoundings) {
    for (u32 i = 0; i < kCases && !::testing::Test::HasFailure(); ++i) {
      const volatile T a = random.pick<T>();
      const auto root = on_host<T>(rounding, [&] { return hardware_sqrt(read(a)); });
      const auto never = [] { return false; };
      expect_same<T>(float_sqrt<T>(a, mode_of(rounding)), arm_answer<T>(root, {a}, never), "sqrt", {a}, rounding);
    }
  }
}

TYPED_TEST(Hardware_, FusedMultiplyAdd) {
  using T = TypeParam;
  if (!has_hardware_fma()) GTEST_SKIP() << "this processor has no fused multiply-add";
  Operands random(5);
  for (const Rounding rounding : kModeRoundings) {
    for (u32 i = 0; i < 2 * kCases && !::testing::Test::HasFailure(); ++i) {
      const volatile T a = random.pick<T>(), b = random.pick<T>();
      // Half of the addends cancel most of the product.
      const T near = float_neg(float_mul<T>(a, b, 0).bits);
      const volatile T c = random.below(2) ? random.pick<T>() : static_cast<T>(near + random.below(5) - 2);
      const auto sum = on_host<T>(rounding, [&] { return hardware_fma(read(a), read(b), read(c)); });
      const auto tiny = [&] {
        const Quad product = Quad{read(a)} * read(b), limit = smallest_normal<T>();
        const Quad addend = read(c);
        return product < limit - addend && product > -limit - addend;
      };
      auto expected = arm_answer<T>(sum, {c, a, b}, tiny);
      // Arm: infinity times zero is invalid and gives the default NaN even with a quiet NaN to add.
      const bool undefined =
          (float_is_infinite<T>(a) && float_is_zero<T>(b)) || (float_is_zero<T>(a) && float_is_infinite<T>(b));
      if (undefined && !float_is_signalling<T>(c)) expected = {kNan<T>, kInvalid};
      expect_same<T>(float_fma<T>(c, a, b, mode_of(rounding)), expected, "fma", {a, b, c}, rounding);
    }
  }
}

TYPED_TEST(Hardware_, IntegersToFloat) {
  using T = TypeParam;
  Operands random(6);
  for (const Rounding rounding : kModeRoundings) {
    for (u32 i = 0; i < kCases && !::testing::Test::HasFailure(); ++i) {
      const volatile u64 value = random.next() >> random.below(64);
      const volatile i64 as_signed = static_cast<i64>(random.below(2) ? value : 0 - value);
      const auto expected = on_host<T>(rounding, [&] { return static_cast<Hardware<T>>(as_signed); });
      const u64 bits = static_cast<u64>(as_signed);
      expect_same<T>(int_to_float<T>(bits, true, 0, mode_of(rounding)), expected, "signed", {T{0}}, rounding);
      if (value >> 63 == 0) {
        const auto also = on_host<T>(rounding, [&] { return static_cast<Hardware<T>>(static_cast<i64>(value)); });
        expect_same<T>(int_to_float<T>(value, false, 0, mode_of(rounding)), also, "unsigned", {T{0}}, rounding);
      }
    }
  }
}

TYPED_TEST(Hardware_, FloatToIntegersAndIntegral) {
  using T = TypeParam;
  Operands random(7);
  for (const Rounding rounding : kModeRoundings) {
    for (u32 i = 0; i < kCases && !::testing::Test::HasFailure(); ++i) {
      const volatile T a = random.pick<T>();
      auto integral = on_host<T>(rounding, [&] { return std::rint(read(a)); });
      if (float_is_nan<T>(a)) integral = {expected_nan<T>({a}), float_is_signalling<T>(a) ? kInvalid : 0};
      expect_same<T>(float_round_to_integral<T>(a, rounding, true, mode_of(rounding)), integral, "rint", {a}, rounding);
      const Hardware<T> rounded = std::bit_cast<Hardware<T>>(integral.bits);
      for (const u32 width : {16u, 32u, 64u}) {
        const Hardware<T> half_range = std::ldexp(Hardware<T>{1}, static_cast<int>(width) - 1);
        const bool fits = rounded >= -half_range && rounded < half_range;
        const u64 most = low_ones(width - 1);
        const u64 expected = float_is_nan<T>(a) ? 0
                             : fits             ? static_cast<u64>(static_cast<i64>(rounded)) & low_ones(width)
                             : rounded < 0      ? most + 1
                                                : most;
        const auto ours = float_to_int<T>(a, rounding, 0, true, width, mode_of(rounding));
        EXPECT_EQ(ours.bits, expected) << std::hex << +a << " width " << width;
        EXPECT_EQ(ours.flags, fits ? integral.flags & kInexact : kInvalid) << std::hex << +a << " width " << width;
      }
    }
  }
}

TEST(HardwareConversions, BetweenSingleAndDouble) {
  Operands random(8);
  for (const Rounding rounding : kModeRoundings) {
    for (u32 i = 0; i < 2 * kCases && !::testing::Test::HasFailure(); ++i) {
      const volatile u32 narrow = random.pick<u32>();
      auto wide = on_host<u64>(rounding, [&] { return static_cast<double>(read(narrow)); });
      if (!float_is_nan<u32>(narrow)) {  // NaNs are in rules_test.cpp
        expect_same<u64>(float_convert<u64, u32>(narrow, mode_of(rounding)), wide, "widen", {u64{narrow}}, rounding);
      }
      // Doubles around singles: their last bits decide.
      const volatile u64 a = random.below(2) ? random.pick<u64>() : wide.bits + random.below(7) - 3;
      if (float_is_nan<u64>(a)) continue;
      const auto single = on_host<u32>(rounding, [&] { return static_cast<float>(read(a)); });
      const auto tiny = [&] { return magnitude(read(a)) < smallest_normal<u32>(); };
      expect_same<u32>(float_convert<u32, u64>(a, mode_of(rounding)), arm_answer<u32>(single, {}, tiny), "narrow",
                       {static_cast<u32>(a >> 32)}, rounding);
    }
  }
}

TYPED_TEST(Hardware_, Compare) {
  using T = TypeParam;
  Operands random(9);
  for (u32 i = 0; i < kCases && !::testing::Test::HasFailure(); ++i) {
    const T a = random.pick<T>(), b = random.below(8) ? random.pick<T>() : static_cast<T>(a + random.below(3) - 1);
    const auto x = std::bit_cast<Hardware<T>>(a), y = std::bit_cast<Hardware<T>>(b);
    const u8 expected = x < y ? 8 : x == y ? 6 : x > y ? 2 : 3;
    EXPECT_EQ(float_compare(a, b, false, 0).nzcv, expected);
    EXPECT_EQ(float_greater(a, b, 0).holds, x > y);
    EXPECT_EQ(float_abs_greater_equal(a, b, 0).holds, std::fabs(x) >= std::fabs(y));
    if (expected == 3 || x == y) continue;
    EXPECT_EQ(float_max(a, b, 0).bits, x > y ? a : b);
    EXPECT_EQ(float_min_num(a, b, 0).bits, x < y ? a : b);
  }
}

}  // namespace
}  // namespace kvrm::testing
