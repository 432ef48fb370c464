// Exclusive loads and stores. The monitor remembers address, size and the value loaded; a store succeeds if memory
// still holds that value. Every engine and device then takes the same path.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/load_store.h"

namespace kvrm::semantics {

KVRM_INLINE U128 monitor_value(u64 value) { return {value, 0}; }
KVRM_INLINE U128 monitor_value(const U128& value) { return value; }
KVRM_INLINE U128 monitor_value(const Pair<u32>& value) { return {value.first | u64{value.second} << 32, 0}; }
KVRM_INLINE U128 monitor_value(const Pair<u64>& value) { return {value.first, value.second}; }

template <class T>
KVRM_INLINE T from_monitor(const U128& value) {
  if constexpr (sizeof(T) == 16) {
    return {value.lo, value.hi};
  } else if constexpr (requires(T pair) { pair.first; }) {
    return {static_cast<u32>(value.lo), static_cast<u32>(value.lo >> 32)};
  } else {
    return static_cast<T>(value.lo);
  }
}

template <class T, class M>
KVRM_INLINE Trap load_exclusive(Cpu& cpu, M& memory, u64 address, T& value) {
  KVRM_TRY(check_aligned<T>(cpu, address, Access::kRead));
  memory.fence();
  KVRM_TRY(memory.load(cpu, address, value));
  memory.fence();
  cpu.exclusive_address = address & kUntaggedAddress;
  cpu.exclusive_size = sizeof(T);
  cpu.exclusive_value = monitor_value(value);
  return Trap::kNone;
}

template <class T, class M>
KVRM_INLINE Trap load_exclusive_register(Cpu& cpu, M& memory, u8 to, u64 address) {
  T value{};
  KVRM_TRY(load_exclusive(cpu, memory, address, value));
  write(cpu, to, value);
  return Trap::kNone;
}

template <class T, class Op, class M>
KVRM_INLINE Trap load_exclusive_pair(Cpu& cpu, M& memory, const Op& op) {
  Pair<T> pair{};
  KVRM_TRY(load_exclusive(cpu, memory, cpu.x[op.Rn], pair));
  write(cpu, op.Rt, pair.first);
  write(cpu, op.Rt2, pair.second);
  return Trap::kNone;
}

// Writes 0 to status if the store happened, 1 if not.
template <class T, class M>
KVRM_INLINE Trap store_exclusive(Cpu& cpu, M& memory, u8 status, u64 address, const T& value) {
  u64 failed = 1;
  if (cpu.exclusive_size == sizeof(T) && cpu.exclusive_address == (address & kUntaggedAddress)) {
    const T expected = from_monitor<T>(cpu.exclusive_value);
    T observed{};
    memory.fence();
    KVRM_TRY(memory.compare_exchange(cpu, address, expected, value, observed));
    failed = !(observed == expected);
  }
  cpu.exclusive_size = 0;
  write(cpu, status, failed);
  return Trap::kNone;
}

template <class T, class Op, class M>
KVRM_INLINE Trap store_exclusive_pair(Cpu& cpu, M& memory, const Op& op) {
  return store_exclusive(cpu, memory, op.Rs, cpu.x[op.Rn], Pair<T>{read<T>(cpu, op.Rt), read<T>(cpu, op.Rt2)});
}

template <class M>
KVRM_INLINE Trap LDXRB(Cpu& cpu, M& memory, const isa::LDXRB& op) {
  return load_exclusive_register<u8>(cpu, memory, op.Rt, cpu.x[op.Rn]);
}

template <class M>
KVRM_INLINE Trap LDXRH(Cpu& cpu, M& memory, const isa::LDXRH& op) {
  return load_exclusive_register<u16>(cpu, memory, op.Rt, cpu.x[op.Rn]);
}

template <class M>
KVRM_INLINE Trap LDXR(Cpu& cpu, M& memory, const isa::LDXR& op) {
  return op.sf ? load_exclusive_register<u64>(cpu, memory, op.Rt, cpu.x[op.Rn])
               : load_exclusive_register<u32>(cpu, memory, op.Rt, cpu.x[op.Rn]);
}

template <class M>
KVRM_INLINE Trap LDAXRB(Cpu& cpu, M& memory, const isa::LDAXRB& op) {
  return load_exclusive_register<u8>(cpu, memory, op.Rt, cpu.x[op.Rn]);
}

template <class M>
KVRM_INLINE Trap LDAXRH(Cpu& cpu, M& memory, const isa::LDAXRH& op) {
  return load_exclusive_register<u16>(cpu, memory, op.Rt, cpu.x[op.Rn]);
}

template <class M>
KVRM_INLINE Trap LDAXR(Cpu& cpu, M& memory, const isa::LDAXR& op) {
  return op.sf ? load_exclusive_register<u64>(cpu, memory, op.Rt, cpu.x[op.Rn])
               : load_exclusive_register<u32>(cpu, memory, op.Rt, cpu.x[op.Rn]);
}

template <class M>
KVRM_INLINE Trap STXRB(Cpu& cpu, M& memory, const isa::STXRB& op) {
  return store_exclusive<u8>(cpu, memory, op.Rs, cpu.x[op.Rn], read<u8>(cpu, op.Rt));
}

template <class M>
KVRM_INLINE Trap STXRH(Cpu& cpu, M& memory, const isa::STXRH& op) {
  return store_exclusive<u16>(cpu, memory, op.Rs, cpu.x[op.Rn], read<u16>(cpu, op.Rt));
}

template <class M>
KVRM_INLINE Trap STXR(Cpu& cpu, M& memory, const isa::STXR& op) {
  return op.sf ? store_exclusive<u64>(cpu, memory, op.Rs, cpu.x[op.Rn], cpu.x[op.Rt])
               : store_exclusive<u32>(cpu, memory, op.Rs, cpu.x[op.Rn], read<u32>(cpu, op.Rt));
}

template <class M>
KVRM_INLINE Trap STLXRB(Cpu& cpu, M& memory, const isa::STLXRB& op) {
  return store_exclusive<u8>(cpu, memory, op.Rs, cpu.x[op.Rn], read<u8>(cpu, op.Rt));
}

template <class M>
KVRM_INLINE Trap STLXRH(Cpu& cpu, M& memory, const isa::STLXRH& op) {
  return store_exclusive<u16>(cpu, memory, op.Rs, cpu.x[op.Rn], read<u16>(cpu, op.Rt));
}

template <class M>
KVRM_INLINE Trap STLXR(Cpu& cpu, M& memory, const isa::STLXR& op) {
  return op.sf ? store_exclusive<u64>(cpu, memory, op.Rs, cpu.x[op.Rn], cpu.x[op.Rt])
               : store_exclusive<u32>(cpu, memory, op.Rs, cpu.x[op.Rn], read<u32>(cpu, op.Rt));
}

template <class M>
KVRM_INLINE Trap LDXP(Cpu& cpu, M& memory, const isa::LDXP& op) {
  return op.sf ? load_exclusive_pair<u64>(cpu, memory, op) : load_exclusive_pair<u32>(cpu, memory, op);
}

template <class M>
KVRM_INLINE Trap LDAXP(Cpu& cpu, M& memory, const isa::LDAXP& op) {
  return op.sf ? load_exclusive_pair<u64>(cpu, memory, op) : load_exclusive_pair<u32>(cpu, memory, op);
}

template <class M>
KVRM_INLINE Trap STXP(Cpu& cpu, M& memory, const isa::STXP& op) {
  return op.sf ? store_exclusive_pair<u64>(cpu, memory, op) : store_exclusive_pair<u32>(cpu, memory, op);
}

template <class M>
KVRM_INLINE Trap STLXP(Cpu& cpu, M& memory, const isa::STLXP& op) {
  return op.sf ? store_exclusive_pair<u64>(cpu, memory, op) : store_exclusive_pair<u32>(cpu, memory, op);
}

}  // namespace kvrm::semantics
