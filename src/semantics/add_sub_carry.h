// Add/subtract (with carry). Subtraction adds the complement.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/registers.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE void ADC(Cpu& cpu, M&, const isa::ADC& op) {
  write_sized(cpu, op.sf, op.Rd, cpu.x[op.Rn] + cpu.x[op.Rm] + cpu.c);
}

template <class M>
KVRM_INLINE void SBC(Cpu& cpu, M&, const isa::SBC& op) {
  write_sized(cpu, op.sf, op.Rd, cpu.x[op.Rn] + ~cpu.x[op.Rm] + cpu.c);
}

template <class T>
KVRM_INLINE void add_carry_setting_flags(Cpu& cpu, u8 to, T a, T b) {
  const Sum<T> sum = add_with_carry<T>(a, b, cpu.c);
  set_flags(cpu, sum);
  write(cpu, to, sum.value);
}

template <class M>
KVRM_INLINE void ADCS(Cpu& cpu, M&, const isa::ADCS& op) {
  if (op.sf) {
    add_carry_setting_flags<u64>(cpu, op.Rd, cpu.x[op.Rn], cpu.x[op.Rm]);
  } else {
    add_carry_setting_flags<u32>(cpu, op.Rd, read<u32>(cpu, op.Rn), read<u32>(cpu, op.Rm));
  }
}

template <class M>
KVRM_INLINE void SBCS(Cpu& cpu, M&, const isa::SBCS& op) {
  if (op.sf) {
    add_carry_setting_flags<u64>(cpu, op.Rd, cpu.x[op.Rn], ~cpu.x[op.Rm]);
  } else {
    add_carry_setting_flags<u32>(cpu, op.Rd, read<u32>(cpu, op.Rn), ~read<u32>(cpu, op.Rm));
  }
}

}  // namespace kvrm::semantics
