// Advanced SIMD three registers of the same type: the bitwise operations and the integer ones that C libraries use.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/vector.h"

namespace kvrm::semantics {

// f on every pair of elements of the operand's size.
template <class Op, class F>
KVRM_INLINE void elementwise(Cpu& cpu, const Op& op, F f) {
  const U128 n = cpu.q[op.Vn];
  const U128 m = cpu.q[op.Vm];
  U128 result{};
  switch (op.size) {
    case 0: result = map2<u8>(n, m, f); break;
    case 1: result = map2<u16>(n, m, f); break;
    case 2: result = map2<u32>(n, m, f); break;
    default: result = map2<u64>(n, m, f); break;
  }
  cpu.q[op.Vd] = keep_half(result, op.Q);
}

template <class Op, class F>
KVRM_INLINE void pairwise(Cpu& cpu, const Op& op, F f) {
  const U128 n = cpu.q[op.Vn];
  const U128 m = cpu.q[op.Vm];
  U128 result{};
  switch (op.size) {
    case 0: result = map_pairs<u8>(n, m, op.Q, f); break;
    case 1: result = map_pairs<u16>(n, m, op.Q, f); break;
    case 2: result = map_pairs<u32>(n, m, op.Q, f); break;
    default: result = map_pairs<u64>(n, m, op.Q, f); break;
  }
  cpu.q[op.Vd] = keep_half(result, op.Q);
}

// f on both halves of the registers, with the old destination as third operand.
template <class Op, class F>
KVRM_INLINE void bitwise(Cpu& cpu, const Op& op, F f) {
  const U128 n = cpu.q[op.Vn];
  const U128 m = cpu.q[op.Vm];
  const U128 d = cpu.q[op.Vd];
  cpu.q[op.Vd] = keep_half({f(n.lo, m.lo, d.lo), f(n.hi, m.hi, d.hi)}, op.Q);
}

// A comparison's result: all ones or all zeros.
template <class E>
KVRM_INLINE E all_ones_if(bool condition) {
  return condition ? static_cast<E>(~E{0}) : E{0};
}
template <class E>
KVRM_INLINE bool signed_less(E a, E b) {
  return static_cast<Signed<E>>(a) < static_cast<Signed<E>>(b);
}

template <class M>
KVRM_INLINE void AND_v(Cpu& cpu, M&, const isa::AND_v& op) {
  bitwise(cpu, op, [](u64 n, u64 m, u64) { return n & m; });
}

template <class M>
KVRM_INLINE void BIC_v(Cpu& cpu, M&, const isa::BIC_v& op) {
  bitwise(cpu, op, [](u64 n, u64 m, u64) { return n & ~m; });
}

template <class M>
KVRM_INLINE void ORR_v(Cpu& cpu, M&, const isa::ORR_v& op) {
  bitwise(cpu, op, [](u64 n, u64 m, u64) { return n | m; });
}

template <class M>
KVRM_INLINE void ORN_v(Cpu& cpu, M&, const isa::ORN_v& op) {
  bitwise(cpu, op, [](u64 n, u64 m, u64) { return n | ~m; });
}

template <class M>
KVRM_INLINE void EOR_v(Cpu& cpu, M&, const isa::EOR_v& op) {
  bitwise(cpu, op, [](u64 n, u64 m, u64) { return n ^ m; });
}

template <class M>
KVRM_INLINE void BSL_v(Cpu& cpu, M&, const isa::BSL_v& op) {
  bitwise(cpu, op, [](u64 n, u64 m, u64 d) { return m ^ ((m ^ n) & d); });
}

template <class M>
KVRM_INLINE void BIT_v(Cpu& cpu, M&, const isa::BIT_v& op) {
  bitwise(cpu, op, [](u64 n, u64 m, u64 d) { return d ^ ((d ^ n) & m); });
}

template <class M>
KVRM_INLINE void BIF_v(Cpu& cpu, M&, const isa::BIF_v& op) {
  bitwise(cpu, op, [](u64 n, u64 m, u64 d) { return d ^ ((d ^ n) & ~m); });
}

template <class M>
KVRM_INLINE void ADD_v(Cpu& cpu, M&, const isa::ADD_v& op) {
  elementwise(cpu, op, []<class E>(E n, E m) { return static_cast<E>(n + m); });
}

template <class M>
KVRM_INLINE void SUB_v(Cpu& cpu, M&, const isa::SUB_v& op) {
  elementwise(cpu, op, []<class E>(E n, E m) { return static_cast<E>(n - m); });
}

template <class M>
KVRM_INLINE void CMEQ_v(Cpu& cpu, M&, const isa::CMEQ_v& op) {
  elementwise(cpu, op, []<class E>(E n, E m) { return all_ones_if<E>(n == m); });
}

template <class M>
KVRM_INLINE void CMHI_v(Cpu& cpu, M&, const isa::CMHI_v& op) {
  elementwise(cpu, op, []<class E>(E n, E m) { return all_ones_if<E>(n > m); });
}

template <class M>
KVRM_INLINE void CMHS_v(Cpu& cpu, M&, const isa::CMHS_v& op) {
  elementwise(cpu, op, []<class E>(E n, E m) { return all_ones_if<E>(n >= m); });
}

template <class M>
KVRM_INLINE void CMGT_v(Cpu& cpu, M&, const isa::CMGT_v& op) {
  elementwise(cpu, op, []<class E>(E n, E m) { return all_ones_if<E>(signed_less(m, n)); });
}

template <class M>
KVRM_INLINE void CMGE_v(Cpu& cpu, M&, const isa::CMGE_v& op) {
  elementwise(cpu, op, []<class E>(E n, E m) { return all_ones_if<E>(!signed_less(n, m)); });
}

template <class M>
KVRM_INLINE void CMTST_v(Cpu& cpu, M&, const isa::CMTST_v& op) {
  elementwise(cpu, op, []<class E>(E n, E m) { return all_ones_if<E>((n & m) != 0); });
}

template <class M>
KVRM_INLINE void UMAX_v(Cpu& cpu, M&, const isa::UMAX_v& op) {
  elementwise(cpu, op, []<class E>(E n, E m) { return n > m ? n : m; });
}

template <class M>
KVRM_INLINE void UMIN_v(Cpu& cpu, M&, const isa::UMIN_v& op) {
  elementwise(cpu, op, []<class E>(E n, E m) { return n > m ? m : n; });
}

template <class M>
KVRM_INLINE void SMAX_v(Cpu& cpu, M&, const isa::SMAX_v& op) {
  elementwise(cpu, op, []<class E>(E n, E m) { return signed_less(n, m) ? m : n; });
}

template <class M>
KVRM_INLINE void SMIN_v(Cpu& cpu, M&, const isa::SMIN_v& op) {
  elementwise(cpu, op, []<class E>(E n, E m) { return signed_less(n, m) ? n : m; });
}

template <class M>
KVRM_INLINE void ADDP_v(Cpu& cpu, M&, const isa::ADDP_v& op) {
  pairwise(cpu, op, []<class E>(E n, E m) { return static_cast<E>(n + m); });
}

template <class M>
KVRM_INLINE void UMAXP_v(Cpu& cpu, M&, const isa::UMAXP_v& op) {
  pairwise(cpu, op, []<class E>(E n, E m) { return n > m ? n : m; });
}

template <class M>
KVRM_INLINE void UMINP_v(Cpu& cpu, M&, const isa::UMINP_v& op) {
  pairwise(cpu, op, []<class E>(E n, E m) { return n > m ? m : n; });
}

template <class M>
KVRM_INLINE void SMAXP_v(Cpu& cpu, M&, const isa::SMAXP_v& op) {
  pairwise(cpu, op, []<class E>(E n, E m) { return signed_less(n, m) ? m : n; });
}

template <class M>
KVRM_INLINE void SMINP_v(Cpu& cpu, M&, const isa::SMINP_v& op) {
  pairwise(cpu, op, []<class E>(E n, E m) { return signed_less(n, m) ? n : m; });
}

}  // namespace kvrm::semantics
