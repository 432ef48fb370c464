// What all loads and stores share. Every access is one contiguous call of the memory policy, so all checks come
// before the first write to memory or state.
#pragma once

#include "semantics/operands.h"
#include "semantics/vector.h"

#define KVRM_TRY(expression) \
  if (const Trap trap = (expression); KVRM_UNLIKELY(trap != Trap::kNone)) return trap

namespace kvrm::semantics {

// Exclusive, ordered and atomic accesses must be aligned to their size; the architecture lets this core fault, and so
// does QEMU.
template <class T>
KVRM_INLINE Trap check_aligned(Cpu& cpu, u64 address, Access access) {
  if (KVRM_LIKELY((address & (sizeof(T) - 1)) == 0)) return Trap::kNone;
  cpu.fault_address = reported_address(address);
  cpu.fault_access = static_cast<u32>(access);
  return Trap::kAlignment;
}

// Two registers' worth of bytes side by side.
template <class T>
struct Pair {
  T first, second;
  friend constexpr bool operator==(const Pair&, const Pair&) = default;
};

// Loads a T and writes it as To: T itself for zero extension, a signed type for sign extension to that width.
template <class T, class To = u64, class M>
KVRM_INLINE Trap load_register(Cpu& cpu, M& memory, u8 to, u64 address) {
  T value{};
  KVRM_TRY(memory.load(cpu, address, value));
  if constexpr (sizeof(To) == 4) {
    write(cpu, to, static_cast<u32>(static_cast<i32>(static_cast<Signed<T>>(value))));
  } else if constexpr (static_cast<To>(-1) < 0) {
    write(cpu, to, static_cast<u64>(i64{static_cast<Signed<T>>(value)}));
  } else {
    write(cpu, to, value);
  }
  return Trap::kNone;
}

template <class T, class M>
KVRM_INLINE Trap store_register(Cpu& cpu, M& memory, u8 from, u64 address) {
  return memory.store(cpu, address, read<T>(cpu, from));
}

// The access a row of the single-register groups makes, apart from its addressing mode. The names are those of the
// rows: STRB, LDRSW and so on. `sf` chooses 64 bits, `w` a 32-bit destination for sign-extending loads.
template <class Op, class M>
KVRM_INLINE Trap access_STRB(Cpu& cpu, M& memory, const Op& op, u64 address) {
  return store_register<u8>(cpu, memory, op.Rt, address);
}
template <class Op, class M>
KVRM_INLINE Trap access_STRH(Cpu& cpu, M& memory, const Op& op, u64 address) {
  return store_register<u16>(cpu, memory, op.Rt, address);
}
template <class Op, class M>
KVRM_INLINE Trap access_STR(Cpu& cpu, M& memory, const Op& op, u64 address) {
  return op.sf ? store_register<u64>(cpu, memory, op.Rt, address) : store_register<u32>(cpu, memory, op.Rt, address);
}
template <class Op, class M>
KVRM_INLINE Trap access_LDRB(Cpu& cpu, M& memory, const Op& op, u64 address) {
  return load_register<u8>(cpu, memory, op.Rt, address);
}
template <class Op, class M>
KVRM_INLINE Trap access_LDRH(Cpu& cpu, M& memory, const Op& op, u64 address) {
  return load_register<u16>(cpu, memory, op.Rt, address);
}
template <class Op, class M>
KVRM_INLINE Trap access_LDR(Cpu& cpu, M& memory, const Op& op, u64 address) {
  return op.sf ? load_register<u64>(cpu, memory, op.Rt, address) : load_register<u32>(cpu, memory, op.Rt, address);
}
template <class Op, class M>
KVRM_INLINE Trap access_LDRSB(Cpu& cpu, M& memory, const Op& op, u64 address) {
  return op.w ? load_register<u8, i32>(cpu, memory, op.Rt, address)
              : load_register<u8, i64>(cpu, memory, op.Rt, address);
}
template <class Op, class M>
KVRM_INLINE Trap access_LDRSH(Cpu& cpu, M& memory, const Op& op, u64 address) {
  return op.w ? load_register<u16, i32>(cpu, memory, op.Rt, address)
              : load_register<u16, i64>(cpu, memory, op.Rt, address);
}
template <class Op, class M>
KVRM_INLINE Trap access_LDRSW(Cpu& cpu, M& memory, const Op& op, u64 address) {
  return load_register<u32, i64>(cpu, memory, op.Rt, address);
}

// Vector registers: 1, 2, 4, 8 or 16 bytes; a load clears the rest of the register.
template <class T, class M>
KVRM_INLINE Trap load_vector_part(Cpu& cpu, M& memory, u8 to, u64 address) {
  T value{};
  KVRM_TRY(memory.load(cpu, address, value));
  if constexpr (sizeof(T) == 16) {
    cpu.q[to] = value;
  } else {
    cpu.q[to] = U128{value, 0};
  }
  return Trap::kNone;
}

template <class M>
KVRM_INLINE Trap load_vector(Cpu& cpu, M& memory, u8 to, u8 scale, u64 address) {
  switch (scale) {
    case 0: return load_vector_part<u8>(cpu, memory, to, address);
    case 1: return load_vector_part<u16>(cpu, memory, to, address);
    case 2: return load_vector_part<u32>(cpu, memory, to, address);
    case 3: return load_vector_part<u64>(cpu, memory, to, address);
    default: return load_vector_part<U128>(cpu, memory, to, address);
  }
}

template <class M>
KVRM_INLINE Trap store_vector(Cpu& cpu, M& memory, u8 from, u8 scale, u64 address) {
  const U128 value = cpu.q[from];
  switch (scale) {
    case 0: return memory.store(cpu, address, static_cast<u8>(value.lo));
    case 1: return memory.store(cpu, address, static_cast<u16>(value.lo));
    case 2: return memory.store(cpu, address, static_cast<u32>(value.lo));
    case 3: return memory.store(cpu, address, value.lo);
    default: return memory.store(cpu, address, value);
  }
}

template <class Op, class M>
KVRM_INLINE Trap access_STR_v(Cpu& cpu, M& memory, const Op& op, u64 address) {
  return store_vector(cpu, memory, op.Vt, op.scale, address);
}
template <class Op, class M>
KVRM_INLINE Trap access_LDR_v(Cpu& cpu, M& memory, const Op& op, u64 address) {
  return load_vector(cpu, memory, op.Vt, op.scale, address);
}

// log2 of the bytes a row accesses, which scales its offset.
inline constexpr u32 kScaleB = 0;
inline constexpr u32 kScaleH = 1;
inline constexpr u32 kScaleW = 2;

KVRM_INLINE u64 offset_of(i32 value) { return static_cast<u64>(i64{value}); }

}  // namespace kvrm::semantics
