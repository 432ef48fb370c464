// Elements of a vector register held in a local value. Indices are constants after unrolling, so no register is ever
// indexed at run time.
#pragma once

#include "base/bits.h"
#include "base/types.h"

namespace kvrm::semantics {

template <class E>
inline constexpr u32 kLanes = 16 / sizeof(E);

template <class E>
KVRM_INLINE E element(const U128& value, u32 index) {
  const u32 position = index * kBits<E>;
  return static_cast<E>((position < 64 ? value.lo : value.hi) >> (position & 63));
}

template <class E>
KVRM_INLINE U128 with_element(U128 value, u32 index, E element) {
  const u32 position = index * kBits<E>;
  const u64 mask = low_ones(kBits<E>) << (position & 63);
  const u64 bits = u64{element} << (position & 63);
  if (position < 64) {
    value.lo = (value.lo & ~mask) | bits;
  } else {
    value.hi = (value.hi & ~mask) | bits;
  }
  return value;
}

// The element in every place.
template <class E>
KVRM_INLINE U128 replicate(E element) {
  const u64 half = u64{element} * (~u64{0} / low_ones(kBits<E>));
  return {half, half};
}

// The low half only, unless the operation is on the whole register (Q = 1).
KVRM_INLINE U128 keep_half(U128 value, bool whole) { return {value.lo, whole ? value.hi : 0}; }

// f(a[i], b[i]) for every element.
template <class E, class F>
KVRM_INLINE U128 map2(const U128& a, const U128& b, F f) {
  U128 result{};
#pragma GCC unroll 16
  for (u32 i = 0; i < kLanes<E>; ++i) {
    result = with_element<E>(result, i, static_cast<E>(f(element<E>(a, i), element<E>(b, i))));
  }
  return result;
}

// f of neighbouring pairs: those of a fill the low half of the result, those of b the high half. For a 64-bit
// operation both sources are 64 bits wide and so is the result.
template <class E, class F>
KVRM_INLINE U128 map_pairs(const U128& a, const U128& b, bool whole, F f) {
  // Side by side, the sources are a[0..], b[0..] with no gap between them.
  const U128 low = whole ? a : U128{a.lo, b.lo};
  const U128 high = whole ? b : U128{};
  U128 result{};
#pragma GCC unroll 8
  for (u32 i = 0; i < kLanes<E> / 2; ++i) {
    result = with_element<E>(result, i, static_cast<E>(f(element<E>(low, 2 * i), element<E>(low, 2 * i + 1))));
    result = with_element<E>(result, i + kLanes<E> / 2,
                             static_cast<E>(f(element<E>(high, 2 * i), element<E>(high, 2 * i + 1))));
  }
  return result;
}

}  // namespace kvrm::semantics
