// Element operations that saturate. Each gives its value and whether it saturated; an instruction gathers that over its
// elements and sets FPSR.QC once.
#pragma once

#include "base/cpu.h"
#include "semantics/element_operations.h"

namespace kvrm::semantics {

inline constexpr u32 kQcBit = 27;

KVRM_INLINE void set_saturation(Cpu& cpu, bool saturated) { cpu.fpsr |= static_cast<u32>(saturated) << kQcBit; }

template <class E>
struct Saturated {
  E value;
  bool saturated;
};

template <class E>
inline constexpr E kSignedMaximum = static_cast<E>(static_cast<E>(~E{0}) >> 1);
template <class E>
inline constexpr E kSignedMinimum = static_cast<E>(kSignedMaximum<E> + 1);

template <class E>
KVRM_INLINE bool is_negative(E value) {
  return signed_less(value, E{0});
}
// The signed bound on the side of value's sign.
template <class E>
KVRM_INLINE E signed_bound(E value) {
  return static_cast<E>(shift_near_right<true>(value, kBits<E> - 1) ^ kSignedMaximum<E>);
}

// --- sums ---

template <bool kSigned, class E>
KVRM_INLINE Saturated<E> saturating_add(E a, E b) {
  const E sum = add(a, b);
  if constexpr (kSigned) {
    const bool overflow = is_negative(static_cast<E>((a ^ sum) & (b ^ sum)));
    return {overflow ? signed_bound(a) : sum, overflow};
  } else {
    return {sum < a ? static_cast<E>(~E{0}) : sum, sum < a};
  }
}

template <bool kSigned, class E>
KVRM_INLINE Saturated<E> saturating_subtract(E a, E b) {
  const E difference = subtract(a, b);
  if constexpr (kSigned) {
    const bool overflow = is_negative(static_cast<E>((a ^ b) & (a ^ difference)));
    return {overflow ? signed_bound(a) : difference, overflow};
  } else {
    return {a < b ? E{0} : difference, a < b};
  }
}

// SUQADD: an unsigned value onto a signed one. Only the upper bound can be passed; the wrapped sum is then below.
template <class E>
KVRM_INLINE Saturated<E> saturating_add_unsigned_to_signed(E accumulator, E value) {
  const E sum = add(accumulator, value);
  const bool overflow = signed_less(sum, accumulator);
  return {overflow ? kSignedMaximum<E> : sum, overflow};
}

// USQADD: a signed value onto an unsigned one.
template <class E>
KVRM_INLINE Saturated<E> saturating_add_signed_to_unsigned(E accumulator, E value) {
  const E sum = add(accumulator, value);
  const bool overflow = is_negative(value) ? sum > accumulator : sum < accumulator;
  const E bound = is_negative(value) ? E{0} : static_cast<E>(~E{0});
  return {overflow ? bound : sum, overflow};
}

template <class E>
KVRM_INLINE Saturated<E> saturating_negate(E value) {
  const bool overflow = value == kSignedMinimum<E>;
  return {overflow ? kSignedMaximum<E> : negate(value), overflow};
}

template <class E>
KVRM_INLINE Saturated<E> saturating_absolute(E value) {
  const bool overflow = value == kSignedMinimum<E>;
  return {overflow ? kSignedMaximum<E> : absolute(value), overflow};
}

// --- narrowing: SQXTN <true, true>, SQXTUN <true, false>, UQXTN <false, false> ---

template <bool kFromSigned, bool kToSigned, class W>
KVRM_INLINE Saturated<Narrow<W>> saturating_narrow(W value) {
  using N = Narrow<W>;
  static_assert(kFromSigned || !kToSigned);
  if constexpr (kToSigned) {
    const bool fits = static_cast<W>(as_signed(static_cast<N>(value))) == value;
    const N bound = is_negative(value) ? kSignedMinimum<N> : kSignedMaximum<N>;
    return {fits ? static_cast<N>(value) : bound, !fits};
  } else {
    const bool fits = (value >> kBits<N>) == 0;
    const N bound = kFromSigned && is_negative(value) ? N{0} : static_cast<N>(~N{0});
    return {fits ? static_cast<N>(value) : bound, !fits};
  }
}

// SQSHRN, SQSHRUN, UQSHRN and the rounding ones: 1 <= amount <= the narrow width.
template <bool kFromSigned, bool kToSigned, bool kRounding, class W>
KVRM_INLINE Saturated<Narrow<W>> saturating_shift_right_narrow(W value, u32 amount) {
  return saturating_narrow<kFromSigned, kToSigned>(shift_right_maybe_rounding<kFromSigned, kRounding>(value, amount));
}

// --- shifts to the left ---

// SQSHL, UQSHL by an immediate: 0 <= amount < the width.
template <bool kSigned, class E>
KVRM_INLINE Saturated<E> saturating_shift_left(E value, u32 amount) {
  const E shifted = shift_left(value, amount);
  const E back = shift_near_right<kSigned>(shifted, amount);
  const E bound = kSigned ? signed_bound(value) : static_cast<E>(~E{0});
  return {back == value ? shifted : bound, back != value};
}

// SQSHLU: a signed value, an unsigned result.
template <class E>
KVRM_INLINE Saturated<E> saturating_shift_left_unsigned(E value, u32 amount) {
  const Saturated<E> result = saturating_shift_left<false>(value, amount);
  return is_negative(value) ? Saturated<E>{0, true} : result;
}

// SQSHL, UQSHL, SQRSHL, UQRSHL by register.
template <bool kSigned, bool kRounding, class E>
KVRM_INLINE Saturated<E> saturating_shift_by_register(E value, E shift) {
  const i32 amount = register_amount(shift);
  if (amount < 0) return {shift_far_right<kSigned, kRounding>(value, static_cast<u32>(-amount)), false};
  if (amount < static_cast<i32>(kBits<E>)) return saturating_shift_left<kSigned>(value, static_cast<u32>(amount));
  const E bound = kSigned ? signed_bound(value) : static_cast<E>(~E{0});
  return {value == 0 ? E{0} : bound, value != 0};
}

// --- doubling products of 16- and 32-bit elements ---

// SQDMULL: twice the product, in twice the width. Only the square of the most negative value does not fit.
template <class E>
KVRM_INLINE Saturated<Wide<E>> saturating_doubling_multiply_long(E a, E b) {
  const Wide<E> product = multiply_long<true>(a, b);
  return saturating_add<true>(product, product);
}

// SQDMLAL and SQDMLSL: either step may saturate.
template <bool kSubtract, class E>
KVRM_INLINE Saturated<Wide<E>> saturating_doubling_multiply_accumulate_long(Wide<E> accumulator, E a, E b) {
  const Saturated<Wide<E>> product = saturating_doubling_multiply_long(a, b);
  const Saturated<Wide<E>> sum = kSubtract ? saturating_subtract<true>(accumulator, product.value)
                                           : saturating_add<true>(accumulator, product.value);
  return {sum.value, product.saturated || sum.saturated};
}

// SQRDMLAH, SQRDMLSH: the high half of accumulator:0 plus or minus twice the product, rounded. SQDMULH and SQRDMULH are
// the same with nothing to add to. All of it is halved here so that it fits twice the width.
template <bool kSubtract, bool kRounding, class E>
KVRM_INLINE Saturated<E> saturating_doubling_multiply_accumulate_high(E accumulator, E a, E b) {
  constexpr u32 kShift = kBits<E> - 1;
  const Wide<E> product = multiply_long<true>(a, b);
  const Wide<E> high = shift_left(extend_element<true>(accumulator), kShift);
  const Wide<E> exact = kSubtract ? subtract(high, product) : add(high, product);
  const Wide<E> rounded = kRounding ? add(exact, static_cast<Wide<E>>(Wide<E>{1} << (kShift - 1))) : exact;
  return saturating_narrow<true, true>(static_cast<Wide<E>>(as_signed(rounded) >> kShift));
}
template <bool kRounding, class E>
KVRM_INLINE Saturated<E> saturating_doubling_multiply_high(E a, E b) {
  return saturating_doubling_multiply_accumulate_high<false, kRounding>(E{0}, a, b);
}

}  // namespace kvrm::semantics
