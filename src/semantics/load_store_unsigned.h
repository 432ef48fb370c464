// Load/store register (unsigned immediate).
#pragma once

#include "isa/a64_operands.h"
#include "semantics/load_store.h"

namespace kvrm::semantics {

template <class Op>
KVRM_INLINE u64 scaled_address(const Cpu& cpu, const Op& op, u32 scale) {
  return cpu.x[op.Rn] + (u64{op.imm12} << scale);
}

template <class M>
KVRM_INLINE Trap STRB_imm(Cpu& cpu, M& memory, const isa::STRB_imm& op) {
  return access_STRB(cpu, memory, op, scaled_address(cpu, op, kScaleB));
}

template <class M>
KVRM_INLINE Trap LDRB_imm(Cpu& cpu, M& memory, const isa::LDRB_imm& op) {
  return access_LDRB(cpu, memory, op, scaled_address(cpu, op, kScaleB));
}

template <class M>
KVRM_INLINE Trap LDRSB_imm(Cpu& cpu, M& memory, const isa::LDRSB_imm& op) {
  return access_LDRSB(cpu, memory, op, scaled_address(cpu, op, kScaleB));
}

template <class M>
KVRM_INLINE Trap STRH_imm(Cpu& cpu, M& memory, const isa::STRH_imm& op) {
  return access_STRH(cpu, memory, op, scaled_address(cpu, op, kScaleH));
}

template <class M>
KVRM_INLINE Trap LDRH_imm(Cpu& cpu, M& memory, const isa::LDRH_imm& op) {
  return access_LDRH(cpu, memory, op, scaled_address(cpu, op, kScaleH));
}

template <class M>
KVRM_INLINE Trap LDRSH_imm(Cpu& cpu, M& memory, const isa::LDRSH_imm& op) {
  return access_LDRSH(cpu, memory, op, scaled_address(cpu, op, kScaleH));
}

template <class M>
KVRM_INLINE Trap STR_imm(Cpu& cpu, M& memory, const isa::STR_imm& op) {
  return access_STR(cpu, memory, op, scaled_address(cpu, op, 2u + op.sf));
}

template <class M>
KVRM_INLINE Trap LDR_imm(Cpu& cpu, M& memory, const isa::LDR_imm& op) {
  return access_LDR(cpu, memory, op, scaled_address(cpu, op, 2u + op.sf));
}

template <class M>
KVRM_INLINE Trap LDRSW_imm(Cpu& cpu, M& memory, const isa::LDRSW_imm& op) {
  return access_LDRSW(cpu, memory, op, scaled_address(cpu, op, kScaleW));
}

template <class M>
KVRM_INLINE Trap STR_imm_v(Cpu& cpu, M& memory, const isa::STR_imm_v& op) {
  return access_STR_v(cpu, memory, op, scaled_address(cpu, op, op.scale));
}

template <class M>
KVRM_INLINE Trap LDR_imm_v(Cpu& cpu, M& memory, const isa::LDR_imm_v& op) {
  return access_LDR_v(cpu, memory, op, scaled_address(cpu, op, op.scale));
}

}  // namespace kvrm::semantics
