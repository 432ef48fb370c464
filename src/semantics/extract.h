// Extract: a register-wide window into two registers side by side.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/registers.h"

namespace kvrm::semantics {

template <class T>
KVRM_INLINE T extract(T high, T low, u32 lsb) {
  return lsb ? static_cast<T>(low >> lsb | high << (kBits<T> - lsb)) : low;
}

template <class M>
KVRM_INLINE void EXTR(Cpu& cpu, M&, const isa::EXTR& op) {
  write(cpu, op.Rd,
        op.sf ? extract<u64>(cpu.x[op.Rn], cpu.x[op.Rm], op.imms)
              : extract<u32>(read<u32>(cpu, op.Rn), read<u32>(cpu, op.Rm), op.imms));
}

}  // namespace kvrm::semantics
