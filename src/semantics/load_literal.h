// Load register (literal). The driver has set cpu.pc to this instruction.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/load_store.h"

namespace kvrm::semantics {

template <class Op>
KVRM_INLINE u64 literal_address(const Cpu& cpu, const Op& op) {
  return cpu.pc + offset_of(op.simm19 * 4);
}

template <class M>
KVRM_INLINE Trap LDR_lit(Cpu& cpu, M& memory, const isa::LDR_lit& op) {
  return access_LDR(cpu, memory, op, literal_address(cpu, op));
}

template <class M>
KVRM_INLINE Trap LDRSW_lit(Cpu& cpu, M& memory, const isa::LDRSW_lit& op) {
  return access_LDRSW(cpu, memory, op, literal_address(cpu, op));
}

template <class M>
KVRM_INLINE Trap LDR_lit_v(Cpu& cpu, M& memory, const isa::LDR_lit_v& op) {
  return load_vector(cpu, memory, op.Vt, static_cast<u8>(op.opc + 2), literal_address(cpu, op));
}

}  // namespace kvrm::semantics
