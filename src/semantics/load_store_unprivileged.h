// Load/store register (unprivileged). At EL0 these are ordinary accesses.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/load_store.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE Trap STTRB(Cpu& cpu, M& memory, const isa::STTRB& op) {
  return access_STRB(cpu, memory, op, cpu.x[op.Rn] + offset_of(op.simm9));
}

template <class M>
KVRM_INLINE Trap LDTRB(Cpu& cpu, M& memory, const isa::LDTRB& op) {
  return access_LDRB(cpu, memory, op, cpu.x[op.Rn] + offset_of(op.simm9));
}

template <class M>
KVRM_INLINE Trap LDTRSB(Cpu& cpu, M& memory, const isa::LDTRSB& op) {
  return access_LDRSB(cpu, memory, op, cpu.x[op.Rn] + offset_of(op.simm9));
}

template <class M>
KVRM_INLINE Trap STTRH(Cpu& cpu, M& memory, const isa::STTRH& op) {
  return access_STRH(cpu, memory, op, cpu.x[op.Rn] + offset_of(op.simm9));
}

template <class M>
KVRM_INLINE Trap LDTRH(Cpu& cpu, M& memory, const isa::LDTRH& op) {
  return access_LDRH(cpu, memory, op, cpu.x[op.Rn] + offset_of(op.simm9));
}

template <class M>
KVRM_INLINE Trap LDTRSH(Cpu& cpu, M& memory, const isa::LDTRSH& op) {
  return access_LDRSH(cpu, memory, op, cpu.x[op.Rn] + offset_of(op.simm9));
}

template <class M>
KVRM_INLINE Trap STTR(Cpu& cpu, M& memory, const isa::STTR& op) {
  return access_STR(cpu, memory, op, cpu.x[op.Rn] + offset_of(op.simm9));
}

template <class M>
KVRM_INLINE Trap LDTR(Cpu& cpu, M& memory, const isa::LDTR& op) {
  return access_LDR(cpu, memory, op, cpu.x[op.Rn] + offset_of(op.simm9));
}

template <class M>
KVRM_INLINE Trap LDTRSW(Cpu& cpu, M& memory, const isa::LDTRSW& op) {
  return access_LDRSW(cpu, memory, op, cpu.x[op.Rn] + offset_of(op.simm9));
}

}  // namespace kvrm::semantics
