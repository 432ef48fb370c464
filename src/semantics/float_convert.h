// Conversions: between formats, to and from integers and fixed point, to an integral value.
#pragma once

#include "semantics/float_count.h"
#include "semantics/float_hardware.h"
#include "semantics/float_round.h"

namespace kvrm::semantics {

// A magnitude rounded to an integer; rest != 0 where it was not one. Values of 2^64 and more overflow.
struct FloatInteger {
  u64 magnitude;
  u64 rest;
  bool overflow;
};

// x * 2^scale.
KVRM_INLINE FloatInteger float_round_to_integer(const FloatParts& x, i32 scale, Rounding rounding) {
  const i32 below = 63 - (x.exponent + scale);  // this many bits are after the point
  if (below < 0) return {0, 0, true};
  if (below == 0) return {x.significand, 0, false};
  const u64 whole = below < 64 ? x.significand >> below : 0;
  const u64 rest = below < 64 ? x.significand << (64 - below) : below == 64 ? x.significand : 1;
  return {whole + float_rounds_up(rounding, x.sign, whole & 1, rest), rest, false};
}

// FPToFixed().
template <class T>
KVRM_COLD FloatResult<u64> float_to_int_cold(T a, Rounding rounding, u32 fraction_bits, bool is_signed, u32 width,
                                             u32 mode) {
  count_float_cold();
  u32 flags = 0;
  a = float_flush_input(a, mode, flags);
  if (float_is_nan(a)) return {0, flags | kInvalid};
  if (float_is_zero(a)) return {0, flags};
  const bool sign = float_sign(a);
  const u64 most = low_ones(is_signed ? width - 1 : width);
  const u64 limit = !sign ? most : is_signed ? most + 1 : 0;  // of the magnitude
  FloatInteger integer{0, 0, true};
  if (!float_is_infinite(a)) {
    integer = float_round_to_integer(float_unpack(a), static_cast<i32>(fraction_bits), rounding);
  }
  if (integer.overflow || integer.magnitude > limit) {
    integer = {limit, 0, true};
    flags |= kInvalid;
  }
  if (integer.rest != 0) flags |= kInexact;
  return {(sign ? 0 - integer.magnitude : integer.magnitude) & low_ones(width), flags};
}

// What is to be added to a whole part that was cut off toward zero, with `rest` (of the number's sign) left over.
template <class V>
KVRM_INLINE i32 float_correction(V rest, bool odd, Rounding rounding) {
  constexpr V kHalf = V{0.5};
  switch (rounding) {
    case Rounding::kNearest:
      return (rest > kHalf || (rest == kHalf && odd)) - (rest < -kHalf || (rest == -kHalf && odd));
    case Rounding::kAway: return (rest >= kHalf) - (rest <= -kHalf);
    case Rounding::kUp: return rest > 0;
    case Rounding::kDown: return -(rest < 0);
    default: return 0;
  }
}

template <class T>
KVRM_INLINE FloatResult<u64> float_to_int(T a, Rounding rounding, u32 fraction_bits, bool is_signed, u32 width,
                                          u32 mode) {
  count_float_operation();
  if constexpr (sizeof(T) != 2) {
    // Hardware rounds numbers below 2^63 toward zero, and the remainder is exact.
    if (fraction_bits == 0 && !(mode & kFlush) && KVRM_LIKELY(float_exponent(a) < kBias<T> + 63)) {
      const i64 whole = static_cast<i64>(to_hardware(a));
      const Hardware<T> rest = to_hardware(a) - static_cast<Hardware<T>>(whole);
      const i64 integer = whole + float_correction(rest, whole & 1, rounding);
      const u64 bits = static_cast<u64>(integer);
      const bool fits = is_signed ? static_cast<i64>(sign_extend(bits, width)) == integer : bits <= low_ones(width - 1);
      if (KVRM_LIKELY(fits)) return {bits & low_ones(width), rest == 0 ? 0 : kInexact};
    }
  }
  return float_to_int_cold(a, rounding, fraction_bits, is_signed, width, mode);
}

// FixedToFP().
template <class T>
KVRM_COLD FloatResult<T> int_to_float_cold(u64 value, bool is_signed, u32 fraction_bits, u32 mode) {
  count_float_cold();
  if (value == 0) return {0, 0};
  const bool sign = is_signed && value >> 63;
  const u64 magnitude = sign ? 0 - value : value;
  const u32 zeros = count_leading_zeros(magnitude);
  return float_round<T>({magnitude << zeros, 63 - static_cast<i32>(zeros + fraction_bits), sign}, mode);
}

template <class T>
KVRM_INLINE FloatResult<T> int_to_float(u64 value, bool is_signed, u32 fraction_bits, u32 mode) {
  count_float_operation();
  if constexpr (sizeof(T) != 2) {
    // Small integers are exact in every mode.
    constexpr u64 kLimit = u64{1} << kFractionBits<T>;
    const bool small = value + kLimit < 2 * kLimit;
    const bool one_sign = is_signed || !(value >> 63);
    if (fraction_bits == 0 && one_sign && (KVRM_LIKELY(small) || float_hardware_serves(mode))) {
      return {from_hardware(static_cast<Hardware<T>>(static_cast<i64>(value))), 0};
    }
  }
  return int_to_float_cold<T>(value, is_signed, fraction_bits, mode);
}

// FPRoundInt().
template <class T>
KVRM_COLD FloatResult<T> float_round_to_integral_cold(T a, Rounding rounding, bool exact, u32 mode) {
  count_float_cold();
  u32 flags = 0;
  a = float_flush_input(a, mode, flags);
  if (float_is_nan(a)) return with_flags(float_process_nan(a, mode), flags);
  if (float_is_zero(a) || float_exponent(a) >= kBias<T> + static_cast<i32>(kFractionBits<T>)) return {a, flags};
  const FloatInteger integer = float_round_to_integer(float_unpack(a), 0, rounding);
  if (exact && integer.rest != 0) flags |= kInexact;
  if (integer.magnitude == 0) return {static_cast<T>(a & kSignBit<T>), flags};
  const u32 zeros = count_leading_zeros(integer.magnitude);
  const FloatParts rounded{integer.magnitude << zeros, 63 - static_cast<i32>(zeros), float_sign(a)};
  return with_flags(float_round<T>(rounded, Rounding::kZero, false), flags);
}

template <class T>
KVRM_INLINE FloatResult<T> float_round_to_integral(T a, Rounding rounding, bool exact, u32 mode) {
  count_float_operation();
  if constexpr (sizeof(T) != 2) {
    // Below 2^(fraction bits) the whole part is an integer that hardware converts exactly, and so is the difference;
    // a result of zero keeps the sign. Above, numbers are whole.
    constexpr i32 kWhole = kBias<T> + static_cast<i32>(kFractionBits<T>);
    if (!(mode & kFlush) && KVRM_LIKELY(float_exponent(a) < kWhole)) {
      const i64 whole = static_cast<i64>(to_hardware(a));
      const Hardware<T> rest = to_hardware(a) - static_cast<Hardware<T>>(whole);
      const i64 integer = whole + float_correction(rest, whole & 1, rounding);
      const T bits = from_hardware(static_cast<Hardware<T>>(integer));
      return {static_cast<T>(bits | (a & kSignBit<T>)), exact && rest != 0 ? kInexact : 0};
    }
  }
  return float_round_to_integral_cold(a, rounding, exact, mode);
}

// FPConvert(). Of halves, neither FZ16 nor FZ applies, and the alternative format knows no infinity and no NaN.
template <class To, class From>
KVRM_COLD FloatResult<To> float_convert_cold(From a, Rounding rounding, u32 mode) {
  count_float_cold();
  const bool from_alternative = sizeof(From) == 2 && (mode & kAlternativeHalf);
  const bool to_alternative = sizeof(To) == 2 && (mode & kAlternativeHalf);
  u32 flags = 0;
  if (sizeof(From) != 2) a = float_flush_input(a, mode, flags);
  const To sign = float_signed_zero<To>(float_sign(a));
  if (!from_alternative && float_is_nan(a)) {
    if (to_alternative) return {sign, flags | kInvalid};
    if (float_is_signalling(a)) flags |= kInvalid;
    const u64 payload = u64{static_cast<From>(a & kFractionMask<From>)} << (63 - kFractionBits<From>);
    const To quieted = static_cast<To>(sign | kNan<To> | static_cast<To>(payload >> (63 - kFractionBits<To>)));
    return {mode & kDefaultNan ? kNan<To> : quieted, flags};
  }
  if (!from_alternative && float_is_infinite(a)) {
    if (to_alternative) return {static_cast<To>(sign | (kSignBit<To> - 1)), flags | kInvalid};
    return {static_cast<To>(sign | kInfinity<To>), flags};
  }
  if (float_is_zero(a)) return {sign, flags};
  const bool flush = sizeof(To) != 2 && (mode & kFlush);
  return with_flags(float_round<To>(float_unpack(a), rounding, flush, to_alternative), flags);
}

template <class To, class From>
KVRM_INLINE FloatResult<To> float_convert(From a, Rounding rounding, u32 mode) {
  count_float_operation();
  return float_convert_cold<To>(a, rounding, mode);
}

template <class To, class From>
KVRM_INLINE FloatResult<To> float_convert(From a, u32 mode) {
  count_float_operation();
  static_assert(!__is_same(To, From));
  if constexpr (sizeof(From) == 4 && sizeof(To) == 8) {
    // A normal single is a double in every mode.
    const bool normal = static_cast<u32>(float_exponent(a) - 1) < static_cast<u32>(kExponentMax<From> - 1);
    if (KVRM_LIKELY(normal || float_is_zero(a))) return {from_hardware(static_cast<double>(to_hardware(a))), 0};
  } else if constexpr (sizeof(From) == 8 && sizeof(To) == 4) {
    // Widening the result again tells whether it is exact.
    const float narrowed = static_cast<float>(to_hardware(a));
    if (KVRM_LIKELY(!(mode & (kRoundingMask | kFlush)) && float_is_safely_normal(from_hardware(narrowed)))) {
      return {from_hardware(narrowed), static_cast<double>(narrowed) == to_hardware(a) ? 0 : kInexact};
    }
    if (float_is_zero(a)) return {from_hardware(narrowed), 0};
  } else if constexpr (sizeof(From) == 2) {
    const bool normal = static_cast<u32>(float_exponent(a) - 1) < static_cast<u32>(kExponentMax<From> - 1);
    if (KVRM_LIKELY(normal)) {
      constexpr To kRebias = static_cast<To>(static_cast<To>(kBias<To> - kBias<From>) << kFractionBits<To>);
      const To moved = static_cast<To>(static_cast<To>(float_abs(a)) << (kFractionBits<To> - kFractionBits<From>));
      return {static_cast<To>(float_signed_zero<To>(float_sign(a)) | (moved + kRebias)), 0};
    }
  }
  return float_convert_cold<To>(a, rounding_of(mode), mode);
}

}  // namespace kvrm::semantics
