// Conversion between floating point and integer: the moves of bits between the register files.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/registers.h"

namespace kvrm::semantics {

// How many bits the type names: 32, 64 or 16.
KVRM_INLINE u32 float_width(u8 ftype) { return ftype == 3 ? 16 : ftype == 1 ? 64 : 32; }

template <class M>
KVRM_INLINE void FMOV_to_gen(Cpu& cpu, M&, const isa::FMOV_to_gen& op) {
  write(cpu, op.Rd, cpu.q[op.Vn].lo & low_ones(float_width(op.ftype)));
}

template <class M>
KVRM_INLINE void FMOV_from_gen(Cpu& cpu, M&, const isa::FMOV_from_gen& op) {
  cpu.q[op.Vd] = U128{cpu.x[op.Rn] & low_ones(float_width(op.ftype)), 0};
}

template <class M>
KVRM_INLINE void FMOV_top_to_gen(Cpu& cpu, M&, const isa::FMOV_top_to_gen& op) {
  write(cpu, op.Rd, cpu.q[op.Vn].hi);
}

template <class M>
KVRM_INLINE void FMOV_top_from_gen(Cpu& cpu, M&, const isa::FMOV_top_from_gen& op) {
  cpu.q[op.Vd].hi = cpu.x[op.Rn];
}

}  // namespace kvrm::semantics
