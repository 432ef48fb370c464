// Unconditional branch (register).
#pragma once

#include "isa/a64_operands.h"
#include "semantics/branches.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE void BR(Cpu& cpu, M&, const isa::BR& op) {
  branch_to(cpu, cpu.x[op.Rn]);
}

template <class M>
KVRM_INLINE void BLR(Cpu& cpu, M&, const isa::BLR& op) {
  const u64 target = cpu.x[op.Rn];  // before the link register is written, which may be Rn
  write(cpu, 30, cpu.pc + kInstructionBytes);
  branch_to(cpu, target);
}

template <class M>
KVRM_INLINE void RET(Cpu& cpu, M&, const isa::RET& op) {
  branch_to(cpu, cpu.x[op.Rn]);
}

}  // namespace kvrm::semantics
