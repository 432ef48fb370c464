// Cryptographic three-register SHA: four rounds of SHA-1 or SHA-256, and parts of their message schedules.
#pragma once

#include "base/cpu.h"
#include "isa/a64_operands.h"
#include "semantics/crypto_sha.h"

namespace kvrm::semantics {

// Registers go to the helpers as halves: a struct would pass through memory on the device.

// Four rounds of SHA-1 with function F: abcd in a register, e beside it, the words with their constants in another.
template <class F>
KVRM_COLD inline U128 sha1_rounds(u64 ab, u64 cd, u64 words_lo, u64 words_hi, u32 e) {
  ShaWords x = sha_words({ab, cd});
  const ShaWords w = sha_words({words_lo, words_hi});
#pragma GCC unroll 4
  for (u32 i = 0; i < 4; ++i) {
    const u32 t = e + sha_rotate_left(x.word[0], 5) + F::of(x.word[1], x.word[2], x.word[3]) + w.word[i];
    e = x.word[3];
    x = {{t, x.word[0], sha_rotate_left(x.word[1], 30), x.word[2]}};
  }
  return sha_register(x);
}

// Four rounds of SHA-256 on abcd and efgh; gives abcd, or, for the second half, efgh.
template <bool kFirstHalf>
KVRM_COLD inline U128 sha256_rounds(u64 ab, u64 cd, u64 ef, u64 gh, u64 words_lo, u64 words_hi) {
  ShaWords x = sha_words({ab, cd});
  ShaWords y = sha_words({ef, gh});
  const ShaWords w = sha_words({words_lo, words_hi});
#pragma GCC unroll 4
  for (u32 i = 0; i < 4; ++i) {
    const u32 choice = ShaChoose::of(y.word[0], y.word[1], y.word[2]);
    const u32 t = y.word[3] + sha_sum<6, 11, 25>(y.word[0]) + choice + w.word[i];
    const u32 a = t + sha_sum<2, 13, 22>(x.word[0]) + ShaMajority::of(x.word[0], x.word[1], x.word[2]);
    y = {{t + x.word[3], y.word[0], y.word[1], y.word[2]}};
    x = {{a, x.word[0], x.word[1], x.word[2]}};
  }
  return sha_register(kFirstHalf ? x : y);
}

template <class F, class Op>
KVRM_INLINE void sha1(Cpu& cpu, const Op& op) {
  const U128 n = cpu.q[op.Vn];
  const U128 m = cpu.q[op.Vm];
  const U128 d = cpu.q[op.Vd];
  cpu.q[op.Vd] = sha1_rounds<F>(d.lo, d.hi, m.lo, m.hi, static_cast<u32>(n.lo));
}

template <class M>
KVRM_INLINE void SHA1C(Cpu& cpu, M&, const isa::SHA1C& op) {
  sha1<ShaChoose>(cpu, op);
}

template <class M>
KVRM_INLINE void SHA1P(Cpu& cpu, M&, const isa::SHA1P& op) {
  sha1<ShaParity>(cpu, op);
}

template <class M>
KVRM_INLINE void SHA1M(Cpu& cpu, M&, const isa::SHA1M& op) {
  sha1<ShaMajority>(cpu, op);
}

template <class M>
KVRM_INLINE void SHA1SU0(Cpu& cpu, M&, const isa::SHA1SU0& op) {
  const U128 n = cpu.q[op.Vn];
  const U128 m = cpu.q[op.Vm];
  const U128 d = cpu.q[op.Vd];
  cpu.q[op.Vd] = U128{d.hi ^ d.lo ^ m.lo, n.lo ^ d.hi ^ m.hi};
}

template <class M>
KVRM_INLINE void SHA256H(Cpu& cpu, M&, const isa::SHA256H& op) {
  const U128 n = cpu.q[op.Vn];
  const U128 m = cpu.q[op.Vm];
  const U128 d = cpu.q[op.Vd];
  cpu.q[op.Vd] = sha256_rounds<true>(d.lo, d.hi, n.lo, n.hi, m.lo, m.hi);
}

template <class M>
KVRM_INLINE void SHA256H2(Cpu& cpu, M&, const isa::SHA256H2& op) {
  const U128 n = cpu.q[op.Vn];
  const U128 m = cpu.q[op.Vm];
  const U128 d = cpu.q[op.Vd];
  cpu.q[op.Vd] = sha256_rounds<false>(n.lo, n.hi, d.lo, d.hi, m.lo, m.hi);
}

template <class M>
KVRM_INLINE void SHA256SU1(Cpu& cpu, M&, const isa::SHA256SU1& op) {
  const U128 n = cpu.q[op.Vn];
  const ShaWords m = sha_words(cpu.q[op.Vm]);
  const ShaWords d = sha_words(cpu.q[op.Vd]);
  const ShaWords next = sha_words(sha_next_words(n, cpu.q[op.Vm]));
  ShaWords result{};
#pragma GCC unroll 4
  for (u32 i = 0; i < 4; ++i) {
    // The upper two words are built from the lower two.
    const u32 before = i < 2 ? m.word[i + 2] : result.word[i - 2];
    result.word[i] = sha_sigma<17, 19, 10>(before) + d.word[i] + next.word[i];
  }
  cpu.q[op.Vd] = sha_register(result);
}

}  // namespace kvrm::semantics
