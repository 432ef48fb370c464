// Load/store register (register offset).
#pragma once

#include "isa/a64_operands.h"
#include "semantics/load_store.h"

namespace kvrm::semantics {

// The index, extended as option says and shifted by the access size if S is set.
template <class Op>
KVRM_INLINE u64 indexed_address(const Cpu& cpu, const Op& op, u32 scale) {
  return cpu.x[op.Rn] + extend(cpu.x[op.Rm], op.option, op.S ? scale : 0);
}

template <class M>
KVRM_INLINE Trap STRB_reg(Cpu& cpu, M& memory, const isa::STRB_reg& op) {
  return access_STRB(cpu, memory, op, indexed_address(cpu, op, kScaleB));
}

template <class M>
KVRM_INLINE Trap LDRB_reg(Cpu& cpu, M& memory, const isa::LDRB_reg& op) {
  return access_LDRB(cpu, memory, op, indexed_address(cpu, op, kScaleB));
}

template <class M>
KVRM_INLINE Trap LDRSB_reg(Cpu& cpu, M& memory, const isa::LDRSB_reg& op) {
  return access_LDRSB(cpu, memory, op, indexed_address(cpu, op, kScaleB));
}

template <class M>
KVRM_INLINE Trap STRH_reg(Cpu& cpu, M& memory, const isa::STRH_reg& op) {
  return access_STRH(cpu, memory, op, indexed_address(cpu, op, kScaleH));
}

template <class M>
KVRM_INLINE Trap LDRH_reg(Cpu& cpu, M& memory, const isa::LDRH_reg& op) {
  return access_LDRH(cpu, memory, op, indexed_address(cpu, op, kScaleH));
}

template <class M>
KVRM_INLINE Trap LDRSH_reg(Cpu& cpu, M& memory, const isa::LDRSH_reg& op) {
  return access_LDRSH(cpu, memory, op, indexed_address(cpu, op, kScaleH));
}

template <class M>
KVRM_INLINE Trap STR_reg(Cpu& cpu, M& memory, const isa::STR_reg& op) {
  return access_STR(cpu, memory, op, indexed_address(cpu, op, 2u + op.sf));
}

template <class M>
KVRM_INLINE Trap LDR_reg(Cpu& cpu, M& memory, const isa::LDR_reg& op) {
  return access_LDR(cpu, memory, op, indexed_address(cpu, op, 2u + op.sf));
}

template <class M>
KVRM_INLINE Trap LDRSW_reg(Cpu& cpu, M& memory, const isa::LDRSW_reg& op) {
  return access_LDRSW(cpu, memory, op, indexed_address(cpu, op, kScaleW));
}

template <class M>
KVRM_INLINE Trap STR_reg_v(Cpu& cpu, M& memory, const isa::STR_reg_v& op) {
  return access_STR_v(cpu, memory, op, indexed_address(cpu, op, op.scale));
}

template <class M>
KVRM_INLINE Trap LDR_reg_v(Cpu& cpu, M& memory, const isa::LDR_reg_v& op) {
  return access_LDR_v(cpu, memory, op, indexed_address(cpu, op, op.scale));
}

}  // namespace kvrm::semantics
