// Advanced SIMD scalar pairwise.
#pragma once

#include "base/cpu.h"
#include "isa/a64_operands.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE void ADDP_sv(Cpu& cpu, M&, const isa::ADDP_sv& op) {
  const U128 n = cpu.q[op.Vn];
  cpu.q[op.Vd] = U128{n.lo + n.hi, 0};
}

}  // namespace kvrm::semantics
