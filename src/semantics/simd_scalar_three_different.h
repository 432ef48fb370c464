// Advanced SIMD scalar three different: saturating doubling products of twice the width.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/simd_scalar_forms.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE void SQDMLAL_sv(Cpu& cpu, M&, const isa::SQDMLAL_sv& op) {
  scalar_multiply_accumulate_long<false>(cpu, op);
}

template <class M>
KVRM_INLINE void SQDMLSL_sv(Cpu& cpu, M&, const isa::SQDMLSL_sv& op) {
  scalar_multiply_accumulate_long<true>(cpu, op);
}

template <class M>
KVRM_INLINE void SQDMULL_sv(Cpu& cpu, M&, const isa::SQDMULL_sv& op) {
  scalar_multiply_long(cpu, op);
}

}  // namespace kvrm::semantics
