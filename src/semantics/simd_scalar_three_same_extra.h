// Advanced SIMD scalar three same extra: the rounding doubling multiply-accumulate of FEAT_RDM.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/simd_scalar_forms.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE void SQRDMLAH_sv(Cpu& cpu, M&, const isa::SQRDMLAH_sv& op) {
  scalar_multiply_accumulate_high<false>(cpu, op);
}

template <class M>
KVRM_INLINE void SQRDMLSH_sv(Cpu& cpu, M&, const isa::SQRDMLSH_sv& op) {
  scalar_multiply_accumulate_high<true>(cpu, op);
}

}  // namespace kvrm::semantics
