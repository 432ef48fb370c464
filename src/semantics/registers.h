// Reading and writing general registers, and the condition flags.
#pragma once

#include "base/bits.h"
#include "base/cpu.h"

namespace kvrm::semantics {

// The whole register, or its low half.
template <class T>
KVRM_INLINE T read(const Cpu& cpu, u8 slot) {
  return static_cast<T>(cpu.x[slot]);
}

// A write to the zero register leaves no trace. Narrow values are zero-extended.
KVRM_INLINE void write(Cpu& cpu, u8 slot, u64 value) {
  cpu.x[slot] = value;
  cpu.x[kZeroSlot] = 0;
}

KVRM_INLINE u64 read_sized(const Cpu& cpu, bool is_64, u8 slot) {
  return is_64 ? cpu.x[slot] : static_cast<u32>(cpu.x[slot]);
}

KVRM_INLINE void write_sized(Cpu& cpu, bool is_64, u8 slot, u64 value) {
  write(cpu, slot, is_64 ? value : static_cast<u32>(value));
}

// AddWithCarry() of the manual, with the flags it gives.
template <class T>
struct Sum {
  T value;
  u8 c, v;
};

template <class T>
KVRM_INLINE Sum<T> add_with_carry(T a, T b, u8 carry) {
  T partial = 0, value = 0;
  const bool carry_1 = __builtin_add_overflow(a, b, &partial);
  const bool carry_2 = __builtin_add_overflow(partial, static_cast<T>(carry), &value);
  const T overflow = static_cast<T>((a ^ value) & (b ^ value));
  return {value, static_cast<u8>(carry_1 | carry_2), static_cast<u8>(overflow >> (kBits<T> - 1))};
}

template <class T>
KVRM_INLINE void set_nz(Cpu& cpu, T value) {
  cpu.n = static_cast<u8>(value >> (kBits<T> - 1));
  cpu.z = value == 0;
}

template <class T>
KVRM_INLINE void set_flags(Cpu& cpu, const Sum<T>& sum) {
  set_nz(cpu, sum.value);
  cpu.c = sum.c;
  cpu.v = sum.v;
}

// The flags of a + b or a - b, written for the shapes compilers turn into one flag-setting instruction.
template <class T>
KVRM_INLINE T add_setting_flags(Cpu& cpu, T a, T b) {
  T value = 0;
  Signed<T> ignored = 0;
  cpu.c = __builtin_add_overflow(a, b, &value);
  cpu.v = __builtin_add_overflow(static_cast<Signed<T>>(a), static_cast<Signed<T>>(b), &ignored);
  set_nz(cpu, value);
  return value;
}

template <class T>
KVRM_INLINE T sub_setting_flags(Cpu& cpu, T a, T b) {
  T value = 0;
  Signed<T> ignored = 0;
  cpu.c = !__builtin_sub_overflow(a, b, &value);
  cpu.v = __builtin_sub_overflow(static_cast<Signed<T>>(a), static_cast<Signed<T>>(b), &ignored);
  set_nz(cpu, value);
  return value;
}

KVRM_INLINE void set_nzcv(Cpu& cpu, u8 nzcv) {
  cpu.n = nzcv >> 3 & 1;
  cpu.z = nzcv >> 2 & 1;
  cpu.c = nzcv >> 1 & 1;
  cpu.v = nzcv & 1;
}

// ConditionHolds() of the manual: the low bit inverts, except that 1111 is always true as well.
KVRM_INLINE constexpr bool condition_holds(u8 n, u8 z, u8 c, u8 v, u8 cond) {
  bool holds = true;
  switch (cond >> 1) {
    case 0: holds = z; break;
    case 1: holds = c; break;
    case 2: holds = n; break;
    case 3: holds = v; break;
    case 4: holds = c & !z; break;
    case 5: holds = n == v; break;
    case 6: holds = (n == v) & !z; break;
    default: return true;
  }
  return holds != static_cast<bool>(cond & 1);
}

// The same as a table, for conditions that are known only when they are met: bit nzcv of a condition's mask.
struct ConditionMasks {
  u16 of[16];
  constexpr ConditionMasks() : of{} {
    for (u32 i = 0; i < 256; ++i) {
      const bool holds = condition_holds(i >> 3 & 1, i >> 2 & 1, i >> 1 & 1, i & 1, static_cast<u8>(i >> 4));
      of[i >> 4] = static_cast<u16>(of[i >> 4] | static_cast<u32>(holds) << (i & 15));
    }
  }
};
inline constexpr ConditionMasks kConditionMasks;

KVRM_INLINE bool condition_holds(const Cpu& cpu, u8 cond) {
  if (__builtin_constant_p(cond)) return condition_holds(cpu.n, cpu.z, cpu.c, cpu.v, cond);
  const u32 nzcv = u32{cpu.n} << 3 | u32{cpu.z} << 2 | u32{cpu.c} << 1 | cpu.v;
  return kConditionMasks.of[cond] >> nzcv & 1;
}

}  // namespace kvrm::semantics
