// What the SHA-1 and SHA-256 rows share: the four words of a register and the functions of FIPS 180-4.
#pragma once

#include "semantics/vector.h"

namespace kvrm::semantics {

struct ShaWords {
  u32 word[4];
};

KVRM_INLINE ShaWords sha_words(const U128& value) {
  return {{element<u32>(value, 0), element<u32>(value, 1), element<u32>(value, 2), element<u32>(value, 3)}};
}

KVRM_INLINE U128 sha_register(const ShaWords& words) {
  return {words.word[0] | u64{words.word[1]} << 32, words.word[2] | u64{words.word[3]} << 32};
}

// The four words that start at word 1 of low:high.
KVRM_INLINE U128 sha_next_words(const U128& low, const U128& high) {
  return {low.lo >> 32 | low.hi << 32, low.hi >> 32 | high.lo << 32};
}

struct ShaChoose {
  static KVRM_INLINE u32 of(u32 x, u32 y, u32 z) { return ((y ^ z) & x) ^ z; }
};
struct ShaParity {
  static KVRM_INLINE u32 of(u32 x, u32 y, u32 z) { return x ^ y ^ z; }
};
struct ShaMajority {
  static KVRM_INLINE u32 of(u32 x, u32 y, u32 z) { return (x & y) | ((x | y) & z); }
};

KVRM_INLINE u32 sha_rotate_left(u32 value, u32 amount) { return rotate_right(value, 32 - amount); }

template <u32 kA, u32 kB, u32 kC>
KVRM_INLINE u32 sha_sum(u32 value) {
  return rotate_right(value, kA) ^ rotate_right(value, kB) ^ rotate_right(value, kC);
}
template <u32 kA, u32 kB, u32 kShift>
KVRM_INLINE u32 sha_sigma(u32 value) {
  return rotate_right(value, kA) ^ rotate_right(value, kB) ^ value >> kShift;
}

}  // namespace kvrm::semantics
