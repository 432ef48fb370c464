// Move wide (immediate).
#pragma once

#include "isa/a64_operands.h"
#include "semantics/registers.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE void MOVZ(Cpu& cpu, M&, const isa::MOVZ& op) {
  write(cpu, op.Rd, u64{op.imm16} << (op.hw * 16));
}

template <class M>
KVRM_INLINE void MOVN(Cpu& cpu, M&, const isa::MOVN& op) {
  write_sized(cpu, op.sf, op.Rd, ~(u64{op.imm16} << (op.hw * 16)));
}

template <class M>
KVRM_INLINE void MOVK(Cpu& cpu, M&, const isa::MOVK& op) {
  const u32 position = op.hw * 16u;
  const u64 kept = cpu.x[op.Rd] & ~(u64{0xffff} << position);
  write_sized(cpu, op.sf, op.Rd, kept | u64{op.imm16} << position);
}

}  // namespace kvrm::semantics
