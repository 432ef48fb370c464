// The parts every software operation shares: taking a number apart, the NaN rules, and rounding to a format.
#pragma once

#include "semantics/float_format.h"

namespace kvrm::semantics {

__extension__ typedef unsigned __int128 FloatWide;  // 128 bits, for products

// A finite number other than zero: +-significand * 2^(exponent - 63), the significand's top bit set. A number wider
// than 64 bits keeps the fact that something was cut off in its lowest bit, which no format reaches.
struct FloatParts {
  u64 significand;
  i32 exponent;
  bool sign;
};

template <class T>
KVRM_INLINE FloatParts float_unpack(T a) {
  const u64 fraction = u64{static_cast<T>(a & kFractionMask<T>)} << (63 - kFractionBits<T>);
  const i32 exponent = float_exponent(a);
  if (exponent != 0) return {fraction | u64{1} << 63, exponent - kBias<T>, float_sign(a)};
  const u32 zeros = count_leading_zeros(fraction);
  return {fraction << zeros, 1 - kBias<T> - static_cast<i32>(zeros), float_sign(a)};
}

// FPUnpack()'s flushing: a denormal is a zero where the mode says so.
template <class T>
KVRM_INLINE T float_flush_input(T a, u32 mode, u32& flags) {
  if (!(mode & kFlushOf<T>) || !float_is_denormal(a)) return a;
  flags |= kFlushedInputFlag<T>;
  return static_cast<T>(a & kSignBit<T>);
}

// FPProcessNaN(): a is a NaN.
template <class T>
KVRM_INLINE FloatResult<T> float_process_nan(T a, u32 mode) {
  const u32 flags = float_is_signalling(a) ? kInvalid : 0;
  return {mode & kDefaultNan ? kNan<T> : static_cast<T>(a | kQuietBit<T>), flags};
}

// FPProcessNaNs(): one of them is a NaN. Signalling ones come first, then the order of the operands.
template <class T>
KVRM_INLINE FloatResult<T> float_process_nans(T a, T b, u32 mode) {
  const bool second = float_is_signalling(a) ? false : float_is_signalling(b) ? true : !float_is_nan(a);
  return float_process_nan(second ? b : a, mode);
}

template <class T>
KVRM_INLINE FloatResult<T> float_process_nans(T a, T b, T c, u32 mode) {
  const bool from_rest = float_is_signalling(a)                             ? false
                         : float_is_signalling(b) || float_is_signalling(c) ? true
                                                                            : !float_is_nan(a);
  return from_rest ? float_process_nans(b, c, mode) : float_process_nan(a, mode);
}

template <class T>
KVRM_INLINE FloatResult<T> float_invalid() {
  return {kNan<T>, kInvalid};
}

template <class T>
KVRM_INLINE FloatResult<T> with_flags(FloatResult<T> result, u32 flags) {
  return {result.bits, result.flags | flags};
}

// Shifts right; what falls off stays visible in the lowest bit.
KVRM_INLINE u64 shift_right_sticky(u64 value, u32 amount) {
  if (amount == 0) return value;
  if (amount >= 64) return value != 0;
  return value >> amount | (value << (64 - amount) != 0);
}

KVRM_INLINE FloatWide shift_right_sticky(FloatWide value, u32 amount) {
  if (amount == 0) return value;
  if (amount >= 128) return value != 0;
  return value >> amount | (value << (128 - amount) != 0);
}

KVRM_INLINE u64 narrow_sticky(FloatWide value) {
  return static_cast<u64>(value >> 64) | (static_cast<u64>(value) != 0);
}

// Whether a magnitude is rounded up: odd is its lowest bit, rest what follows it, with half a unit at the top bit.
KVRM_INLINE bool float_rounds_up(Rounding rounding, bool sign, bool odd, u64 rest) {
  constexpr u64 kHalf = u64{1} << 63;
  switch (rounding) {
    case Rounding::kNearest: return rest > kHalf || (rest == kHalf && odd);
    case Rounding::kUp: return rest != 0 && !sign;
    case Rounding::kDown: return rest != 0 && sign;
    case Rounding::kAway: return rest >= kHalf;
    case Rounding::kOdd: return rest != 0 && !odd;
    default: return false;
  }
}

KVRM_INLINE bool float_overflows_to_infinity(Rounding rounding, bool sign) {
  return rounding == Rounding::kNearest || rounding == Rounding::kAway ||
         rounding == (sign ? Rounding::kDown : Rounding::kUp);
}

template <class T>
KVRM_INLINE FloatResult<T> float_overflow(bool sign, Rounding rounding) {
  const T infinity = float_signed_infinity<T>(sign);
  return {float_overflows_to_infinity(rounding, sign) ? infinity : static_cast<T>(infinity - 1), kOverflow | kInexact};
}

// FPRoundBase(). Tininess is detected before rounding. `alternative`: Arm's own half format, which has no infinities.
template <class T>
KVRM_INLINE FloatResult<T> float_round(const FloatParts& x, Rounding rounding, bool flush, bool alternative = false) {
  constexpr u32 kDropped = 63 - kFractionBits<T>;
  const T sign = float_signed_zero<T>(x.sign);
  const i32 biased = x.exponent + kBias<T>;
  const bool tiny = biased < 1;
  if (tiny && flush) return {sign, kUnderflow};
  const i32 limit = kExponentMax<T> + (alternative ? 1 : 0);
  if (biased < limit) {
    const u64 significand = tiny ? shift_right_sticky(x.significand, static_cast<u32>(1 - biased)) : x.significand;
    const u64 kept = significand >> kDropped;
    const u64 rest = significand << (64 - kDropped);
    // A normal number's leading one adds one to the exponent field; a carry out of the fraction does so too.
    const u64 field = tiny ? 0 : static_cast<u64>(biased - 1) << kFractionBits<T>;
    const u64 magnitude = field + kept + float_rounds_up(rounding, x.sign, kept & 1, rest);
    const u32 flags = rest == 0 ? 0 : tiny ? kUnderflow | kInexact : kInexact;
    if (magnitude < static_cast<u64>(limit) << kFractionBits<T>) return {static_cast<T>(sign | magnitude), flags};
  }
  if (alternative) return {static_cast<T>(sign | (kSignBit<T> - 1)), kInvalid};
  return float_overflow<T>(x.sign, rounding);
}

// FPRound() by the mode.
template <class T>
KVRM_INLINE FloatResult<T> float_round(const FloatParts& x, u32 mode) {
  return float_round<T>(x, rounding_of(mode), mode & kFlushOf<T>);
}

}  // namespace kvrm::semantics
