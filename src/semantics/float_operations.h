// The floating-point operations on one element, as objects that the lifting of float_vector.h takes: called with an
// element of each operand and the mode. T is the element's format, so one object serves all sizes.
#pragma once

#include "semantics/float.h"

namespace kvrm::semantics {

struct FloatAdd {
  template <class T>
  KVRM_INLINE FloatResult<T> operator()(T n, T m, u32 mode) const {
    return float_add(n, m, mode);
  }
  // Of all elements at once; float_vector.h checks the results.
  static constexpr HardwareServes kServes = HardwareServes::kFinite;
  template <class V>
  static KVRM_INLINE V together(V n, V m) {
    return n + m;
  }
};

struct FloatSub {
  template <class T>
  KVRM_INLINE FloatResult<T> operator()(T n, T m, u32 mode) const {
    return float_sub(n, m, mode);
  }
  static constexpr HardwareServes kServes = HardwareServes::kFinite;
  template <class V>
  static KVRM_INLINE V together(V n, V m) {
    return n - m;
  }
};

struct FloatMul {
  template <class T>
  KVRM_INLINE FloatResult<T> operator()(T n, T m, u32 mode) const {
    return float_mul(n, m, mode);
  }
  static constexpr HardwareServes kServes = HardwareServes::kSafelyNormal;
  template <class V>
  static KVRM_INLINE V together(V n, V m) {
    return n * m;
  }
};

struct FloatDiv {
  template <class T>
  KVRM_INLINE FloatResult<T> operator()(T n, T m, u32 mode) const {
    return float_div(n, m, mode);
  }
  static constexpr HardwareServes kServes = HardwareServes::kSafelyNormal;
  template <class V>
  static KVRM_INLINE V together(V n, V m) {
    return n / m;
  }
};

struct FloatMulExtended {
  template <class T>
  KVRM_INLINE FloatResult<T> operator()(T n, T m, u32 mode) const {
    return float_mulx(n, m, mode);
  }
};

struct FloatMax {
  template <class T>
  KVRM_INLINE FloatResult<T> operator()(T n, T m, u32 mode) const {
    return float_max(n, m, mode);
  }
};

struct FloatMin {
  template <class T>
  KVRM_INLINE FloatResult<T> operator()(T n, T m, u32 mode) const {
    return float_min(n, m, mode);
  }
};

struct FloatMaxNum {
  template <class T>
  KVRM_INLINE FloatResult<T> operator()(T n, T m, u32 mode) const {
    return float_max_num(n, m, mode);
  }
};

struct FloatMinNum {
  template <class T>
  KVRM_INLINE FloatResult<T> operator()(T n, T m, u32 mode) const {
    return float_min_num(n, m, mode);
  }
};

struct FloatRecipStep {
  template <class T>
  KVRM_INLINE FloatResult<T> operator()(T n, T m, u32 mode) const {
    return float_recip_step(n, m, mode);
  }
};

struct FloatRsqrtStep {
  template <class T>
  KVRM_INLINE FloatResult<T> operator()(T n, T m, u32 mode) const {
    return float_rsqrt_step(n, m, mode);
  }
};

// FABD: the difference without its sign, a NaN's included.
struct FloatAbsDifference {
  template <class T>
  KVRM_INLINE FloatResult<T> operator()(T n, T m, u32 mode) const {
    const FloatResult<T> difference = float_sub(n, m, mode);
    return {float_abs(difference.bits), difference.flags};
  }
};

// d + n * m and d - n * m, rounded once.
struct FloatMulAdd {
  template <class T>
  KVRM_INLINE FloatResult<T> operator()(T d, T n, T m, u32 mode) const {
    return float_fma(d, n, m, mode);
  }
#if KVRM_HARDWARE_FMA
  static constexpr HardwareServes kServes = HardwareServes::kSafelyNormal;
  template <class V>
  static KVRM_INLINE V together(V d, V n, V m) {
    return __builtin_elementwise_fma(n, m, d);
  }
#endif
};

struct FloatMulSub {
  template <class T>
  KVRM_INLINE FloatResult<T> operator()(T d, T n, T m, u32 mode) const {
    return float_fma(d, float_neg(n), m, mode);
  }
#if KVRM_HARDWARE_FMA
  static constexpr HardwareServes kServes = HardwareServes::kSafelyNormal;
  template <class V>
  static KVRM_INLINE V together(V d, V n, V m) {
    return __builtin_elementwise_fma(-n, m, d);
  }
#endif
};

// A comparison's result: all ones or all zeros.
template <class T>
KVRM_INLINE FloatResult<T> float_mask(const FloatTest& test) {
  return {test.holds ? static_cast<T>(~T{0}) : T{0}, test.flags};
}

struct FloatEqual {
  template <class T>
  KVRM_INLINE FloatResult<T> operator()(T n, T m, u32 mode) const {
    return float_mask<T>(float_equal(n, m, mode));
  }
};

struct FloatGreaterEqual {
  template <class T>
  KVRM_INLINE FloatResult<T> operator()(T n, T m, u32 mode) const {
    return float_mask<T>(float_greater_equal(n, m, mode));
  }
};

struct FloatGreater {
  template <class T>
  KVRM_INLINE FloatResult<T> operator()(T n, T m, u32 mode) const {
    return float_mask<T>(float_greater(n, m, mode));
  }
};

struct FloatAbsGreaterEqual {
  template <class T>
  KVRM_INLINE FloatResult<T> operator()(T n, T m, u32 mode) const {
    return float_mask<T>(float_abs_greater_equal(n, m, mode));
  }
};

struct FloatAbsGreater {
  template <class T>
  KVRM_INLINE FloatResult<T> operator()(T n, T m, u32 mode) const {
    return float_mask<T>(float_abs_greater(n, m, mode));
  }
};

struct FloatSqrt {
  template <class T>
  KVRM_INLINE FloatResult<T> operator()(T n, u32 mode) const {
    return float_sqrt(n, mode);
  }
};

struct FloatRecipEstimate {
  template <class T>
  KVRM_INLINE FloatResult<T> operator()(T n, u32 mode) const {
    return float_recip_estimate(n, mode);
  }
};

struct FloatRsqrtEstimate {
  template <class T>
  KVRM_INLINE FloatResult<T> operator()(T n, u32 mode) const {
    return float_rsqrt_estimate(n, mode);
  }
};

struct FloatRecipExponent {
  template <class T>
  KVRM_INLINE FloatResult<T> operator()(T n, u32 mode) const {
    return float_recip_exponent(n, mode);
  }
};

// FRINT*; exact reports inexact.
struct FloatRoundIntegral {
  Rounding rounding;
  bool exact = false;

  template <class T>
  KVRM_INLINE FloatResult<T> operator()(T n, u32 mode) const {
    return float_round_to_integral(n, rounding, exact, mode);
  }
};

// To an integer of the element's width with so many fraction bits, saturating.
struct FloatToInteger {
  Rounding rounding;
  bool is_signed;
  u32 fraction_bits = 0;

  template <class T>
  KVRM_INLINE FloatResult<T> operator()(T n, u32 mode) const {
    const FloatResult<u64> result = float_to_int(n, rounding, fraction_bits, is_signed, kBits<T>, mode);
    return {static_cast<T>(result.bits), result.flags};
  }
};

// From an integer of the element's width.
struct IntegerToFloat {
  bool is_signed;
  u32 fraction_bits = 0;

  template <class T>
  KVRM_INLINE FloatResult<T> operator()(T n, u32 mode) const {
    const u64 value = is_signed ? sign_extend(n, kBits<T>) : u64{n};
    return int_to_float<T>(value, is_signed, fraction_bits, mode);
  }
};

}  // namespace kvrm::semantics
