// Advanced SIMD extract: a window of bytes into two registers side by side.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/vector.h"

namespace kvrm::semantics {

// Eight bytes from byte position (0 to 15) of low:high.
KVRM_INLINE u64 window(u64 low, u64 middle, u64 high, u32 byte) {
  const u64 first = byte < 8 ? low : middle;
  const u64 second = byte < 8 ? middle : high;
  const u32 shift = byte % 8 * 8;
  return shift ? first >> shift | second << (64 - shift) : first;
}

template <class M>
KVRM_INLINE void EXT_v(Cpu& cpu, M&, const isa::EXT_v& op) {
  const U128 n = cpu.q[op.Vn];
  const U128 m = cpu.q[op.Vm];
  if (op.Q) {
    cpu.q[op.Vd] = U128{window(n.lo, n.hi, m.lo, op.imm4), window(n.hi, m.lo, m.hi, op.imm4)};
  } else {
    cpu.q[op.Vd] = U128{window(n.lo, m.lo, 0, op.imm4), 0};
  }
}

}  // namespace kvrm::semantics
