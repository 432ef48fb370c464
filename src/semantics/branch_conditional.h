// Conditional branch (immediate).
#pragma once

#include "isa/a64_operands.h"
#include "semantics/branches.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE void B_cond(Cpu& cpu, M&, const isa::B_cond& op) {
  branch_if(cpu, condition_holds(cpu, op.cond), op.simm19);
}

}  // namespace kvrm::semantics
