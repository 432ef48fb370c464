// Reciprocal and reciprocal square root estimates (eight bits of fraction) and the reciprocal exponent.
#pragma once

#include "semantics/float_count.h"
#include "semantics/float_round.h"
#include "semantics/unsigned_estimate.h"

namespace kvrm::semantics {

// FPRecipEstimate().
template <class T>
KVRM_COLD FloatResult<T> float_recip_estimate_cold(T a, u32 mode) {
  count_float_cold();
  u32 flags = 0;
  a = float_flush_input(a, mode, flags);
  if (float_is_nan(a)) return with_flags(float_process_nan(a, mode), flags);
  const bool sign = float_sign(a);
  const T zero = float_signed_zero<T>(sign);
  if (float_is_infinite(a)) return {zero, flags};
  if (float_is_zero(a)) return {float_signed_infinity<T>(sign), flags | kDivideByZero};
  const FloatParts x = float_unpack(a);
  if (x.exponent < -kBias<T> - 1) return with_flags(float_overflow<T>(sign, rounding_of(mode)), flags);
  if (mode & kFlushOf<T> && x.exponent >= kBias<T> - 1) return {zero, flags | kUnderflow};
  const u32 estimate = recip_estimate_table(static_cast<u32>(x.significand >> 55));
  // The reciprocal is in (1/2, 1] * 2^-exponent; the two smallest results are denormal.
  const FloatParts result{u64{estimate} << 55, -1 - x.exponent, sign};
  return {float_round<T>(result, Rounding::kZero, false).bits, flags};
}

template <class T>
KVRM_INLINE FloatResult<T> float_recip_estimate(T a, u32 mode) {
  count_float_operation();
  return float_recip_estimate_cold(a, mode);
}

// FPRSqrtEstimate().
template <class T>
KVRM_COLD FloatResult<T> float_rsqrt_estimate_cold(T a, u32 mode) {
  count_float_cold();
  u32 flags = 0;
  a = float_flush_input(a, mode, flags);
  if (float_is_nan(a)) return with_flags(float_process_nan(a, mode), flags);
  if (float_is_zero(a)) return {float_signed_infinity<T>(float_sign(a)), flags | kDivideByZero};
  if (float_sign(a)) return with_flags(float_invalid<T>(), flags);
  if (float_is_infinite(a)) return {0, flags};
  const FloatParts x = float_unpack(a);
  const bool odd = x.exponent & 1;  // the bias is odd: the manual's test is on the biased exponent
  const u32 estimate = rsqrt_estimate_table(static_cast<u32>(x.significand >> (odd ? 55 : 56)));
  const i32 exponent = -1 - (x.exponent >> 1);
  return {float_round<T>({u64{estimate} << 55, exponent, false}, Rounding::kZero, false).bits, flags};
}

template <class T>
KVRM_INLINE FloatResult<T> float_rsqrt_estimate(T a, u32 mode) {
  count_float_operation();
  return float_rsqrt_estimate_cold(a, mode);
}

// FPRecpX().
template <class T>
KVRM_COLD FloatResult<T> float_recip_exponent_cold(T a, u32 mode) {
  count_float_cold();
  u32 flags = 0;
  a = float_flush_input(a, mode, flags);
  if (float_is_nan(a)) return with_flags(float_process_nan(a, mode), flags);
  const i32 exponent = float_exponent(a);
  const i32 inverted = exponent == 0 ? kExponentMax<T> - 1 : kExponentMax<T> - exponent;
  return {static_cast<T>((a & kSignBit<T>) | static_cast<T>(inverted) << kFractionBits<T>), flags};
}

template <class T>
KVRM_INLINE FloatResult<T> float_recip_exponent(T a, u32 mode) {
  count_float_operation();
  return float_recip_exponent_cold(a, mode);
}

}  // namespace kvrm::semantics
