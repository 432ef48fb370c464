// Exception generation. What follows from a trap is the driver's business.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/branches.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE Trap UDF(Cpu&, M&, const isa::UDF&) {
  return Trap::kUndefined;
}

template <class M>
KVRM_INLINE Trap SVC(Cpu& cpu, M&, const isa::SVC& op) {
  cpu.pc += kInstructionBytes;
  cpu.fault_address = op.imm16;
  cpu.exclusive_size = 0;
  return Trap::kSystemCall;
}

template <class M>
KVRM_INLINE Trap BRK(Cpu& cpu, M&, const isa::BRK& op) {
  cpu.fault_address = op.imm16;
  return Trap::kBreakpoint;
}

template <class M>
KVRM_INLINE Trap HLT(Cpu& cpu, M&, const isa::HLT& op) {
  cpu.fault_address = op.imm16;
  return Trap::kHalt;
}

}  // namespace kvrm::semantics
