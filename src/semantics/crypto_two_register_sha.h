// Cryptographic two-register SHA: the other parts of the message schedules, and the rotation of SHA-1.
#pragma once

#include "base/cpu.h"
#include "isa/a64_operands.h"
#include "semantics/crypto_sha.h"

namespace kvrm::semantics {

template <class F>
KVRM_INLINE U128 sha_map(const U128& a, const U128& b, F f) {
  return map<u32>(f, Elements<u32>(a), Elements<u32>(b));
}

template <class M>
KVRM_INLINE void SHA1H(Cpu& cpu, M&, const isa::SHA1H& op) {
  const U128 n = cpu.q[op.Vn];
  cpu.q[op.Vd] = U128{sha_rotate_left(static_cast<u32>(n.lo), 30), 0};
}

template <class M>
KVRM_INLINE void SHA1SU1(Cpu& cpu, M&, const isa::SHA1SU1& op) {
  const U128 n = cpu.q[op.Vn];
  const U128 d = cpu.q[op.Vd];
  const U128 next = sha_next_words(n, U128{});
  const U128 mixed = sha_map(d, next, [](u32 a, u32 b) KVRM_LAMBDA { return sha_rotate_left(a ^ b, 1); });
  // Word 3 also needs word 0 of this very result.
  cpu.q[op.Vd] = U128{mixed.lo, mixed.hi ^ u64{sha_rotate_left(static_cast<u32>(mixed.lo), 1)} << 32};
}

template <class M>
KVRM_INLINE void SHA256SU0(Cpu& cpu, M&, const isa::SHA256SU0& op) {
  const U128 n = cpu.q[op.Vn];
  const U128 d = cpu.q[op.Vd];
  const U128 next = sha_next_words(d, n);
  cpu.q[op.Vd] = sha_map(d, next, [](u32 a, u32 b) KVRM_LAMBDA { return a + sha_sigma<7, 18, 3>(b); });
}

}  // namespace kvrm::semantics
