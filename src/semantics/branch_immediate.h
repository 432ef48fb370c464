// Unconditional branch (immediate).
#pragma once

#include "isa/a64_operands.h"
#include "semantics/branches.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE void B(Cpu& cpu, M&, const isa::B& op) {
  branch_by(cpu, op.simm26);
}

template <class M>
KVRM_INLINE void BL(Cpu& cpu, M&, const isa::BL& op) {
  write(cpu, 30, cpu.pc + kInstructionBytes);
  branch_by(cpu, op.simm26);
}

}  // namespace kvrm::semantics
