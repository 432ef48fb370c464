// Advanced SIMD copy. imm5 holds the element size as its lowest set bit and the index above it.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/registers.h"
#include "semantics/vector.h"

namespace kvrm::semantics {

KVRM_INLINE u32 copy_scale(u8 imm5) { return static_cast<u32>(__builtin_ctz(imm5 | 16u)); }
KVRM_INLINE u32 copy_index(u8 imm5) { return static_cast<u32>(imm5) >> (copy_scale(imm5) + 1); }

// Element number index of 8 << scale bits, zero-extended.
KVRM_INLINE u64 element_bits(const U128& value, u32 scale, u32 index) {
  const u32 position = index * 8 << scale;
  return (position < 64 ? value.lo : value.hi) >> (position & 63) & low_ones(8u << scale);
}

KVRM_INLINE U128 insert_bits(U128 value, u32 scale, u32 index, u64 bits) {
  const u32 position = index * 8 << scale;
  const u64 mask = low_ones(8u << scale) << (position & 63);
  u64& half = position < 64 ? value.lo : value.hi;
  half = (half & ~mask) | (bits << (position & 63) & mask);
  return value;
}

KVRM_INLINE U128 replicate_bits(u32 scale, u64 bits) {
  switch (scale) {
    case 0: return replicate<u8>(static_cast<u8>(bits));
    case 1: return replicate<u16>(static_cast<u16>(bits));
    case 2: return replicate<u32>(static_cast<u32>(bits));
    default: return U128{bits, bits};
  }
}

template <class M>
KVRM_INLINE void DUP_elem_v(Cpu& cpu, M&, const isa::DUP_elem_v& op) {
  const U128 source = cpu.q[op.Vn];
  const u64 bits = element_bits(source, copy_scale(op.imm5), copy_index(op.imm5));
  cpu.q[op.Vd] = keep_half(replicate_bits(copy_scale(op.imm5), bits), op.Q);
}

template <class M>
KVRM_INLINE void DUP_gen_v(Cpu& cpu, M&, const isa::DUP_gen_v& op) {
  cpu.q[op.Vd] = keep_half(replicate_bits(copy_scale(op.imm5), cpu.x[op.Rn]), op.Q);
}

template <class M>
KVRM_INLINE void UMOV_v(Cpu& cpu, M&, const isa::UMOV_v& op) {
  const U128 source = cpu.q[op.Vn];
  write(cpu, op.Rd, element_bits(source, copy_scale(op.imm5), copy_index(op.imm5)));
}

template <class M>
KVRM_INLINE void SMOV_v(Cpu& cpu, M&, const isa::SMOV_v& op) {
  const U128 source = cpu.q[op.Vn];
  const u32 scale = copy_scale(op.imm5);
  write_sized(cpu, op.Q, op.Rd, sign_extend(element_bits(source, scale, copy_index(op.imm5)), 8u << scale));
}

template <class M>
KVRM_INLINE void INS_gen_v(Cpu& cpu, M&, const isa::INS_gen_v& op) {
  const U128 old = cpu.q[op.Vd];
  cpu.q[op.Vd] = insert_bits(old, copy_scale(op.imm5), copy_index(op.imm5), cpu.x[op.Rn]);
}

template <class M>
KVRM_INLINE void INS_elem_v(Cpu& cpu, M&, const isa::INS_elem_v& op) {
  const u32 scale = copy_scale(op.imm5);
  const U128 source = cpu.q[op.Vn];
  const U128 old = cpu.q[op.Vd];
  const u64 bits = element_bits(source, scale, static_cast<u32>(op.imm4) >> scale);
  cpu.q[op.Vd] = insert_bits(old, scale, copy_index(op.imm5), bits);
}

}  // namespace kvrm::semantics
