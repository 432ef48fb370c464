// Bitfield: copies of imms - immr + 1 bits from immr down to 0, or of imms + 1 bits up to width - immr.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/operands.h"

namespace kvrm::semantics {

// Where the field lands and how wide it is.
struct Field {
  u64 bits;   // the field of the source, in place; what lies above the destination's width is of no account
  u32 lsb;    // its lowest position in the destination
  u32 width;  // 1 to 64
};

template <class Op>
KVRM_INLINE Field bitfield(const Cpu& cpu, const Op& op) {
  const u32 size = op.sf ? 64 : 32;
  const u64 source = read_sized(cpu, op.sf, op.Rn);
  if (op.imms >= op.immr) {
    const u32 width = op.imms - op.immr + 1u;
    const u64 moved = source >> op.immr;
    return {op.imms + 1u == size ? moved : moved & low_ones(width), 0, width};
  }
  const u32 width = op.imms + 1u;
  const u32 lsb = size - op.immr;
  return {(width == op.immr ? source : source & low_ones(width)) << lsb, lsb, width};
}

template <class M>
KVRM_INLINE void UBFM(Cpu& cpu, M&, const isa::UBFM& op) {
  write_sized(cpu, op.sf, op.Rd, bitfield(cpu, op).bits);
}

template <class M>
KVRM_INLINE void SBFM(Cpu& cpu, M&, const isa::SBFM& op) {
  if (op.imms == (op.sf ? 63 : 31) && op.imms >= op.immr) {  // ASR
    const u64 value = cpu.x[op.Rn];
    return write_sized(cpu, op.sf, op.Rd,
                       static_cast<u64>((op.sf ? static_cast<i64>(value) : static_cast<i32>(value)) >> op.immr));
  }
  const Field field = bitfield(cpu, op);
  write_sized(cpu, op.sf, op.Rd, sign_extend(field.bits, field.lsb + field.width));
}

template <class M>
KVRM_INLINE void BFM(Cpu& cpu, M&, const isa::BFM& op) {
  const Field field = bitfield(cpu, op);
  const u64 mask = low_ones(field.width) << field.lsb;
  write_sized(cpu, op.sf, op.Rd, (cpu.x[op.Rd] & ~mask) | field.bits);
}

}  // namespace kvrm::semantics
