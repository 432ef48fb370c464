// Add/subtract (shifted register).
#pragma once

#include "isa/a64_operands.h"
#include "semantics/operands.h"

namespace kvrm::semantics {

template <class T, class Op>
KVRM_INLINE T shifted_register(const Cpu& cpu, const Op& op) {
  return shift<T>(read<T>(cpu, op.Rm), op.shift, op.imm6);
}

template <class M>
KVRM_INLINE void ADD_shift(Cpu& cpu, M&, const isa::ADD_shift& op) {
  if (op.sf) {
    write(cpu, op.Rd, cpu.x[op.Rn] + shifted_register<u64>(cpu, op));
  } else {
    write(cpu, op.Rd, read<u32>(cpu, op.Rn) + shifted_register<u32>(cpu, op));
  }
}

template <class M>
KVRM_INLINE void SUB_shift(Cpu& cpu, M&, const isa::SUB_shift& op) {
  if (op.sf) {
    write(cpu, op.Rd, cpu.x[op.Rn] - shifted_register<u64>(cpu, op));
  } else {
    write(cpu, op.Rd, read<u32>(cpu, op.Rn) - shifted_register<u32>(cpu, op));
  }
}

template <class M>
KVRM_INLINE void ADDS_shift(Cpu& cpu, M&, const isa::ADDS_shift& op) {
  write(cpu, op.Rd,
        op.sf ? add_setting_flags<u64>(cpu, cpu.x[op.Rn], shifted_register<u64>(cpu, op))
              : add_setting_flags<u32>(cpu, read<u32>(cpu, op.Rn), shifted_register<u32>(cpu, op)));
}

template <class M>
KVRM_INLINE void SUBS_shift(Cpu& cpu, M&, const isa::SUBS_shift& op) {
  write(cpu, op.Rd,
        op.sf ? sub_setting_flags<u64>(cpu, cpu.x[op.Rn], shifted_register<u64>(cpu, op))
              : sub_setting_flags<u32>(cpu, read<u32>(cpu, op.Rn), shifted_register<u32>(cpu, op)));
}

}  // namespace kvrm::semantics
