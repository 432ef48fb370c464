// Compare and branch (immediate).
#pragma once

#include "isa/a64_operands.h"
#include "semantics/branches.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE void CBZ(Cpu& cpu, M&, const isa::CBZ& op) {
  branch_if(cpu, read_sized(cpu, op.sf, op.Rt) == 0, op.simm19);
}

template <class M>
KVRM_INLINE void CBNZ(Cpu& cpu, M&, const isa::CBNZ& op) {
  branch_if(cpu, read_sized(cpu, op.sf, op.Rt) != 0, op.simm19);
}

}  // namespace kvrm::semantics
