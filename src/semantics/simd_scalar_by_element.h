// Advanced SIMD scalar x indexed element: the integer rows.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/simd_scalar_forms.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE void SQDMLAL_sv_elem(Cpu& cpu, M&, const isa::SQDMLAL_sv_elem& op) {
  scalar_multiply_accumulate_long<false>(cpu, op);
}

template <class M>
KVRM_INLINE void SQDMLSL_sv_elem(Cpu& cpu, M&, const isa::SQDMLSL_sv_elem& op) {
  scalar_multiply_accumulate_long<true>(cpu, op);
}

template <class M>
KVRM_INLINE void SQDMULL_sv_elem(Cpu& cpu, M&, const isa::SQDMULL_sv_elem& op) {
  scalar_multiply_long(cpu, op);
}

template <class M>
KVRM_INLINE void SQDMULH_sv_elem(Cpu& cpu, M&, const isa::SQDMULH_sv_elem& op) {
  scalar_multiply_high<false>(cpu, op);
}

template <class M>
KVRM_INLINE void SQRDMULH_sv_elem(Cpu& cpu, M&, const isa::SQRDMULH_sv_elem& op) {
  scalar_multiply_high<true>(cpu, op);
}

template <class M>
KVRM_INLINE void SQRDMLAH_sv_elem(Cpu& cpu, M&, const isa::SQRDMLAH_sv_elem& op) {
  scalar_multiply_accumulate_high<false>(cpu, op);
}

template <class M>
KVRM_INLINE void SQRDMLSH_sv_elem(Cpu& cpu, M&, const isa::SQRDMLSH_sv_elem& op) {
  scalar_multiply_accumulate_high<true>(cpu, op);
}

}  // namespace kvrm::semantics
