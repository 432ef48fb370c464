// Logical (immediate).
#pragma once

#include "isa/a64_operands.h"
#include "semantics/operands.h"

namespace kvrm::semantics {

template <class Op>
KVRM_INLINE u64 bitmask_of(const Op& op) {
  return bitmask_immediate(op.N, op.imms, op.immr);
}

template <class M>
KVRM_INLINE void AND_imm(Cpu& cpu, M&, const isa::AND_imm& op) {
  write_sized(cpu, op.sf, op.Rd, cpu.x[op.Rn] & bitmask_of(op));
}

template <class M>
KVRM_INLINE void ORR_imm(Cpu& cpu, M&, const isa::ORR_imm& op) {
  write_sized(cpu, op.sf, op.Rd, cpu.x[op.Rn] | bitmask_of(op));
}

template <class M>
KVRM_INLINE void EOR_imm(Cpu& cpu, M&, const isa::EOR_imm& op) {
  write_sized(cpu, op.sf, op.Rd, cpu.x[op.Rn] ^ bitmask_of(op));
}

// The flags of a logical result: N and Z from the value, C and V clear.
KVRM_INLINE void set_logical_flags(Cpu& cpu, bool is_64, u64 value) {
  if (is_64) {
    set_nz<u64>(cpu, value);
  } else {
    set_nz<u32>(cpu, static_cast<u32>(value));
  }
  cpu.c = 0;
  cpu.v = 0;
}

template <class M>
KVRM_INLINE void ANDS_imm(Cpu& cpu, M&, const isa::ANDS_imm& op) {
  const u64 value = cpu.x[op.Rn] & bitmask_of(op);
  set_logical_flags(cpu, op.sf, value);
  write_sized(cpu, op.sf, op.Rd, value);
}

}  // namespace kvrm::semantics
