// Test and branch (immediate).
#pragma once

#include "isa/a64_operands.h"
#include "semantics/branches.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE void TBZ(Cpu& cpu, M&, const isa::TBZ& op) {
  branch_if(cpu, (cpu.x[op.Rt] >> op.bit & 1) == 0, op.simm14);
}

template <class M>
KVRM_INLINE void TBNZ(Cpu& cpu, M&, const isa::TBNZ& op) {
  branch_if(cpu, (cpu.x[op.Rt] >> op.bit & 1) != 0, op.simm14);
}

}  // namespace kvrm::semantics
