// Vector registers as vectors of elements, and operations over all elements of them. Sources are local values and
// indices are constants after unrolling, so no register is ever indexed at run time; the compiler turns the unrolled
// insertions into vector instructions where the target has them.
#pragma once

#include "base/bits.h"
#include "base/types.h"

// For lambdas that hold the body of a loop or of a switch: they must disappear like everything else.
#define KVRM_LAMBDA __attribute__((always_inline))

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

// The value in every element.
template <class E>
KVRM_INLINE U128 replicate(E element) {
  const u64 half = u64{element} * (~u64{0} / low_ones(kBits<E>));
  return {half, half};
}

// The low half only, unless the operation is on the whole register (Q = 1).
KVRM_INLINE U128 keep_half(U128 value, bool whole) { return {value.lo, whole ? value.hi : 0}; }

// A register's value as elements of one type.
template <class E>
struct Elements {
  typedef E Vector __attribute__((vector_size(16)));
  static constexpr u32 kCount = kLanes<E>;
  Vector vector;

  KVRM_INLINE Elements() : vector{} {}
  KVRM_INLINE explicit Elements(const U128& value) : vector(__builtin_bit_cast(Vector, value)) {}
  KVRM_INLINE E operator[](u32 index) const { return vector[index]; }
  KVRM_INLINE void set(u32 index, E element) { vector[index] = element; }
  KVRM_INLINE U128 bits() const { return __builtin_bit_cast(U128, vector); }
};

// A register's new value and, all ones in the elements that saturated, what becomes of FPSR.QC.
struct SaturatedVector {
  U128 value;
  U128 saturated;
};

// result[i] = f(i) for the first kCount elements, zeros above. If f gives Saturated<R>, a SaturatedVector.
template <class R, u32 kCount, class F>
KVRM_INLINE auto generate(F f) {
  Elements<R> values;
  if constexpr (requires { f(0).saturated; }) {
    Elements<R> saturated;
#pragma GCC unroll 16
    for (u32 i = 0; i < kCount; ++i) {
      const auto result = f(i);
      values.set(i, result.value);
      saturated.set(i, result.saturated ? static_cast<R>(~R{0}) : R{0});
    }
    return SaturatedVector{values.bits(), saturated.bits()};
  } else {
#pragma GCC unroll 16
    for (u32 i = 0; i < kCount; ++i) values.set(i, static_cast<R>(f(i)));
    return values.bits();
  }
}

KVRM_INLINE constexpr u32 fewest(u32 a) { return a; }
template <class... Count>
KVRM_INLINE constexpr u32 fewest(u32 a, Count... others) {
  const u32 b = fewest(others...);
  return a < b ? a : b;
}

// result[i] = f(sources[i]...). Sources and result may have elements of different widths; the widest of them decides
// how many there are, and a narrow source is read from its low half.
template <class R, class F, class... Source>
KVRM_INLINE auto map(F f, const Source&... sources) {
  return generate<R, fewest(kLanes<R>, Source::kCount...)>([&](u32 i) KVRM_LAMBDA { return f(sources[i]...); });
}

// f(a[i], b[i]) for every element.
template <class E, class F>
KVRM_INLINE U128 map2(const U128& a, const U128& b, F f) {
  return map<E>(f, Elements<E>(a), Elements<E>(b));
}

// f of neighboring pairs: those of a fill the low half of the result, those of b the high half. For a 64-bit
// operation both sources are 64 bits wide and so is the result.
template <class E, class F>
KVRM_INLINE U128 map_pairs(const U128& a, const U128& b, bool whole, F f) {
  // Side by side, the sources are a[0..], b[0..] with no gap between them.
  const Elements<E> low(whole ? a : U128{a.lo, b.lo});
  const Elements<E> high(whole ? b : U128{});
  return generate<E, kLanes<E>>([&](u32 i) KVRM_LAMBDA {
    constexpr u32 kHalf = kLanes<E> / 2;
    return i < kHalf ? f(low[2 * i], low[2 * i + 1]) : f(high[2 * (i - kHalf)], high[2 * (i - kHalf) + 1]);
  });
}

// Element sizes as the size field has them, log2 of bytes.
enum class Size : u32 { kB = 0, kH = 1, kS = 2, kD = 3 };

template <Size kSize>
struct ElementOf;
template <>
struct ElementOf<Size::kB> {
  using Type = u8;
};
template <>
struct ElementOf<Size::kH> {
  using Type = u16;
};
template <>
struct ElementOf<Size::kS> {
  using Type = u32;
};
template <>
struct ElementOf<Size::kD> {
  using Type = u64;
};

// visit(E{}) for the element type of that size, which lies between kLeast and kMost.
template <Size kLeast, Size kMost, class F>
KVRM_INLINE auto by_size(u32 size, F visit) {
  using E = typename ElementOf<kLeast>::Type;
  if constexpr (kLeast == kMost) {
    return visit(E{});
  } else {
    if (size == static_cast<u32>(kLeast)) return visit(E{});
    return by_size<static_cast<Size>(static_cast<u32>(kLeast) + 1), kMost>(size, visit);
  }
}

}  // namespace kvrm::semantics
