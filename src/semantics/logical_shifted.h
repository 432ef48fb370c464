// Logical (shifted register).
#pragma once

#include "isa/a64_operands.h"
#include "semantics/add_sub_shifted.h"
#include "semantics/logical_immediate.h"

namespace kvrm::semantics {

// The second operand, zero-extended from its width.
template <class Op>
KVRM_INLINE u64 shifted_operand(const Cpu& cpu, const Op& op) {
  return op.sf ? shifted_register<u64>(cpu, op) : shifted_register<u32>(cpu, op);
}

template <class M>
KVRM_INLINE void AND_shift(Cpu& cpu, M&, const isa::AND_shift& op) {
  write_sized(cpu, op.sf, op.Rd, cpu.x[op.Rn] & shifted_operand(cpu, op));
}

template <class M>
KVRM_INLINE void BIC_shift(Cpu& cpu, M&, const isa::BIC_shift& op) {
  write_sized(cpu, op.sf, op.Rd, cpu.x[op.Rn] & ~shifted_operand(cpu, op));
}

template <class M>
KVRM_INLINE void ORR_shift(Cpu& cpu, M&, const isa::ORR_shift& op) {
  write_sized(cpu, op.sf, op.Rd, cpu.x[op.Rn] | shifted_operand(cpu, op));
}

template <class M>
KVRM_INLINE void ORN_shift(Cpu& cpu, M&, const isa::ORN_shift& op) {
  write_sized(cpu, op.sf, op.Rd, cpu.x[op.Rn] | ~shifted_operand(cpu, op));
}

template <class M>
KVRM_INLINE void EOR_shift(Cpu& cpu, M&, const isa::EOR_shift& op) {
  write_sized(cpu, op.sf, op.Rd, cpu.x[op.Rn] ^ shifted_operand(cpu, op));
}

template <class M>
KVRM_INLINE void EON_shift(Cpu& cpu, M&, const isa::EON_shift& op) {
  write_sized(cpu, op.sf, op.Rd, cpu.x[op.Rn] ^ ~shifted_operand(cpu, op));
}

template <class M>
KVRM_INLINE void ANDS_shift(Cpu& cpu, M&, const isa::ANDS_shift& op) {
  const u64 value = cpu.x[op.Rn] & shifted_operand(cpu, op);
  set_logical_flags(cpu, op.sf, value);
  write_sized(cpu, op.sf, op.Rd, value);
}

template <class M>
KVRM_INLINE void BICS_shift(Cpu& cpu, M&, const isa::BICS_shift& op) {
  const u64 value = cpu.x[op.Rn] & ~shifted_operand(cpu, op);
  set_logical_flags(cpu, op.sf, value);
  write_sized(cpu, op.sf, op.Rd, value);
}

}  // namespace kvrm::semantics
