// Load/store register (immediate post-indexed and pre-indexed). The base is written once the access has succeeded;
// a register that is both loaded and the base is unpredictable, and ends as the base.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/load_store.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE Trap STRB_post(Cpu& cpu, M& memory, const isa::STRB_post& op) {
  const u64 base = cpu.x[op.Rn];
  KVRM_TRY(access_STRB(cpu, memory, op, base));
  write(cpu, op.Rn, base + offset_of(op.simm9));
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap LDRB_post(Cpu& cpu, M& memory, const isa::LDRB_post& op) {
  const u64 base = cpu.x[op.Rn];
  KVRM_TRY(access_LDRB(cpu, memory, op, base));
  write(cpu, op.Rn, base + offset_of(op.simm9));
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap LDRSB_post(Cpu& cpu, M& memory, const isa::LDRSB_post& op) {
  const u64 base = cpu.x[op.Rn];
  KVRM_TRY(access_LDRSB(cpu, memory, op, base));
  write(cpu, op.Rn, base + offset_of(op.simm9));
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap STRH_post(Cpu& cpu, M& memory, const isa::STRH_post& op) {
  const u64 base = cpu.x[op.Rn];
  KVRM_TRY(access_STRH(cpu, memory, op, base));
  write(cpu, op.Rn, base + offset_of(op.simm9));
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap LDRH_post(Cpu& cpu, M& memory, const isa::LDRH_post& op) {
  const u64 base = cpu.x[op.Rn];
  KVRM_TRY(access_LDRH(cpu, memory, op, base));
  write(cpu, op.Rn, base + offset_of(op.simm9));
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap LDRSH_post(Cpu& cpu, M& memory, const isa::LDRSH_post& op) {
  const u64 base = cpu.x[op.Rn];
  KVRM_TRY(access_LDRSH(cpu, memory, op, base));
  write(cpu, op.Rn, base + offset_of(op.simm9));
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap STR_post(Cpu& cpu, M& memory, const isa::STR_post& op) {
  const u64 base = cpu.x[op.Rn];
  KVRM_TRY(access_STR(cpu, memory, op, base));
  write(cpu, op.Rn, base + offset_of(op.simm9));
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap LDR_post(Cpu& cpu, M& memory, const isa::LDR_post& op) {
  const u64 base = cpu.x[op.Rn];
  KVRM_TRY(access_LDR(cpu, memory, op, base));
  write(cpu, op.Rn, base + offset_of(op.simm9));
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap LDRSW_post(Cpu& cpu, M& memory, const isa::LDRSW_post& op) {
  const u64 base = cpu.x[op.Rn];
  KVRM_TRY(access_LDRSW(cpu, memory, op, base));
  write(cpu, op.Rn, base + offset_of(op.simm9));
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap STR_post_v(Cpu& cpu, M& memory, const isa::STR_post_v& op) {
  const u64 base = cpu.x[op.Rn];
  KVRM_TRY(access_STR_v(cpu, memory, op, base));
  write(cpu, op.Rn, base + offset_of(op.simm9));
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap LDR_post_v(Cpu& cpu, M& memory, const isa::LDR_post_v& op) {
  const u64 base = cpu.x[op.Rn];
  KVRM_TRY(access_LDR_v(cpu, memory, op, base));
  write(cpu, op.Rn, base + offset_of(op.simm9));
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap STRB_pre(Cpu& cpu, M& memory, const isa::STRB_pre& op) {
  const u64 base = cpu.x[op.Rn] + offset_of(op.simm9);
  KVRM_TRY(access_STRB(cpu, memory, op, base));
  write(cpu, op.Rn, base);
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap LDRB_pre(Cpu& cpu, M& memory, const isa::LDRB_pre& op) {
  const u64 base = cpu.x[op.Rn] + offset_of(op.simm9);
  KVRM_TRY(access_LDRB(cpu, memory, op, base));
  write(cpu, op.Rn, base);
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap LDRSB_pre(Cpu& cpu, M& memory, const isa::LDRSB_pre& op) {
  const u64 base = cpu.x[op.Rn] + offset_of(op.simm9);
  KVRM_TRY(access_LDRSB(cpu, memory, op, base));
  write(cpu, op.Rn, base);
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap STRH_pre(Cpu& cpu, M& memory, const isa::STRH_pre& op) {
  const u64 base = cpu.x[op.Rn] + offset_of(op.simm9);
  KVRM_TRY(access_STRH(cpu, memory, op, base));
  write(cpu, op.Rn, base);
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap LDRH_pre(Cpu& cpu, M& memory, const isa::LDRH_pre& op) {
  const u64 base = cpu.x[op.Rn] + offset_of(op.simm9);
  KVRM_TRY(access_LDRH(cpu, memory, op, base));
  write(cpu, op.Rn, base);
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap LDRSH_pre(Cpu& cpu, M& memory, const isa::LDRSH_pre& op) {
  const u64 base = cpu.x[op.Rn] + offset_of(op.simm9);
  KVRM_TRY(access_LDRSH(cpu, memory, op, base));
  write(cpu, op.Rn, base);
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap STR_pre(Cpu& cpu, M& memory, const isa::STR_pre& op) {
  const u64 base = cpu.x[op.Rn] + offset_of(op.simm9);
  KVRM_TRY(access_STR(cpu, memory, op, base));
  write(cpu, op.Rn, base);
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap LDR_pre(Cpu& cpu, M& memory, const isa::LDR_pre& op) {
  const u64 base = cpu.x[op.Rn] + offset_of(op.simm9);
  KVRM_TRY(access_LDR(cpu, memory, op, base));
  write(cpu, op.Rn, base);
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap LDRSW_pre(Cpu& cpu, M& memory, const isa::LDRSW_pre& op) {
  const u64 base = cpu.x[op.Rn] + offset_of(op.simm9);
  KVRM_TRY(access_LDRSW(cpu, memory, op, base));
  write(cpu, op.Rn, base);
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap STR_pre_v(Cpu& cpu, M& memory, const isa::STR_pre_v& op) {
  const u64 base = cpu.x[op.Rn] + offset_of(op.simm9);
  KVRM_TRY(access_STR_v(cpu, memory, op, base));
  write(cpu, op.Rn, base);
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap LDR_pre_v(Cpu& cpu, M& memory, const isa::LDR_pre_v& op) {
  const u64 base = cpu.x[op.Rn] + offset_of(op.simm9);
  KVRM_TRY(access_LDR_v(cpu, memory, op, base));
  write(cpu, op.Rn, base);
  return Trap::kNone;
}

}  // namespace kvrm::semantics
