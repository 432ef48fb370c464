// Advanced SIMD modified immediate.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/vector.h"

namespace kvrm::semantics {

// Each bit of the immediate becomes a byte of ones or zeros.
KVRM_INLINE u64 byte_mask(u8 imm8) {
  u64 result = 0;
#pragma GCC unroll 8
  for (u32 i = 0; i < 8; ++i) result |= imm8 >> i & 1 ? u64{0xff} << (8 * i) : 0;
  return result;
}

// AdvSIMDExpandImm() of the manual for the integer forms, before any inversion; 64 bits of the result.
KVRM_INLINE u64 expand_immediate(u8 op, u8 cmode, u8 imm8) {
  if (cmode < 8) return replicate<u32>(static_cast<u32>(imm8) << (cmode / 2 * 8)).lo;
  if (cmode < 12) return replicate<u16>(static_cast<u16>(imm8 << (cmode / 2 % 2 * 8))).lo;
  if (cmode == 12) return replicate<u32>(static_cast<u32>(imm8) << 8 | 0xff).lo;
  if (cmode == 13) return replicate<u32>(static_cast<u32>(imm8) << 16 | 0xffff).lo;
  return op ? byte_mask(imm8) : replicate<u8>(imm8).lo;
}

// VFPExpandImm() of the manual: sign, three bits of exponent, four of fraction.
template <class T, u32 kExponentBits>
KVRM_INLINE T expand_float(u8 imm8) {
  constexpr u32 kFractionBits = kBits<T> - 1 - kExponentBits;
  const u64 sign = imm8 >> 7;
  const u64 high = imm8 >> 6 & 1;
  const u64 exponent =
      (high ^ 1) << (kExponentBits - 1) | (high ? low_ones(kExponentBits - 3) << 2 : 0) | (imm8 >> 4 & 3);
  const u64 fraction = imm8 & 15;
  return static_cast<T>(sign << (kBits<T> - 1) | exponent << kFractionBits | fraction << (kFractionBits - 4));
}

template <class M>
KVRM_INLINE void MOVI_v(Cpu& cpu, M&, const isa::MOVI_v& op) {
  const u64 value = expand_immediate(op.op, op.cmode, op.imm8);
  cpu.q[op.Vd] = keep_half({value, value}, op.Q);
}

template <class M>
KVRM_INLINE void MVNI_v(Cpu& cpu, M&, const isa::MVNI_v& op) {
  const u64 value = ~expand_immediate(1, op.cmode, op.imm8);
  cpu.q[op.Vd] = keep_half({value, value}, op.Q);
}

template <class M>
KVRM_INLINE void ORR_imm_v(Cpu& cpu, M&, const isa::ORR_imm_v& op) {
  const u64 value = expand_immediate(0, op.cmode, op.imm8);
  cpu.q[op.Vd] = keep_half({cpu.q[op.Vd].lo | value, cpu.q[op.Vd].hi | value}, op.Q);
}

template <class M>
KVRM_INLINE void BIC_imm_v(Cpu& cpu, M&, const isa::BIC_imm_v& op) {
  const u64 value = ~expand_immediate(1, op.cmode, op.imm8);
  cpu.q[op.Vd] = keep_half({cpu.q[op.Vd].lo & value, cpu.q[op.Vd].hi & value}, op.Q);
}

template <class M>
KVRM_INLINE void FMOV_imm_v(Cpu& cpu, M&, const isa::FMOV_imm_v& op) {
  const u64 value = op.op ? expand_float<u64, 11>(op.imm8) : replicate<u32>(expand_float<u32, 8>(op.imm8)).lo;
  cpu.q[op.Vd] = keep_half({value, value}, op.Q);
}

template <class M>
KVRM_INLINE void FMOV_imm_v_f16(Cpu& cpu, M&, const isa::FMOV_imm_v_f16& op) {
  cpu.q[op.Vd] = keep_half(replicate<u16>(expand_float<u16, 5>(op.imm8)), op.Q);
}

}  // namespace kvrm::semantics
