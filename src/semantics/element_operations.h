// What the integer instructions of Advanced SIMD do to one element, in all the groups that have them: vector, scalar,
// by element. Elements are unsigned types; kSigned says how their bits are read. Operations that saturate are in
// saturate.h.
#pragma once

#include "base/bits.h"
#include "base/types.h"

namespace kvrm::semantics {

// The type of twice the width.
template <class E>
struct WideOf;
template <>
struct WideOf<u8> {
  using Type = u16;
};
template <>
struct WideOf<u16> {
  using Type = u32;
};
template <>
struct WideOf<u32> {
  using Type = u64;
};
template <class E>
using Wide = typename WideOf<E>::Type;

// The type of half the width.
template <class E>
struct NarrowOf;
template <>
struct NarrowOf<u16> {
  using Type = u8;
};
template <>
struct NarrowOf<u32> {
  using Type = u16;
};
template <>
struct NarrowOf<u64> {
  using Type = u32;
};
template <class E>
using Narrow = typename NarrowOf<E>::Type;

template <class E>
KVRM_INLINE constexpr Signed<E> as_signed(E value) {
  return static_cast<Signed<E>>(value);
}

template <bool kSigned, class E>
KVRM_INLINE Wide<E> extend_element(E value) {
  return kSigned ? static_cast<Wide<E>>(as_signed(value)) : Wide<E>{value};
}

// --- comparisons ---

// A comparison's result: all ones or all zeros.
template <class E>
KVRM_INLINE E all_ones_if(bool condition) {
  return condition ? static_cast<E>(~E{0}) : E{0};
}

template <bool kSigned, class E>
KVRM_INLINE bool less(E a, E b) {
  return kSigned ? as_signed(a) < as_signed(b) : a < b;
}
template <class E>
KVRM_INLINE bool signed_less(E a, E b) {
  return less<true>(a, b);
}

template <bool kSigned, class E>
KVRM_INLINE E maximum(E a, E b) {
  return less<kSigned>(a, b) ? b : a;
}
template <bool kSigned, class E>
KVRM_INLINE E minimum(E a, E b) {
  return less<kSigned>(a, b) ? a : b;
}

// --- arithmetic; results wrap ---

template <class E>
KVRM_INLINE E add(E a, E b) {
  return static_cast<E>(a + b);
}
template <class E>
KVRM_INLINE E subtract(E a, E b) {
  return static_cast<E>(a - b);
}
// Through u32, since the product of two u16 would be a signed int that overflows.
template <class E>
KVRM_INLINE E multiply(E a, E b) {
  if constexpr (sizeof(E) < 4)
    return static_cast<E>(u32{a} * b);
  else
    return a * b;
}
template <bool kSigned, class E>
KVRM_INLINE Wide<E> multiply_long(E a, E b) {
  return multiply<Wide<E>>(extend_element<kSigned>(a), extend_element<kSigned>(b));
}
template <class E>
KVRM_INLINE E negate(E a) {
  return static_cast<E>(E{0} - a);
}
template <class E>
KVRM_INLINE E absolute(E a) {
  return signed_less(a, E{0}) ? negate(a) : a;
}
template <bool kSigned, class E>
KVRM_INLINE E absolute_difference(E a, E b) {
  return less<kSigned>(a, b) ? subtract(b, a) : subtract(a, b);
}

// --- shifts ---

// 0 <= amount < the width.
template <bool kSigned, class E>
KVRM_INLINE E shift_near_right(E value, u32 amount) {
  if constexpr (kSigned)
    return static_cast<E>(as_signed(value) >> amount);
  else
    return static_cast<E>(value >> amount);
}
// Shift right by an immediate, 1 <= amount <= the width. In two steps, since the whole width is too far for C++.
template <bool kSigned, class E>
KVRM_INLINE E shift_right(E value, u32 amount) {
  return shift_near_right<kSigned>(shift_near_right<kSigned>(value, amount - 1), 1);
}
// The same, rounded to nearest with halves upwards: the last bit shifted out is added. It never overflows.
template <bool kSigned, class E>
KVRM_INLINE E rounding_shift_right(E value, u32 amount) {
  const E last = shift_near_right<kSigned>(value, amount - 1);
  return static_cast<E>(shift_near_right<kSigned>(last, 1) + (last & 1));
}
template <bool kSigned, bool kRounding, class E>
KVRM_INLINE E shift_right_maybe_rounding(E value, u32 amount) {
  return kRounding ? rounding_shift_right<kSigned>(value, amount) : shift_right<kSigned>(value, amount);
}

// Shift left by an immediate, 0 <= amount < the width.
template <class E>
KVRM_INLINE E shift_left(E value, u32 amount) {
  if constexpr (sizeof(E) < 4)
    return static_cast<E>(u32{value} << amount);
  else
    return value << amount;
}

// SLI and SRI: the shifted value, with the bits it leaves open taken from old. 0 <= left < width, 1 <= right <= width.
template <class E>
KVRM_INLINE E shift_left_insert(E old, E value, u32 left) {
  return static_cast<E>(shift_left(value, left) | (old & ~shift_left(static_cast<E>(~E{0}), left)));
}
template <class E>
KVRM_INLINE E shift_right_insert(E old, E value, u32 right) {
  return static_cast<E>(shift_right<false>(value, right) | (old & ~shift_right<false>(static_cast<E>(~E{0}), right)));
}

// The amount of a shift by register: the signed low byte of the operand's element.
template <class E>
KVRM_INLINE i32 register_amount(E element) {
  return static_cast<i8>(element);
}

// The right half of a shift by register, 1 <= right <= 128. Beyond the width only the sign is left of a signed value,
// and nothing of an unsigned one, not even to round.
template <bool kSigned, bool kRounding, class E>
KVRM_INLINE E shift_far_right(E value, u32 right) {
  const E shifted = shift_right_maybe_rounding<kSigned, kRounding>(value, right < kBits<E> ? right : kBits<E>);
  return kSigned || right <= kBits<E> ? shifted : E{0};
}

// SSHL, USHL, SRSHL, URSHL: left for positive amounts, right for negative ones.
template <bool kSigned, bool kRounding, class E>
KVRM_INLINE E shift_by_register(E value, E shift) {
  const i32 amount = register_amount(shift);
  if (amount < 0) return shift_far_right<kSigned, kRounding>(value, static_cast<u32>(-amount));
  return amount < static_cast<i32>(kBits<E>) ? shift_left(value, static_cast<u32>(amount)) : E{0};
}

// --- halving: (a + b) / 2 and (a - b) / 2 rounded down, and (a + b + 1) / 2, none of which overflows ---

template <bool kSigned, class E>
KVRM_INLINE E halving_add(E a, E b) {
  return static_cast<E>((a & b) + shift_right<kSigned>(static_cast<E>(a ^ b), 1));
}
template <bool kSigned, class E>
KVRM_INLINE E rounding_halving_add(E a, E b) {
  return static_cast<E>((a | b) - shift_right<kSigned>(static_cast<E>(a ^ b), 1));
}
template <bool kSigned, class E>
KVRM_INLINE E halving_subtract(E a, E b) {
  return static_cast<E>(shift_right<kSigned>(static_cast<E>(a ^ b), 1) - (~a & b));
}

// The high half of a sum or difference: ADDHN and its kin. kRounding adds half of the lowest bit kept.
template <bool kRounding, class W>
KVRM_INLINE Narrow<W> high_half(W value) {
  constexpr u32 kHalf = kBits<W> / 2;
  const W rounded = kRounding ? add(value, static_cast<W>(W{1} << (kHalf - 1))) : value;
  return static_cast<Narrow<W>>(rounded >> kHalf);
}

// --- bits ---

// The bits below the sign that equal it.
template <class E>
KVRM_INLINE E count_leading_sign_bits(E value) {
  const E differing = static_cast<E>(value ^ static_cast<E>(as_signed(value) >> 1));
  return static_cast<E>(count_leading_zeros(differing) - 1);
}
// Sums of neighboring bits, pairs and halves: no library call where the target has no such instruction.
KVRM_INLINE u8 count_ones(u8 value) {
  const u32 pairs = value - (value >> 1 & 0x55u);
  const u32 halves = (pairs & 0x33) + (pairs >> 2 & 0x33);
  return static_cast<u8>((halves + (halves >> 4)) & 0x0f);
}

}  // namespace kvrm::semantics
