// Add/subtract (immediate).
#pragma once

#include "isa/a64_operands.h"
#include "semantics/registers.h"

namespace kvrm::semantics {

template <class Op>
KVRM_INLINE u64 shifted_imm12(const Op& op) {
  return op.sh ? u64{op.imm12} << 12 : op.imm12;
}

template <class M>
KVRM_INLINE void ADD_imm(Cpu& cpu, M&, const isa::ADD_imm& op) {
  write_sized(cpu, op.sf, op.Rd, cpu.x[op.Rn] + shifted_imm12(op));
}

template <class M>
KVRM_INLINE void SUB_imm(Cpu& cpu, M&, const isa::SUB_imm& op) {
  write_sized(cpu, op.sf, op.Rd, cpu.x[op.Rn] - shifted_imm12(op));
}

template <class M>
KVRM_INLINE void ADDS_imm(Cpu& cpu, M&, const isa::ADDS_imm& op) {
  const u64 imm = shifted_imm12(op);
  write(cpu, op.Rd,
        op.sf ? add_setting_flags<u64>(cpu, cpu.x[op.Rn], imm)
              : add_setting_flags<u32>(cpu, read<u32>(cpu, op.Rn), static_cast<u32>(imm)));
}

template <class M>
KVRM_INLINE void SUBS_imm(Cpu& cpu, M&, const isa::SUBS_imm& op) {
  const u64 imm = shifted_imm12(op);
  write(cpu, op.Rd,
        op.sf ? sub_setting_flags<u64>(cpu, cpu.x[op.Rn], imm)
              : sub_setting_flags<u32>(cpu, read<u32>(cpu, op.Rn), static_cast<u32>(imm)));
}

}  // namespace kvrm::semantics
