// Conditional compare: the comparison's flags if the condition holds, the immediate's otherwise.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/registers.h"

namespace kvrm::semantics {

template <class Op>
KVRM_INLINE void compare_if(Cpu& cpu, const Op& op, u64 second, bool negated) {
  if (!condition_holds(cpu, op.cond)) {
    set_nzcv(cpu, op.nzcv);
  } else if (op.sf) {
    negated ? add_setting_flags<u64>(cpu, cpu.x[op.Rn], second) : sub_setting_flags<u64>(cpu, cpu.x[op.Rn], second);
  } else {
    negated ? add_setting_flags<u32>(cpu, read<u32>(cpu, op.Rn), static_cast<u32>(second))
            : sub_setting_flags<u32>(cpu, read<u32>(cpu, op.Rn), static_cast<u32>(second));
  }
}

template <class M>
KVRM_INLINE void CCMN_reg(Cpu& cpu, M&, const isa::CCMN_reg& op) {
  compare_if(cpu, op, cpu.x[op.Rm], true);
}

template <class M>
KVRM_INLINE void CCMN_imm(Cpu& cpu, M&, const isa::CCMN_imm& op) {
  compare_if(cpu, op, op.imm5, true);
}

template <class M>
KVRM_INLINE void CCMP_reg(Cpu& cpu, M&, const isa::CCMP_reg& op) {
  compare_if(cpu, op, cpu.x[op.Rm], false);
}

template <class M>
KVRM_INLINE void CCMP_imm(Cpu& cpu, M&, const isa::CCMP_imm& op) {
  compare_if(cpu, op, op.imm5, false);
}

}  // namespace kvrm::semantics
