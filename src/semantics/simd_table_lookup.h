// Advanced SIMD table lookup: bytes chosen from one to four consecutive registers.
#pragma once

#include "base/cpu.h"
#include "isa/a64_operands.h"
#include "semantics/vector.h"

namespace kvrm::semantics {

// Eight bytes of a lookup in one register of the table. Where an index, counted from first, falls outside of it, the
// byte of old stays.
KVRM_COLD inline u64 lookup(u64 old, u64 table_lo, u64 table_hi, u64 indices, u32 first) {
  u64 result = 0;
#pragma GCC unroll 8
  for (u32 shift = 0; shift < 64; shift += 8) {
    const u32 index = static_cast<u8>(indices >> shift) - first;
    const u64 found = (index & 8 ? table_hi : table_lo) >> (index & 7) * 8;
    result |= ((index < 16 ? found : old >> shift) & 0xff) << shift;
  }
  return result;
}

// result holds what an index beyond the table gives. After V31 the table goes on with V0.
template <class Op>
KVRM_INLINE void table_lookup(Cpu& cpu, const Op& op, U128 result) {
  const U128 indices = cpu.q[op.Vm];
#pragma GCC unroll 4
  for (u32 i = 0; i < 4; ++i) {
    if (i > op.len) break;
    const U128 table = cpu.q[(op.Vn + i) & 31];
    result.lo = lookup(result.lo, table.lo, table.hi, indices.lo, 16 * i);
    if (op.Q) result.hi = lookup(result.hi, table.lo, table.hi, indices.hi, 16 * i);
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
