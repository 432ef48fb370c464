// Arithmetic in integers, for every mode and every operand. Each function is one operation of the manual's pseudocode.
// float_cold.h makes functions of them that are called.
#pragma once

#include "semantics/float_round.h"

namespace kvrm::semantics {

// Products and sums: a significand in W with its top bit one below W's top, which is left for a carry.
template <class W>
struct FloatWideParts {
  W significand;
  i32 exponent;
  bool sign;
};

// The type that holds the product of two significands. For a sum 64 bits serve all formats.
template <class T>
struct FloatProductOf {
  using Type = u64;
};
template <>
struct FloatProductOf<u64> {
  using Type = FloatWide;
};
template <class T>
using FloatProduct = typename FloatProductOf<T>::Type;

template <class W>
KVRM_INLINE FloatWideParts<W> float_widen(const FloatParts& x) {
  return {static_cast<W>(W{x.significand} << (sizeof(W) * 8 - 64)) >> 1, x.exponent, x.sign};
}

KVRM_INLINE u64 narrow_sticky(u64 value) { return value; }
KVRM_INLINE u32 count_wide_zeros(u64 value) { return count_leading_zeros(value); }
KVRM_INLINE u32 count_wide_zeros(FloatWide value) {
  const u64 high = static_cast<u64>(value >> 64);
  return high ? count_leading_zeros(high) : 64 + count_leading_zeros(static_cast<u64>(value));
}

// The sum of two numbers that are not zero, or half of it. The smaller one is shifted into place; where bits of it fall
// off, the exponents differ by so much that the lowest bit is far below the rounding position.
template <class T, class W>
KVRM_INLINE FloatResult<T> float_sum(const FloatWideParts<W>& a, const FloatWideParts<W>& b, bool halve, u32 mode) {
  const bool swapped = a.exponent < b.exponent;
  const W x = swapped ? b.significand : a.significand;
  const i32 distance = a.exponent - b.exponent;
  const W y =
      shift_right_sticky(swapped ? a.significand : b.significand, static_cast<u32>(swapped ? -distance : distance));
  const bool subtract = a.sign != b.sign;
  if (subtract && x == y) return {float_signed_zero<T>(rounding_of(mode) == Rounding::kDown), 0};
  const bool reversed = subtract && x < y;
  const W sum = reversed ? y - x : subtract ? x - y : x + y;
  const u32 zeros = count_wide_zeros(sum);
  const i32 exponent = (swapped ? b.exponent : a.exponent) + 1 - static_cast<i32>(zeros) - halve;
  const bool sign = (swapped ? b.sign : a.sign) != reversed;
  return float_round<T>({narrow_sticky(static_cast<W>(sum << zeros)), exponent, sign}, mode);
}

template <class T>
KVRM_INLINE FloatResult<T> float_add_software(T a, T b, bool subtract, u32 mode) {
  u32 flags = 0;
  a = float_flush_input(a, mode, flags);
  b = float_flush_input(b, mode, flags);
  if (float_is_nan(a) || float_is_nan(b)) return with_flags(float_process_nans(a, b, mode), flags);
  if (subtract) b = float_neg(b);
  if (float_is_infinite(a)) {
    if (float_is_infinite(b) && a != b) return with_flags(float_invalid<T>(), flags);
    return {a, flags};
  }
  if (float_is_infinite(b)) return {b, flags};
  if (float_is_zero(a)) {
    const bool opposite = float_is_zero(b) && a != b;
    return {opposite ? float_signed_zero<T>(rounding_of(mode) == Rounding::kDown) : b, flags};
  }
  if (float_is_zero(b)) return {a, flags};
  const auto x = float_widen<u64>(float_unpack(a)), y = float_widen<u64>(float_unpack(b));
  return with_flags(float_sum<T>(x, y, false, mode), flags);
}

// Products lose nothing: the lowest bits of both significands are zero.
template <class T>
KVRM_INLINE FloatWideParts<FloatProduct<T>> float_product(const FloatParts& x, const FloatParts& y) {
  using W = FloatProduct<T>;
  constexpr u32 kUnused = 64 - sizeof(W) * 4;
  const W product = W{x.significand >> kUnused} * (y.significand >> kUnused);
  const bool carried = static_cast<bool>(product >> (sizeof(W) * 8 - 1));
  return {carried ? product >> 1 : product, x.exponent + y.exponent + carried, x.sign != y.sign};
}

template <class T, class W>
KVRM_INLINE FloatResult<T> float_round_wide(const FloatWideParts<W>& x, u32 mode) {
  return float_round<T>({narrow_sticky(static_cast<W>(x.significand << 1)), x.exponent, x.sign}, mode);
}

// extended: FMULX, where infinity times zero is two.
template <class T>
KVRM_INLINE FloatResult<T> float_mul_software(T a, T b, bool extended, u32 mode) {
  u32 flags = 0;
  a = float_flush_input(a, mode, flags);
  b = float_flush_input(b, mode, flags);
  if (float_is_nan(a) || float_is_nan(b)) return with_flags(float_process_nans(a, b, mode), flags);
  const bool sign = float_sign(a) != float_sign(b);
  if (float_is_infinite(a) || float_is_infinite(b)) {
    if (!float_is_zero(a) && !float_is_zero(b)) return {float_signed_infinity<T>(sign), flags};
    if (!extended) return with_flags(float_invalid<T>(), flags);
    const T two = static_cast<T>(static_cast<T>(kBias<T> + 1) << kFractionBits<T>);
    return {static_cast<T>(float_signed_zero<T>(sign) | two), flags};
  }
  if (float_is_zero(a) || float_is_zero(b)) return {float_signed_zero<T>(sign), flags};
  return with_flags(float_round_wide<T>(float_product<T>(float_unpack(a), float_unpack(b)), mode), flags);
}

// FPMulAdd(). kStep: FRECPS and FRSQRTS, where infinity times zero gives `step` instead of being invalid.
template <class T, bool kStep>
KVRM_INLINE FloatResult<T> float_fused(T addend, T a, T b, bool halve, T step, u32 mode) {
  u32 flags = 0;
  addend = float_flush_input(addend, mode, flags);
  a = float_flush_input(a, mode, flags);
  b = float_flush_input(b, mode, flags);
  const bool infinite = float_is_infinite(a) || float_is_infinite(b);
  const bool zero = float_is_zero(a) || float_is_zero(b);
  const bool undefined = infinite && zero && !float_is_nan(a) && !float_is_nan(b);
  if (float_is_nan(addend) || float_is_nan(a) || float_is_nan(b)) {
    if (undefined && !float_is_signalling(addend)) return with_flags(float_invalid<T>(), flags);
    return with_flags(float_process_nans(addend, a, b, mode), flags);
  }
  if (undefined) return kStep ? FloatResult<T>{step, flags} : with_flags(float_invalid<T>(), flags);
  const bool sign = float_sign(a) != float_sign(b);
  if (float_is_infinite(addend)) {
    if (infinite && float_sign(addend) != sign) return with_flags(float_invalid<T>(), flags);
    return {addend, flags};
  }
  if (infinite) return {float_signed_infinity<T>(sign), flags};
  if (zero) {
    if (kStep) return {step, flags};
    const bool opposite = float_is_zero(addend) && float_sign(addend) != sign;
    return {opposite ? float_signed_zero<T>(rounding_of(mode) == Rounding::kDown) : addend, flags};
  }
  const auto product = float_product<T>(float_unpack(a), float_unpack(b));
  if (float_is_zero(addend)) return with_flags(float_round_wide<T>(product, mode), flags);
  return with_flags(float_sum<T>(float_widen<FloatProduct<T>>(float_unpack(addend)), product, halve, mode), flags);
}

template <class T>
KVRM_INLINE FloatResult<T> float_fma_software(T addend, T a, T b, u32 mode) {
  return float_fused<T, false>(addend, a, b, false, 0, mode);
}

// 2 - a * b, or (3 - a * b) / 2.
template <class T>
KVRM_INLINE FloatResult<T> float_step_software(T a, T b, bool halve, u32 mode) {
  constexpr T kTwo = static_cast<T>(static_cast<T>(kBias<T> + 1) << kFractionBits<T>);
  constexpr T kThree = static_cast<T>(kTwo | kQuietBit<T>);
  constexpr T kOneAndHalf = static_cast<T>(static_cast<T>(kBias<T>) << kFractionBits<T> | kQuietBit<T>);
  return float_fused<T, true>(halve ? kThree : kTwo, float_neg(a), b, halve, halve ? kOneAndHalf : kTwo, mode);
}

// floor(high * 2^64 / divisor) with the remainder's trace in the lowest bit; high < divisor, whose top bit is set.
// Two digits of 32 bits, each guessed from the divisor's upper half and corrected (Knuth's algorithm D).
KVRM_INLINE u64 float_quotient(u64 high, u64 divisor) {
  const u64 upper = divisor >> 32, lower = static_cast<u32>(divisor);
  u64 quotient = 0;
#pragma GCC unroll 2
  for (u32 i = 0; i < 2; ++i) {
    u64 digit = high / upper;
    u64 rest = high % upper;
    while (digit >> 32 != 0 || digit * lower > rest << 32) {
      --digit;
      rest += upper;
      if (rest >> 32 != 0) break;
    }
    high = (high << 32) - digit * divisor;  // modulo 2^64: the true value is below the divisor
    quotient = quotient << 32 | digit;
  }
  return quotient | (high != 0);
}

template <class T>
KVRM_INLINE FloatResult<T> float_div_software(T a, T b, u32 mode) {
  u32 flags = 0;
  a = float_flush_input(a, mode, flags);
  b = float_flush_input(b, mode, flags);
  if (float_is_nan(a) || float_is_nan(b)) return with_flags(float_process_nans(a, b, mode), flags);
  const bool sign = float_sign(a) != float_sign(b);
  if (float_is_infinite(a) || float_is_zero(b)) {
    if (float_is_infinite(b) || float_is_zero(a)) return with_flags(float_invalid<T>(), flags);
    return {float_signed_infinity<T>(sign), float_is_infinite(a) ? flags : flags | kDivideByZero};
  }
  if (float_is_zero(a) || float_is_infinite(b)) return {float_signed_zero<T>(sign), flags};
  const FloatParts x = float_unpack(a), y = float_unpack(b);
  const bool below = x.significand < y.significand;
  const u64 quotient = float_quotient(below ? x.significand : x.significand >> 1, y.significand);
  return with_flags(float_round<T>({quotient, x.exponent - y.exponent - below, sign}, mode), flags);
}

// The square root of a significand in [1, 4) * 2^60, digit by digit; the remainder's trace is in the lowest bit.
KVRM_INLINE u64 float_root(u64 rest) {
  u64 root = 0, doubled = 0;
  for (u64 bit = u64{1} << 60; bit != 0; bit >>= 1) {
    const u64 trial = doubled + bit;
    if (trial <= rest) {
      doubled = trial + bit;
      rest -= trial;
      root |= bit;
    }
    rest <<= 1;
  }
  return root << 3 | (rest != 0);
}

template <class T>
KVRM_INLINE FloatResult<T> float_sqrt_software(T a, u32 mode) {
  u32 flags = 0;
  a = float_flush_input(a, mode, flags);
  if (float_is_nan(a)) return with_flags(float_process_nan(a, mode), flags);
  if (float_is_zero(a)) return {a, flags};
  if (float_sign(a)) return with_flags(float_invalid<T>(), flags);
  if (float_is_infinite(a)) return {a, flags};
  const FloatParts x = float_unpack(a);
  const u64 root = float_root(x.significand >> (x.exponent & 1 ? 2 : 3));
  return with_flags(float_round<T>({root, x.exponent >> 1, false}, mode), flags);
}

}  // namespace kvrm::semantics
