// Data processing (3 source): multiply-add, widening and high multiplies.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/registers.h"

namespace kvrm::semantics {

__extension__ typedef unsigned __int128 Unsigned128;
__extension__ typedef __int128 Signed128;

template <class M>
KVRM_INLINE void MADD(Cpu& cpu, M&, const isa::MADD& op) {
  write_sized(cpu, op.sf, op.Rd, cpu.x[op.Ra] + cpu.x[op.Rn] * cpu.x[op.Rm]);
}

template <class M>
KVRM_INLINE void MSUB(Cpu& cpu, M&, const isa::MSUB& op) {
  write_sized(cpu, op.sf, op.Rd, cpu.x[op.Ra] - cpu.x[op.Rn] * cpu.x[op.Rm]);
}

template <class Op>
KVRM_INLINE u64 signed_product(const Cpu& cpu, const Op& op) {
  return static_cast<u64>(i64{static_cast<i32>(cpu.x[op.Rn])} * i64{static_cast<i32>(cpu.x[op.Rm])});
}

template <class Op>
KVRM_INLINE u64 unsigned_product(const Cpu& cpu, const Op& op) {
  return u64{read<u32>(cpu, op.Rn)} * u64{read<u32>(cpu, op.Rm)};
}

template <class M>
KVRM_INLINE void SMADDL(Cpu& cpu, M&, const isa::SMADDL& op) {
  write(cpu, op.Rd, cpu.x[op.Ra] + signed_product(cpu, op));
}

template <class M>
KVRM_INLINE void SMSUBL(Cpu& cpu, M&, const isa::SMSUBL& op) {
  write(cpu, op.Rd, cpu.x[op.Ra] - signed_product(cpu, op));
}

template <class M>
KVRM_INLINE void UMADDL(Cpu& cpu, M&, const isa::UMADDL& op) {
  write(cpu, op.Rd, cpu.x[op.Ra] + unsigned_product(cpu, op));
}

template <class M>
KVRM_INLINE void UMSUBL(Cpu& cpu, M&, const isa::UMSUBL& op) {
  write(cpu, op.Rd, cpu.x[op.Ra] - unsigned_product(cpu, op));
}

template <class M>
KVRM_INLINE void SMULH(Cpu& cpu, M&, const isa::SMULH& op) {
  const Signed128 product = static_cast<Signed128>(static_cast<i64>(cpu.x[op.Rn])) * static_cast<i64>(cpu.x[op.Rm]);
  write(cpu, op.Rd, static_cast<u64>(product >> 64));
}

template <class M>
KVRM_INLINE void UMULH(Cpu& cpu, M&, const isa::UMULH& op) {
  const Unsigned128 product = static_cast<Unsigned128>(cpu.x[op.Rn]) * cpu.x[op.Rm];
  write(cpu, op.Rd, static_cast<u64>(product >> 64));
}

}  // namespace kvrm::semantics
