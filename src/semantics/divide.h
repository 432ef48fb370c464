// Divide. Division by zero gives zero; the most negative number divided by -1 gives itself.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/registers.h"

namespace kvrm::semantics {

template <class T>
KVRM_INLINE T divide_unsigned(T a, T b) {
  return b == 0 ? T{0} : static_cast<T>(a / b);
}

template <class T>
KVRM_INLINE T divide_signed(T a, T b) {
  if (b == 0) return 0;
  if (b == static_cast<T>(-1)) return static_cast<T>(T{0} - a);
  return static_cast<T>(static_cast<Signed<T>>(a) / static_cast<Signed<T>>(b));
}

template <class M>
KVRM_INLINE void UDIV(Cpu& cpu, M&, const isa::UDIV& op) {
  write(cpu, op.Rd,
        op.sf ? divide_unsigned<u64>(cpu.x[op.Rn], cpu.x[op.Rm])
              : divide_unsigned<u32>(read<u32>(cpu, op.Rn), read<u32>(cpu, op.Rm)));
}

template <class M>
KVRM_INLINE void SDIV(Cpu& cpu, M&, const isa::SDIV& op) {
  write(cpu, op.Rd,
        op.sf ? divide_signed<u64>(cpu.x[op.Rn], cpu.x[op.Rm])
              : divide_signed<u32>(read<u32>(cpu, op.Rn), read<u32>(cpu, op.Rm)));
}

}  // namespace kvrm::semantics
