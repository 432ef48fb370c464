// The tables of the reciprocal and reciprocal square root estimates, computed as the manual does
// (shared/functions/float/fprecipestimate and fprsqrtestimate), and URECPE's and URSQRTE's use of them.
#pragma once

#include "base/types.h"

namespace kvrm::semantics {

// RecipEstimate(): 256 <= a < 512 stands for 0.5 <= a / 512 < 1; the result is 256 to 511, in units of 1 / 256.
KVRM_INLINE constexpr u32 recip_estimate_table(u32 a) { return ((1u << 19) / (a * 2 + 1) + 1) / 2; }

// RecipSqrtEstimate(): 128 <= a < 512 stands for 0.25 <= a / 512 < 1; the result as above.
KVRM_INLINE constexpr u32 rsqrt_estimate_table(u32 a) {
  a = a < 256 ? a * 2 + 1 : (a | 1) * 2;
  u32 b = 512;  // becomes the largest b with a * b * b < 2^28
#pragma GCC unroll 9
  for (u32 bit = 256; bit != 0; bit >>= 1) {
    if (a * (b | bit) * (b | bit) < 1u << 28) b |= bit;
  }
  return (b + 1) / 2;
}

// URECPE on one element: a fixed-point number below one; results of one and more saturate.
KVRM_INLINE constexpr u32 unsigned_recip_estimate(u32 value) {
  return value >> 31 == 0 ? ~u32{0} : recip_estimate_table(value >> 23) << 23;
}

// URSQRTE on one element.
KVRM_INLINE constexpr u32 unsigned_rsqrt_estimate(u32 value) {
  return value >> 30 == 0 ? ~u32{0} : rsqrt_estimate_table(value >> 23) << 23;
}

}  // namespace kvrm::semantics
