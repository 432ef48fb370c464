// Add, subtract, multiply, divide, square root and fused multiply-add: hardware where it serves, software elsewhere.
#pragma once

#include "semantics/float_cold.h"
#include "semantics/float_count.h"
#include "semantics/float_hardware.h"

namespace kvrm::semantics {

template <class T>
KVRM_INLINE FloatResult<T> float_add(T a, T b, u32 mode) {
  count_float_operation();
  if constexpr (sizeof(T) != 2) {
    if (float_hardware_serves(mode)) {
      const T sum = from_hardware(to_hardware(a) + to_hardware(b));
      if (KVRM_LIKELY(float_is_finite(sum))) return {sum, 0};
    }
  }
  return float_add_cold(a, b, false, mode);
}

template <class T>
KVRM_INLINE FloatResult<T> float_sub(T a, T b, u32 mode) {
  count_float_operation();
  if constexpr (sizeof(T) != 2) {
    if (float_hardware_serves(mode)) {
      const T difference = from_hardware(to_hardware(a) - to_hardware(b));
      if (KVRM_LIKELY(float_is_finite(difference))) return {difference, 0};
    }
  }
  return float_add_cold(a, b, true, mode);
}

template <class T>
KVRM_INLINE FloatResult<T> float_product_of(T a, T b, bool extended, u32 mode) {
  count_float_operation();
  if constexpr (sizeof(T) != 2) {
    if (float_hardware_serves(mode)) {
      const T product = from_hardware(to_hardware(a) * to_hardware(b));
      if (KVRM_LIKELY(float_is_safely_normal(product))) return {product, 0};
      if (float_is_zero(product) && (float_is_zero(a) || float_is_zero(b))) return {product, 0};
    }
  }
  return float_mul_cold(a, b, extended, mode);
}

template <class T>
KVRM_INLINE FloatResult<T> float_mul(T a, T b, u32 mode) {
  return float_product_of(a, b, false, mode);
}

template <class T>
KVRM_INLINE FloatResult<T> float_mulx(T a, T b, u32 mode) {
  return float_product_of(a, b, true, mode);
}

template <class T>
KVRM_INLINE FloatResult<T> float_div(T a, T b, u32 mode) {
  count_float_operation();
  if constexpr (sizeof(T) != 2) {
    if (float_hardware_serves(mode)) {
      const T quotient = from_hardware(to_hardware(a) / to_hardware(b));
      if (KVRM_LIKELY(float_is_safely_normal(quotient))) return {quotient, 0};
      if (float_is_zero(quotient) && float_is_zero(a)) return {quotient, 0};
    }
  }
  return float_div_cold(a, b, mode);
}

template <class T>
KVRM_INLINE FloatResult<T> float_sqrt(T a, u32 mode) {
  count_float_operation();
  if constexpr (sizeof(T) != 2) {
    if (float_hardware_serves(mode) && a < kInfinity<T>) return {from_hardware(hardware_sqrt(to_hardware(a))), 0};
  }
  return float_sqrt_cold(a, mode);
}

template <class T>
KVRM_INLINE FloatResult<T> float_fma(T addend, T a, T b, u32 mode) {
  count_float_operation();
  if constexpr (sizeof(T) != 2) {
    if (float_hardware_serves(mode) && KVRM_LIKELY(has_hardware_fma())) {
      const T sum = from_hardware(hardware_fma(to_hardware(a), to_hardware(b), to_hardware(addend)));
      if (KVRM_LIKELY(float_is_safely_normal(sum))) return {sum, 0};
      if (float_is_zero(sum) && (float_is_zero(a) || float_is_zero(b))) return {sum, 0};
    }
  }
  return float_fma_cold(addend, a, b, mode);
}

template <class T>
KVRM_INLINE FloatResult<T> float_recip_step(T a, T b, u32 mode) {
  count_float_operation();
  if constexpr (sizeof(T) != 2) {
    if (float_hardware_serves(mode) && KVRM_LIKELY(has_hardware_fma())) {
      const T sum = from_hardware(hardware_fma(-to_hardware(a), to_hardware(b), Hardware<T>{2}));
      if (KVRM_LIKELY(float_is_safely_normal(sum))) return {sum, 0};
    }
  }
  return float_step_cold(a, b, false, mode);
}

template <class T>
KVRM_INLINE FloatResult<T> float_rsqrt_step(T a, T b, u32 mode) {
  count_float_operation();
  if constexpr (sizeof(T) != 2) {
    if (float_hardware_serves(mode) && KVRM_LIKELY(has_hardware_fma())) {
      const Hardware<T> sum = hardware_fma(-to_hardware(a), to_hardware(b), Hardware<T>{3});
      const T half = from_hardware(sum * Hardware<T>{0.5});  // exact where the result is normal
      if (KVRM_LIKELY(float_is_safely_normal(half))) return {half, 0};
    }
  }
  return float_step_cold(a, b, true, mode);
}

}  // namespace kvrm::semantics
