// Comparison, minimum and maximum.
#pragma once

#include "semantics/float_count.h"
#include "semantics/float_format.h"
#include "semantics/float_hardware.h"
#include "semantics/float_round.h"

namespace kvrm::semantics {

// Whether a comparison can compare the bits as they are: no NaN and nothing to flush.
template <class T>
KVRM_INLINE bool float_is_plainly_ordered(T a, T b, u32 mode) {
  return KVRM_LIKELY(!(mode & kFlushOf<T>)) && !float_is_nan(a) && !float_is_nan(b);
}

// Signed integers in the order of the numbers, -0 just below +0.
template <class T>
KVRM_INLINE Signed<T> float_order_key(T a) {
  return static_cast<Signed<T>>(float_sign(a) ? static_cast<T>(a ^ static_cast<T>(~kSignBit<T>)) : a);
}

template <class T>
KVRM_INLINE T float_larger(T a, T b) {
  return float_order_key(a) > float_order_key(b) ? a : b;
}
template <class T>
KVRM_INLINE T float_smaller(T a, T b) {
  return float_order_key(a) < float_order_key(b) ? a : b;
}

// number: a quiet NaN gives way to a number (FMAXNM, FMINNM): the infinity that never wins stands in for it.
template <class T>
KVRM_COLD FloatResult<T> float_max_min_cold(T a, T b, bool larger, bool number, u32 mode) {
  count_float_cold();
  u32 flags = 0;
  a = float_flush_input(a, mode, flags);
  b = float_flush_input(b, mode, flags);
  const bool a_quiet = float_is_nan(a) && !float_is_signalling(a);
  const bool b_quiet = float_is_nan(b) && !float_is_signalling(b);
  if (number && a_quiet && !b_quiet) a = float_signed_infinity<T>(larger);
  if (number && b_quiet && !a_quiet) b = float_signed_infinity<T>(larger);
  if (float_is_nan(a) || float_is_nan(b)) return with_flags(float_process_nans(a, b, mode), flags);
  return {larger ? float_larger(a, b) : float_smaller(a, b), flags};
}

template <class T>
KVRM_INLINE FloatResult<T> float_max(T a, T b, u32 mode) {
  count_float_operation();
  if (float_is_plainly_ordered(a, b, mode)) return {float_larger(a, b), 0};
  return float_max_min_cold(a, b, true, false, mode);
}

template <class T>
KVRM_INLINE FloatResult<T> float_min(T a, T b, u32 mode) {
  count_float_operation();
  if (float_is_plainly_ordered(a, b, mode)) return {float_smaller(a, b), 0};
  return float_max_min_cold(a, b, false, false, mode);
}

template <class T>
KVRM_INLINE FloatResult<T> float_max_num(T a, T b, u32 mode) {
  count_float_operation();
  if (float_is_plainly_ordered(a, b, mode)) return {float_larger(a, b), 0};
  return float_max_min_cold(a, b, true, true, mode);
}

template <class T>
KVRM_INLINE FloatResult<T> float_min_num(T a, T b, u32 mode) {
  count_float_operation();
  if (float_is_plainly_ordered(a, b, mode)) return {float_smaller(a, b), 0};
  return float_max_min_cold(a, b, false, true, mode);
}

// The order of two numbers as nzcv: less N, equal ZC, greater C, unordered CV. Hardware compares them where it can: its
// answer has no rounding and no mode but the flushing of denormals.
inline constexpr u8 kFloatLess = 8, kFloatEqual = 6, kFloatGreater = 2, kFloatUnordered = 3;

// Whether neither is a NaN, and the mode changes neither.
template <class T>
KVRM_INLINE bool float_is_comparable(T a, T b, u32 mode) {
  bool ordered = false;
  if constexpr (sizeof(T) == 2) {
    ordered = !float_is_nan(a) && !float_is_nan(b);
  } else {
    ordered = !__builtin_isunordered(to_hardware(a), to_hardware(b));
  }
  return ordered && !(mode & kFlushOf<T>);
}

// The two that say all of ordered numbers. Written so that the host's one compare answers both, and whether they are
// ordered.
template <class T>
KVRM_INLINE bool float_is_less(T a, T b) {
  if constexpr (sizeof(T) == 2) {
    return float_order_key(a) < float_order_key(b) && !(float_is_zero(a) && float_is_zero(b));
  } else {
    return !(to_hardware(a) >= to_hardware(b));
  }
}
template <class T>
KVRM_INLINE bool float_is_same(T a, T b) {
  if constexpr (sizeof(T) == 2) {
    return a == b || (float_is_zero(a) && float_is_zero(b));
  } else {
    return !(to_hardware(a) < to_hardware(b) || to_hardware(a) > to_hardware(b));
  }
}

template <class T>
KVRM_INLINE u8 float_order(T a, T b) {
  const bool less = float_is_less(a, b);
  return static_cast<u8>(u32{less} << 3 | u32{float_is_same(a, b)} << 2 | u32{!less} << 1);
}

template <class T>
KVRM_COLD FloatOrder float_compare_cold(T a, T b, bool signal_quiet, u32 mode) {
  count_float_cold();
  u32 flags = 0;
  a = float_flush_input(a, mode, flags);
  b = float_flush_input(b, mode, flags);
  if (float_is_nan(a) || float_is_nan(b)) {
    const bool invalid = signal_quiet || float_is_signalling(a) || float_is_signalling(b);
    return {kFloatUnordered, invalid ? flags | kInvalid : flags};
  }
  return {float_order(a, b), flags};
}

template <class T>
KVRM_INLINE FloatOrder float_compare(T a, T b, bool signal_quiet, u32 mode) {
  count_float_operation();
  if (KVRM_LIKELY(float_is_comparable(a, b, mode))) return {float_order(a, b), 0};
  return float_compare_cold(a, b, signal_quiet, mode);
}

template <class T>
KVRM_INLINE FloatTest float_equal(T a, T b, u32 mode) {
  const FloatOrder order = float_compare(a, b, false, mode);
  return {order.nzcv == kFloatEqual, order.flags};
}

template <class T>
KVRM_INLINE FloatTest float_greater_equal(T a, T b, u32 mode) {
  const FloatOrder order = float_compare(a, b, true, mode);
  return {order.nzcv == kFloatEqual || order.nzcv == kFloatGreater, order.flags};
}

template <class T>
KVRM_INLINE FloatTest float_greater(T a, T b, u32 mode) {
  const FloatOrder order = float_compare(a, b, true, mode);
  return {order.nzcv == kFloatGreater, order.flags};
}

template <class T>
KVRM_INLINE FloatTest float_abs_greater_equal(T a, T b, u32 mode) {
  return float_greater_equal(float_abs(a), float_abs(b), mode);
}

template <class T>
KVRM_INLINE FloatTest float_abs_greater(T a, T b, u32 mode) {
  return float_greater(float_abs(a), float_abs(b), mode);
}

}  // namespace kvrm::semantics
