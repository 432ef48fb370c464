// Advanced SIMD scalar copy.
#pragma once

#include "semantics/simd_copy.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE void DUP_elem_sv(Cpu& cpu, M&, const isa::DUP_elem_sv& op) {
  const U128 source = cpu.q[op.Vn];
  cpu.q[op.Vd] = U128{element_bits(source, copy_scale(op.imm5), copy_index(op.imm5)), 0};
}

}  // namespace kvrm::semantics
