// Conversions that change the width of the elements, and those to and from fixed point.
#pragma once

#include "semantics/float_operations.h"
#include "semantics/float_vector.h"

namespace kvrm::semantics {

// All elements of a register, packed into 64 bits.
template <class To, class From>
__attribute__((noinline)) FloatChunk float_narrow_called(u64 low, u64 high, Rounding rounding, u32 mode) {
  FloatChunk result{};
#pragma GCC unroll 4
  for (u32 i = 0; i < kLanes<From>; ++i) {
    const FloatResult<To> lane = float_convert<To, From>(element<From>({low, high}, i), rounding, mode);
    result.bits |= u64{lane.bits} << i * kBits<To>;
    result.flags |= lane.flags;
  }
  return result;
}

// The elements of 32 bits, spread over 64.
template <class To, class From>
__attribute__((noinline)) FloatChunk float_widen_called(u32 narrow, u32 mode) {
  FloatChunk result{};
#pragma GCC unroll 2
  for (u32 at = 0; at < 32; at += kBits<From>) {
    const FloatResult<To> lane = float_convert<To, From>(static_cast<From>(narrow >> at), mode);
    result.bits |= u64{lane.bits} << 2 * at;
    result.flags |= lane.flags;
  }
  return result;
}

// FCVTN and FCVTXN write the low half and clear the high one; their second forms (Q = 1) write the high half only.
template <class Op>
KVRM_INLINE void float_narrow(Cpu& cpu, const Op& op, Rounding rounding) {
  const U128 n = cpu.q[op.Vn];
  const U128 d = cpu.q[op.Vd];
  const u32 mode = float_mode(cpu);
  bool to_single = true;
  if constexpr (requires { op.sz; }) to_single = op.sz;
  const FloatChunk narrow = to_single ? float_narrow_called<u32, u64>(n.lo, n.hi, rounding, mode)
                                      : float_narrow_called<u16, u32>(n.lo, n.hi, rounding, mode);
  const U128 value = op.Q ? U128{d.lo, narrow.bits} : U128{narrow.bits, 0};
  write_lanes(cpu, op.Vd, {value, narrow.flags});
}

// FCVTL takes the low half of its source, its second form the high half.
template <class Op>
KVRM_INLINE void float_widen(Cpu& cpu, const Op& op) {
  const U128 n = cpu.q[op.Vn];
  const u64 half = op.Q ? n.hi : n.lo;
  const u32 low = static_cast<u32>(half);
  const u32 high = static_cast<u32>(half >> 32);
  const u32 mode = float_mode(cpu);
  write_lanes(cpu, op.Vd,
              op.sz ? join(float_widen_called<u64, u32>(low, mode), float_widen_called<u64, u32>(high, mode))
                    : join(float_widen_called<u32, u16>(low, mode), float_widen_called<u32, u16>(high, mode)));
}

// The highest set bit of immh is the element size; immh:immb from twice that size is the number of fraction bits.
template <class Op>
KVRM_INLINE u32 fraction_bits(const Op& op) {
  const u32 size = op.immh >= 8 ? 64 : op.immh >= 4 ? 32 : 16;
  return 2 * size - (static_cast<u32>(op.immh) << 3 | op.immb);
}

template <class Op, class Operation>
KVRM_INLINE void float_each_fixed(Cpu& cpu, const Op& op, Operation operation) {
  const U128 n = cpu.q[op.Vn];
  const u32 mode = float_mode(cpu);
  FloatLanes result;
  if (op.immh >= 8) {
    result = float_lanes<u64>(op, operation, mode, n);
  } else if (op.immh >= 4) {
    result = float_lanes<u32>(op, operation, mode, n);
  } else {
    result = float_lanes<u16>(op, operation, mode, n);
  }
  write_lanes(cpu, op.Vd, result);
}

}  // namespace kvrm::semantics
