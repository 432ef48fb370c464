// Conditional select.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/registers.h"

namespace kvrm::semantics {

template <class Op>
KVRM_INLINE void select(Cpu& cpu, const Op& op, u64 otherwise) {
  const u64 value = cpu.x[op.Rn];
  write_sized(cpu, op.sf, op.Rd, condition_holds(cpu, op.cond) ? value : otherwise);
}

template <class M>
KVRM_INLINE void CSEL(Cpu& cpu, M&, const isa::CSEL& op) {
  select(cpu, op, cpu.x[op.Rm]);
}

template <class M>
KVRM_INLINE void CSINC(Cpu& cpu, M&, const isa::CSINC& op) {
  select(cpu, op, cpu.x[op.Rm] + 1);
}

template <class M>
KVRM_INLINE void CSINV(Cpu& cpu, M&, const isa::CSINV& op) {
  select(cpu, op, ~cpu.x[op.Rm]);
}

template <class M>
KVRM_INLINE void CSNEG(Cpu& cpu, M&, const isa::CSNEG& op) {
  select(cpu, op, 0 - cpu.x[op.Rm]);
}

}  // namespace kvrm::semantics
