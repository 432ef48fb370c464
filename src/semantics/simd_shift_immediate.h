// Advanced SIMD shift by immediate: narrowing and widening shifts, and SHL. The highest set bit of immh is the element
// size; immh:immb minus or from twice that size is the amount.
#pragma once

#include "base/cpu.h"
#include "isa/a64_operands.h"
#include "semantics/vector.h"

namespace kvrm::semantics {

KVRM_INLINE u8 shift_scale(u8 immh) { return static_cast<u8>(31 - __builtin_clz(immh)); }

template <class Op>
KVRM_INLINE u32 right_amount(const Op& op) {
  return (16u << shift_scale(op.immh)) - (static_cast<u32>(op.immh) << 3 | op.immb);
}
template <class Op>
KVRM_INLINE u32 left_amount(const Op& op) {
  return (static_cast<u32>(op.immh) << 3 | op.immb) - (8u << shift_scale(op.immh));
}

// The low half of every element of W shifted right, packed into 64 bits.
template <class Narrow, class Wide>
KVRM_INLINE u64 narrow_of(const U128& value, u32 amount) {
  U128 result{};
#pragma GCC unroll 8
  for (u32 i = 0; i < kLanes<Wide>; ++i) {
    result = with_element<Narrow>(result, i, static_cast<Narrow>(element<Wide>(value, i) >> amount));
  }
  return result.lo;
}

// size is that of the narrow elements, log2 of bytes.
KVRM_INLINE u64 narrow(const U128& value, u8 size, u32 amount) {
  switch (size) {
    case 0: return narrow_of<u8, u16>(value, amount);
    case 1: return narrow_of<u16, u32>(value, amount);
    default: return narrow_of<u32, u64>(value, amount);
  }
}

// The first form writes the low half and clears the high one; the second (Q = 1) writes the high half only.
KVRM_INLINE U128 place_narrow(const U128& old, u64 narrow, bool high) {
  return high ? U128{old.lo, narrow} : U128{narrow, 0};
}

// Every element of 64 bits extended to twice its width and shifted left.
template <class Narrow, class Wide, bool kSigned>
KVRM_INLINE U128 widen_of(u64 half, u32 amount) {
  const U128 source{half, 0};
  U128 result{};
#pragma GCC unroll 8
  for (u32 i = 0; i < kLanes<Wide>; ++i) {
    const Narrow value = element<Narrow>(source, i);
    const Wide wide = kSigned ? static_cast<Wide>(static_cast<Signed<Narrow>>(value)) : Wide{value};
    result = with_element<Wide>(result, i, static_cast<Wide>(wide << amount));
  }
  return result;
}

template <bool kSigned, class Op>
KVRM_INLINE void widen(Cpu& cpu, const Op& op) {
  const U128 source = cpu.q[op.Vn];
  const u64 half = op.Q ? source.hi : source.lo;
  const u32 amount = left_amount(op);
  switch (shift_scale(op.immh)) {
    case 0: cpu.q[op.Vd] = widen_of<u8, u16, kSigned>(half, amount); break;
    case 1: cpu.q[op.Vd] = widen_of<u16, u32, kSigned>(half, amount); break;
    default: cpu.q[op.Vd] = widen_of<u32, u64, kSigned>(half, amount); break;
  }
}

template <class M>
KVRM_INLINE void SHRN_v(Cpu& cpu, M&, const isa::SHRN_v& op) {
  const U128 n = cpu.q[op.Vn];
  const U128 d = cpu.q[op.Vd];
  cpu.q[op.Vd] = place_narrow(d, narrow(n, shift_scale(op.immh), right_amount(op)), op.Q);
}

template <class M>
KVRM_INLINE void SSHLL_v(Cpu& cpu, M&, const isa::SSHLL_v& op) {
  widen<true>(cpu, op);
}

template <class M>
KVRM_INLINE void USHLL_v(Cpu& cpu, M&, const isa::USHLL_v& op) {
  widen<false>(cpu, op);
}

template <class M>
KVRM_INLINE void SHL_v(Cpu& cpu, M&, const isa::SHL_v& op) {
  const U128 n = cpu.q[op.Vn];
  const u32 amount = left_amount(op);
  const auto shl = [amount]<class E>(E value, E) { return static_cast<E>(value << amount); };
  U128 result{};
  switch (shift_scale(op.immh)) {
    case 0: result = map2<u8>(n, n, shl); break;
    case 1: result = map2<u16>(n, n, shl); break;
    case 2: result = map2<u32>(n, n, shl); break;
    default: result = map2<u64>(n, n, shl); break;
  }
  cpu.q[op.Vd] = keep_half(result, op.Q);
}

}  // namespace kvrm::semantics
