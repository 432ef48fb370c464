// PC-relative addressing. The driver has set cpu.pc to this instruction.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/registers.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE void ADR(Cpu& cpu, M&, const isa::ADR& op) {
  write(cpu, op.Rd, cpu.pc + static_cast<u64>(static_cast<i64>(op.simm)));
}

template <class M>
KVRM_INLINE void ADRP(Cpu& cpu, M&, const isa::ADRP& op) {
  write(cpu, op.Rd, (cpu.pc & ~u64{0xfff}) + (static_cast<u64>(static_cast<i64>(op.simm)) << 12));
}

}  // namespace kvrm::semantics
