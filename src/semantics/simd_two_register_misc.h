// Advanced SIMD two-register miscellaneous: comparisons with zero, NOT and XTN.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/simd_shift_immediate.h"
#include "semantics/simd_three_same.h"

namespace kvrm::semantics {

// f on every element of the operand's size.
template <class Op, class F>
KVRM_INLINE void each_element(Cpu& cpu, const Op& op, F f) {
  const U128 n = cpu.q[op.Vn];
  U128 result{};
  switch (op.size) {
    case 0: result = map2<u8>(n, n, f); break;
    case 1: result = map2<u16>(n, n, f); break;
    case 2: result = map2<u32>(n, n, f); break;
    default: result = map2<u64>(n, n, f); break;
  }
  cpu.q[op.Vd] = keep_half(result, op.Q);
}

template <class M>
KVRM_INLINE void CMEQ_zero_v(Cpu& cpu, M&, const isa::CMEQ_zero_v& op) {
  each_element(cpu, op, []<class E>(E n, E) { return all_ones_if<E>(n == 0); });
}

template <class M>
KVRM_INLINE void CMGT_zero_v(Cpu& cpu, M&, const isa::CMGT_zero_v& op) {
  each_element(cpu, op, []<class E>(E n, E) { return all_ones_if<E>(signed_less(E{0}, n)); });
}

template <class M>
KVRM_INLINE void CMGE_zero_v(Cpu& cpu, M&, const isa::CMGE_zero_v& op) {
  each_element(cpu, op, []<class E>(E n, E) { return all_ones_if<E>(!signed_less(n, E{0})); });
}

template <class M>
KVRM_INLINE void CMLE_zero_v(Cpu& cpu, M&, const isa::CMLE_zero_v& op) {
  each_element(cpu, op, []<class E>(E n, E) { return all_ones_if<E>(!signed_less(E{0}, n)); });
}

template <class M>
KVRM_INLINE void CMLT_zero_v(Cpu& cpu, M&, const isa::CMLT_zero_v& op) {
  each_element(cpu, op, []<class E>(E n, E) { return all_ones_if<E>(signed_less(n, E{0})); });
}

template <class M>
KVRM_INLINE void NOT_v(Cpu& cpu, M&, const isa::NOT_v& op) {
  const U128 n = cpu.q[op.Vn];
  cpu.q[op.Vd] = keep_half({~n.lo, ~n.hi}, op.Q);
}

template <class M>
KVRM_INLINE void XTN_v(Cpu& cpu, M&, const isa::XTN_v& op) {
  const U128 n = cpu.q[op.Vn];
  const U128 d = cpu.q[op.Vd];
  cpu.q[op.Vd] = place_narrow(d, narrow(n, op.size, 0), op.Q);
}

}  // namespace kvrm::semantics
