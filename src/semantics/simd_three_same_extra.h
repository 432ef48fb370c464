// Advanced SIMD three same extra: dot products (FEAT_DotProd) and the rounding doubling multiply-accumulate of
// FEAT_RDM.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/simd_dot_product.h"
#include "semantics/simd_forms.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE void SDOT_v(Cpu& cpu, M&, const isa::SDOT_v& op) {
  write_vector(cpu, op, dot_product<true>(cpu.q[op.Vd], cpu.q[op.Vn], cpu.q[op.Vm]));
}

template <class M>
KVRM_INLINE void UDOT_v(Cpu& cpu, M&, const isa::UDOT_v& op) {
  write_vector(cpu, op, dot_product<false>(cpu.q[op.Vd], cpu.q[op.Vn], cpu.q[op.Vm]));
}

template <class M>
KVRM_INLINE void SQRDMLAH_v(Cpu& cpu, M&, const isa::SQRDMLAH_v& op) {
  binary_onto<Size::kH, Size::kS>(cpu, op, []<class E>(E d, E n, E m) KVRM_LAMBDA {
    return saturating_doubling_multiply_accumulate_high<false, true>(d, n, m);
  });
}

template <class M>
KVRM_INLINE void SQRDMLSH_v(Cpu& cpu, M&, const isa::SQRDMLSH_v& op) {
  binary_onto<Size::kH, Size::kS>(cpu, op, []<class E>(E d, E n, E m) KVRM_LAMBDA {
    return saturating_doubling_multiply_accumulate_high<true, true>(d, n, m);
  });
}

}  // namespace kvrm::semantics
