// Load/store register (unscaled immediate).
#pragma once

#include "isa/a64_operands.h"
#include "semantics/load_store.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE Trap STURB(Cpu& cpu, M& memory, const isa::STURB& op) {
  return access_STRB(cpu, memory, op, cpu.x[op.Rn] + offset_of(op.simm9));
}

template <class M>
KVRM_INLINE Trap LDURB(Cpu& cpu, M& memory, const isa::LDURB& op) {
  return access_LDRB(cpu, memory, op, cpu.x[op.Rn] + offset_of(op.simm9));
}

template <class M>
KVRM_INLINE Trap LDURSB(Cpu& cpu, M& memory, const isa::LDURSB& op) {
  return access_LDRSB(cpu, memory, op, cpu.x[op.Rn] + offset_of(op.simm9));
}

template <class M>
KVRM_INLINE Trap STURH(Cpu& cpu, M& memory, const isa::STURH& op) {
  return access_STRH(cpu, memory, op, cpu.x[op.Rn] + offset_of(op.simm9));
}

template <class M>
KVRM_INLINE Trap LDURH(Cpu& cpu, M& memory, const isa::LDURH& op) {
  return access_LDRH(cpu, memory, op, cpu.x[op.Rn] + offset_of(op.simm9));
}

template <class M>
KVRM_INLINE Trap LDURSH(Cpu& cpu, M& memory, const isa::LDURSH& op) {
  return access_LDRSH(cpu, memory, op, cpu.x[op.Rn] + offset_of(op.simm9));
}

template <class M>
KVRM_INLINE Trap STUR(Cpu& cpu, M& memory, const isa::STUR& op) {
  return access_STR(cpu, memory, op, cpu.x[op.Rn] + offset_of(op.simm9));
}

template <class M>
KVRM_INLINE Trap LDUR(Cpu& cpu, M& memory, const isa::LDUR& op) {
  return access_LDR(cpu, memory, op, cpu.x[op.Rn] + offset_of(op.simm9));
}

template <class M>
KVRM_INLINE Trap LDURSW(Cpu& cpu, M& memory, const isa::LDURSW& op) {
  return access_LDRSW(cpu, memory, op, cpu.x[op.Rn] + offset_of(op.simm9));
}

template <class M>
KVRM_INLINE Trap STUR_v(Cpu& cpu, M& memory, const isa::STUR_v& op) {
  return access_STR_v(cpu, memory, op, cpu.x[op.Rn] + offset_of(op.simm9));
}

template <class M>
KVRM_INLINE Trap LDUR_v(Cpu& cpu, M& memory, const isa::LDUR_v& op) {
  return access_LDR_v(cpu, memory, op, cpu.x[op.Rn] + offset_of(op.simm9));
}

}  // namespace kvrm::semantics
