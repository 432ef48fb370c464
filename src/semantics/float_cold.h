// Where the inline paths of float_arithmetic.h do not serve. Hardware still helps in two cases that whole programs live
// in: flushing to zero, once the operands are flushed, and a program that was exact until now, where it also tells
// whether the result is exact. Everything else is software.
#pragma once

#include "semantics/float_count.h"
#include "semantics/float_hardware.h"
#include "semantics/float_software.h"

namespace kvrm::semantics {

KVRM_INLINE bool float_rounds_to_nearest(u32 mode) { return (mode & kRoundingMask) == 0; }

// A result of about this size has an error that is itself a number of the format: no denormal, no overflow on the way.
template <class T>
KVRM_INLINE bool float_has_exact_error(T x) {
  constexpr i32 kLeast = 2 * static_cast<i32>(kFractionBits<T>) + 4;
  return static_cast<u32>(float_exponent(x) - kLeast) < static_cast<u32>(kExponentMax<T> - 4 - kLeast);
}

template <class T>
KVRM_COLD FloatResult<T> float_add_cold(T a, T b, bool subtract, u32 mode) {
  count_float_cold();
  if constexpr (sizeof(T) != 2) {
    u32 flags = 0;
    const T flushed_a = float_flush_input(a, mode, flags), flushed_b = float_flush_input(b, mode, flags);
    const Hardware<T> x = to_hardware(flushed_a);
    const Hardware<T> y = to_hardware(subtract ? float_neg(flushed_b) : flushed_b);
    const Hardware<T> sum = x + y;
    if (float_rounds_to_nearest(mode) && float_has_exact_error(from_hardware(sum)) &&
        float_exponent(a) < kExponentMax<T> - 4) {
      const Hardware<T> y_share = sum - x;  // Knuth's TwoSum: the rounding error, exactly
      const Hardware<T> error = (x - (sum - y_share)) + (y - y_share);
      return {from_hardware(sum), error != 0 ? flags | kInexact : flags};
    }
  }
  return float_add_software(a, b, subtract, mode);
}

// Whether hardware's fused multiply-add can judge a result, or no check is needed because inexact is sticky.
KVRM_INLINE bool float_can_judge(u32 mode) {
  return float_rounds_to_nearest(mode) && (mode & kInexact || has_hardware_fma());
}

// The flags of a result that hardware gave, where result * factor - whole is its error times something.
template <class V>
KVRM_INLINE u32 float_judge(V result, V factor, V whole, u32 mode) {
  if (mode & kInexact) return 0;
  return hardware_fma(result, factor, -whole) != 0 ? kInexact : 0;
}

template <class T>
KVRM_COLD FloatResult<T> float_mul_cold(T a, T b, bool extended, u32 mode) {
  count_float_cold();
  if constexpr (sizeof(T) != 2) {
    u32 flags = 0;
    const Hardware<T> x = to_hardware(float_flush_input(a, mode, flags));
    const Hardware<T> y = to_hardware(float_flush_input(b, mode, flags));
    const Hardware<T> product = x * y;
    if (float_can_judge(mode) && float_has_exact_error(from_hardware(product))) {
      return {from_hardware(product), flags | float_judge(x, y, product, mode)};
    }
  }
  return float_mul_software(a, b, extended, mode);
}

template <class T>
KVRM_COLD FloatResult<T> float_div_cold(T a, T b, u32 mode) {
  count_float_cold();
  if constexpr (sizeof(T) != 2) {
    u32 flags = 0;
    const T flushed = float_flush_input(a, mode, flags);
    const Hardware<T> x = to_hardware(flushed), y = to_hardware(float_flush_input(b, mode, flags));
    const Hardware<T> quotient = x / y;
    if (float_can_judge(mode) && float_has_exact_error(flushed) && float_has_exact_error(from_hardware(quotient))) {
      return {from_hardware(quotient), flags | float_judge(quotient, y, x, mode)};
    }
  }
  return float_div_software(a, b, mode);
}

template <class T>
KVRM_COLD FloatResult<T> float_sqrt_cold(T a, u32 mode) {
  count_float_cold();
  if constexpr (sizeof(T) != 2) {
    if (float_can_judge(mode) && float_has_exact_error(a) && !float_sign(a)) {
      const Hardware<T> root = hardware_sqrt(to_hardware(a));
      return {from_hardware(root), float_judge(root, root, to_hardware(a), mode)};
    }
  }
  return float_sqrt_software(a, mode);
}

template <class T>
KVRM_COLD FloatResult<T> float_fma_cold(T addend, T a, T b, u32 mode) {
  count_float_cold();
  if constexpr (sizeof(T) != 2) {
    if (float_rounds_to_nearest(mode) && mode & kInexact && has_hardware_fma()) {
      u32 flags = 0;
      const Hardware<T> x = to_hardware(float_flush_input(a, mode, flags));
      const Hardware<T> y = to_hardware(float_flush_input(b, mode, flags));
      const Hardware<T> z = to_hardware(float_flush_input(addend, mode, flags));
      const T sum = from_hardware(hardware_fma(x, y, z));
      if (float_is_safely_normal(sum)) return {sum, flags};
    }
  }
  return float_fma_software(addend, a, b, mode);
}

template <class T>
KVRM_COLD FloatResult<T> float_step_cold(T a, T b, bool halve, u32 mode) {
  count_float_cold();
  return float_step_software(a, b, halve, mode);
}

}  // namespace kvrm::semantics
