// Add/subtract (extended register).
#pragma once

#include "isa/a64_operands.h"
#include "semantics/operands.h"

namespace kvrm::semantics {

template <class Op>
KVRM_INLINE u64 extended_register(const Cpu& cpu, const Op& op) {
  return extend(cpu.x[op.Rm], op.option, op.imm3);
}

template <class M>
KVRM_INLINE void ADD_ext(Cpu& cpu, M&, const isa::ADD_ext& op) {
  write_sized(cpu, op.sf, op.Rd, cpu.x[op.Rn] + extended_register(cpu, op));
}

template <class M>
KVRM_INLINE void SUB_ext(Cpu& cpu, M&, const isa::SUB_ext& op) {
  write_sized(cpu, op.sf, op.Rd, cpu.x[op.Rn] - extended_register(cpu, op));
}

template <class M>
KVRM_INLINE void ADDS_ext(Cpu& cpu, M&, const isa::ADDS_ext& op) {
  const u64 second = extended_register(cpu, op);
  write(cpu, op.Rd,
        op.sf ? add_setting_flags<u64>(cpu, cpu.x[op.Rn], second)
              : add_setting_flags<u32>(cpu, read<u32>(cpu, op.Rn), static_cast<u32>(second)));
}

template <class M>
KVRM_INLINE void SUBS_ext(Cpu& cpu, M&, const isa::SUBS_ext& op) {
  const u64 second = extended_register(cpu, op);
  write(cpu, op.Rd,
        op.sf ? sub_setting_flags<u64>(cpu, cpu.x[op.Rn], second)
              : sub_setting_flags<u32>(cpu, read<u32>(cpu, op.Rn), static_cast<u32>(second)));
}

}  // namespace kvrm::semantics
