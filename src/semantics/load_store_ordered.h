// Load-acquire, store-release, limited ordering (LDLAR, STLLR) and LDAPR: aligned accesses between fences. A
// store-release comes before a later load-acquire, which is why that has a fence on both sides; LDAPR has only one.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/load_store.h"

namespace kvrm::semantics {

template <class T, class M>
KVRM_INLINE Trap load_acquire_pc(Cpu& cpu, M& memory, u8 to, u64 address) {
  KVRM_TRY(check_aligned<T>(cpu, address, Access::kRead));
  KVRM_TRY(load_register<T>(cpu, memory, to, address));
  memory.fence();
  return Trap::kNone;
}

template <class T, class M>
KVRM_INLINE Trap load_acquire(Cpu& cpu, M& memory, u8 to, u64 address) {
  memory.fence();
  return load_acquire_pc<T>(cpu, memory, to, address);
}

template <class T, class M>
KVRM_INLINE Trap store_release(Cpu& cpu, M& memory, u8 from, u64 address) {
  KVRM_TRY(check_aligned<T>(cpu, address, Access::kWrite));
  memory.fence();
  return store_register<T>(cpu, memory, from, address);
}

template <class M>
KVRM_INLINE Trap LDARB(Cpu& cpu, M& memory, const isa::LDARB& op) {
  return load_acquire<u8>(cpu, memory, op.Rt, cpu.x[op.Rn]);
}

template <class M>
KVRM_INLINE Trap LDARH(Cpu& cpu, M& memory, const isa::LDARH& op) {
  return load_acquire<u16>(cpu, memory, op.Rt, cpu.x[op.Rn]);
}

template <class M>
KVRM_INLINE Trap LDAR(Cpu& cpu, M& memory, const isa::LDAR& op) {
  return op.sf ? load_acquire<u64>(cpu, memory, op.Rt, cpu.x[op.Rn])
               : load_acquire<u32>(cpu, memory, op.Rt, cpu.x[op.Rn]);
}

template <class M>
KVRM_INLINE Trap LDLARB(Cpu& cpu, M& memory, const isa::LDLARB& op) {
  return load_acquire<u8>(cpu, memory, op.Rt, cpu.x[op.Rn]);
}

template <class M>
KVRM_INLINE Trap LDLARH(Cpu& cpu, M& memory, const isa::LDLARH& op) {
  return load_acquire<u16>(cpu, memory, op.Rt, cpu.x[op.Rn]);
}

template <class M>
KVRM_INLINE Trap LDLAR(Cpu& cpu, M& memory, const isa::LDLAR& op) {
  return op.sf ? load_acquire<u64>(cpu, memory, op.Rt, cpu.x[op.Rn])
               : load_acquire<u32>(cpu, memory, op.Rt, cpu.x[op.Rn]);
}

template <class M>
KVRM_INLINE Trap LDAPRB(Cpu& cpu, M& memory, const isa::LDAPRB& op) {
  return load_acquire_pc<u8>(cpu, memory, op.Rt, cpu.x[op.Rn]);
}

template <class M>
KVRM_INLINE Trap LDAPRH(Cpu& cpu, M& memory, const isa::LDAPRH& op) {
  return load_acquire_pc<u16>(cpu, memory, op.Rt, cpu.x[op.Rn]);
}

template <class M>
KVRM_INLINE Trap LDAPR(Cpu& cpu, M& memory, const isa::LDAPR& op) {
  return op.sf ? load_acquire_pc<u64>(cpu, memory, op.Rt, cpu.x[op.Rn])
               : load_acquire_pc<u32>(cpu, memory, op.Rt, cpu.x[op.Rn]);
}

template <class M>
KVRM_INLINE Trap STLRB(Cpu& cpu, M& memory, const isa::STLRB& op) {
  return store_release<u8>(cpu, memory, op.Rt, cpu.x[op.Rn]);
}

template <class M>
KVRM_INLINE Trap STLRH(Cpu& cpu, M& memory, const isa::STLRH& op) {
  return store_release<u16>(cpu, memory, op.Rt, cpu.x[op.Rn]);
}

template <class M>
KVRM_INLINE Trap STLR(Cpu& cpu, M& memory, const isa::STLR& op) {
  return op.sf ? store_release<u64>(cpu, memory, op.Rt, cpu.x[op.Rn])
               : store_release<u32>(cpu, memory, op.Rt, cpu.x[op.Rn]);
}

template <class M>
KVRM_INLINE Trap STLLRB(Cpu& cpu, M& memory, const isa::STLLRB& op) {
  return store_release<u8>(cpu, memory, op.Rt, cpu.x[op.Rn]);
}

template <class M>
KVRM_INLINE Trap STLLRH(Cpu& cpu, M& memory, const isa::STLLRH& op) {
  return store_release<u16>(cpu, memory, op.Rt, cpu.x[op.Rn]);
}

template <class M>
KVRM_INLINE Trap STLLR(Cpu& cpu, M& memory, const isa::STLLR& op) {
  return op.sf ? store_release<u64>(cpu, memory, op.Rt, cpu.x[op.Rn])
               : store_release<u32>(cpu, memory, op.Rt, cpu.x[op.Rn]);
}

}  // namespace kvrm::semantics
