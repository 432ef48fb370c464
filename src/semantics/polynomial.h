// Products of polynomials over {0, 1}: sums of shifted copies without carries.
#pragma once

#include "base/bits.h"
#include "base/types.h"

namespace kvrm::semantics {

// PMUL and PMULL of bytes.
KVRM_INLINE u16 polynomial_multiply(u8 a, u8 b) {
  u32 product = 0;
#pragma GCC unroll 8
  for (u32 i = 0; i < 8; ++i) product ^= (0u - (static_cast<u32>(b) >> i & 1)) & static_cast<u32>(a) << i;
  return static_cast<u16>(product);
}

// The low half of the product of doublewords. With only every fourth bit present, an ordinary multiplication has room
// for its carries: a position below bit 60 collects at most 15 ones, and what bit 60 collects leaves at the top.
KVRM_INLINE u64 polynomial_multiply_low(u64 a, u64 b) {
  constexpr u64 kEveryFourth = 0x1111111111111111;
  u64 product = 0;
#pragma GCC unroll 4
  for (u32 k = 0; k < 4; ++k) {
    u64 sum = 0;
#pragma GCC unroll 4
    for (u32 i = 0; i < 4; ++i) sum ^= (a & kEveryFourth << i) * (b & kEveryFourth << ((k - i) & 3));
    product |= sum & kEveryFourth << k;
  }
  return product;
}

KVRM_INLINE u64 reverse_bits(u64 value) { return reverse_bits_in_bytes(reverse_bytes(value)); }

// PMULL of doublewords. The high half is the low half of the product of the reversed operands, reversed.
KVRM_INLINE U128 polynomial_multiply(u64 a, u64 b) {
  const u64 high = polynomial_multiply_low(reverse_bits(a), reverse_bits(b));
  return {polynomial_multiply_low(a, b), reverse_bits(high) >> 1};
}

}  // namespace kvrm::semantics
