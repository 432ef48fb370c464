// Shifts by a register: the amount is taken modulo the width.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/operands.h"

namespace kvrm::semantics {

template <class Op>
KVRM_INLINE void shift_by_register(Cpu& cpu, const Op& op, ShiftKind kind) {
  const u32 amount = read<u32>(cpu, op.Rm);
  write(cpu, op.Rd,
        op.sf ? shift<u64>(cpu.x[op.Rn], kind, amount & 63) : shift<u32>(read<u32>(cpu, op.Rn), kind, amount & 31));
}

template <class M>
KVRM_INLINE void LSLV(Cpu& cpu, M&, const isa::LSLV& op) {
  shift_by_register(cpu, op, kLsl);
}

template <class M>
KVRM_INLINE void LSRV(Cpu& cpu, M&, const isa::LSRV& op) {
  shift_by_register(cpu, op, kLsr);
}

template <class M>
KVRM_INLINE void ASRV(Cpu& cpu, M&, const isa::ASRV& op) {
  shift_by_register(cpu, op, kAsr);
}

template <class M>
KVRM_INLINE void RORV(Cpu& cpu, M&, const isa::RORV& op) {
  shift_by_register(cpu, op, kRor);
}

}  // namespace kvrm::semantics
