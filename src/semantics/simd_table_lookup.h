// Advanced SIMD table lookup: bytes chosen from one to four consecutive registers.
#pragma once

#include "base/cpu.h"
#include "isa/a64_operands.h"
#include "semantics/vector.h"

namespace kvrm::semantics {

// Eight bytes of a register of the table, chosen by the low four bits of each index.
KVRM_COLD inline u64 choose_eight_bytes(u64 table_lo, u64 table_hi, u64 indices) {
  u64 result = 0;
#pragma GCC unroll 8
  for (u32 shift = 0; shift < 64; shift += 8) {
    const u64 index = indices >> shift;
    const u64 found = (index & 8 ? table_hi : table_lo) >> (index & 7) * 8;
    result |= (found & 0xff) << shift;
  }
  return result;
}

KVRM_INLINE U128 choose_bytes(const U128& table, const U128& indices) {
#if defined(__SSSE3__)  // one instruction of the host
  typedef char Bytes __attribute__((vector_size(16)));
  const U128 low = {indices.lo & 0x0f0f0f0f0f0f0f0f, indices.hi & 0x0f0f0f0f0f0f0f0f};
  return __builtin_bit_cast(U128,
                            __builtin_ia32_pshufb128(__builtin_bit_cast(Bytes, table), __builtin_bit_cast(Bytes, low)));
#else
  return {choose_eight_bytes(table.lo, table.hi, indices.lo), choose_eight_bytes(table.lo, table.hi, indices.hi)};
#endif
}

// A lookup in one register of the table. Where an index, counted from first, falls outside of it, the byte of old
// stays.
KVRM_INLINE U128 lookup(const U128& old, const U128& table, const U128& indices, u8 first) {
  const auto index = Elements<u8>(indices).vector - first;
  const auto is_here = __builtin_bit_cast(Elements<u8>::Vector, index < 16);
  const auto found = Elements<u8>(choose_bytes(table, indices)).vector;
  return __builtin_bit_cast(U128, (found & is_here) | (Elements<u8>(old).vector & ~is_here));
}

// result holds what an index beyond the table gives. After V31 the table goes on with V0.
template <class Op>
KVRM_INLINE void table_lookup(Cpu& cpu, const Op& op, U128 result) {
  const U128 indices = cpu.q[op.Vm];
#pragma GCC unroll 4
  for (u32 i = 0; i < 4; ++i) {
    if (i > op.len) break;
    const U128 table = cpu.q[(op.Vn + i) & 31];
    result = lookup(result, table, indices, static_cast<u8>(16 * i));
  }
  cpu.q[op.Vd] = keep_half(result, op.Q);
}

template <class M>
KVRM_INLINE void TBL_v(Cpu& cpu, M&, const isa::TBL_v& op) {
  table_lookup(cpu, op, U128{});
}

template <class M>
KVRM_INLINE void TBX_v(Cpu& cpu, M&, const isa::TBX_v& op) {
  table_lookup(cpu, op, cpu.q[op.Vd]);
}

}  // namespace kvrm::semantics
