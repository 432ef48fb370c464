// Data processing (1 source): reversals and counts.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/registers.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE void RBIT(Cpu& cpu, M&, const isa::RBIT& op) {
  const u64 reversed = reverse_bytes(reverse_bits_in_bytes(cpu.x[op.Rn]));
  write(cpu, op.Rd, op.sf ? reversed : reversed >> 32);
}

template <class M>
KVRM_INLINE void REV16(Cpu& cpu, M&, const isa::REV16& op) {
  write_sized(cpu, op.sf, op.Rd, reverse_bytes_in_halfwords(cpu.x[op.Rn]));
}

template <class M>
KVRM_INLINE void REV_w(Cpu& cpu, M&, const isa::REV_w& op) {
  write(cpu, op.Rd, reverse_bytes_in_words(read<u32>(cpu, op.Rn)));
}

template <class M>
KVRM_INLINE void REV32(Cpu& cpu, M&, const isa::REV32& op) {
  write(cpu, op.Rd, reverse_bytes_in_words(cpu.x[op.Rn]));
}

template <class M>
KVRM_INLINE void REV_x(Cpu& cpu, M&, const isa::REV_x& op) {
  write(cpu, op.Rd, reverse_bytes(cpu.x[op.Rn]));
}

template <class M>
KVRM_INLINE void CLZ(Cpu& cpu, M&, const isa::CLZ& op) {
  write(cpu, op.Rd, op.sf ? count_leading_zeros(cpu.x[op.Rn]) : count_leading_zeros(read<u32>(cpu, op.Rn)));
}

// The bits that equal the sign, the sign itself not counted.
template <class T>
KVRM_INLINE u32 count_leading_signs(T value) {
  const T differs = static_cast<T>(value ^ value << 1);
  return count_leading_zeros(static_cast<T>(differs | 1));
}

template <class M>
KVRM_INLINE void CLS(Cpu& cpu, M&, const isa::CLS& op) {
  write(cpu, op.Rd, op.sf ? count_leading_signs(cpu.x[op.Rn]) : count_leading_signs(read<u32>(cpu, op.Rn)));
}

}  // namespace kvrm::semantics
