// Bit operations in the manual's words. Widths and positions are run-time values unless they are template
// parameters; no operation is undefined for any input in its stated range.
#pragma once

#include "base/types.h"

namespace kvrm {

template <class T>
inline constexpr u32 kBits = sizeof(T) * 8;

// The signed or unsigned type of the same width.
template <class T>
struct SignedOf;
template <>
struct SignedOf<u8> {
  using Type = i8;
};
template <>
struct SignedOf<u16> {
  using Type = i16;
};
template <>
struct SignedOf<u32> {
  using Type = i32;
};
template <>
struct SignedOf<u64> {
  using Type = i64;
};
template <class T>
using Signed = typename SignedOf<T>::Type;

// count ones at the bottom, 0 <= count <= 64.
KVRM_INLINE constexpr u64 low_ones(u32 count) { return count >= 64 ? ~u64{0} : (u64{1} << count) - 1; }

// Rotations by 0 <= amount < width.
template <class T>
KVRM_INLINE constexpr T rotate_right(T value, u32 amount) {
  const u32 left = (kBits<T> - amount) & (kBits<T> - 1);
  return static_cast<T>(value >> amount | value << left);
}

KVRM_INLINE constexpr u64 sign_extend(u64 value, u32 width) {  // 1 <= width <= 64
  return static_cast<u64>(static_cast<i64>(value << (64 - width)) >> (64 - width));
}

template <class T>
KVRM_INLINE constexpr u32 count_leading_zeros(T value) {
  if (value == 0) return kBits<T>;
  if constexpr (sizeof(T) == 8) {
    return static_cast<u32>(__builtin_clzll(value));
  } else {
    return static_cast<u32>(__builtin_clz(value)) - (32 - kBits<T>);
  }
}

// Reverses the bits inside each group of 2^k bits for k = 0, 1, 2; with the byte reversals this gives all of RBIT.
KVRM_INLINE constexpr u64 reverse_bits_in_bytes(u64 x) {
  x = (x & 0x5555555555555555) << 1 | (x >> 1 & 0x5555555555555555);
  x = (x & 0x3333333333333333) << 2 | (x >> 2 & 0x3333333333333333);
  return (x & 0x0f0f0f0f0f0f0f0f) << 4 | (x >> 4 & 0x0f0f0f0f0f0f0f0f);
}
KVRM_INLINE constexpr u64 reverse_bytes_in_halfwords(u64 x) {
  return (x & 0x00ff00ff00ff00ff) << 8 | (x >> 8 & 0x00ff00ff00ff00ff);
}
KVRM_INLINE constexpr u64 reverse_halfwords_in_words(u64 x) {
  return (x & 0x0000ffff0000ffff) << 16 | (x >> 16 & 0x0000ffff0000ffff);
}
KVRM_INLINE constexpr u64 reverse_bytes_in_words(u64 x) {
  return reverse_halfwords_in_words(reverse_bytes_in_halfwords(x));
}
KVRM_INLINE constexpr u64 reverse_bytes(u64 x) {
  x = reverse_bytes_in_words(x);
  return x << 32 | x >> 32;
}

}  // namespace kvrm
