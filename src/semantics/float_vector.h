// Floating point lifted from elements to registers. A row names its operation (float_operations.h); what is here reads
// the operands, applies the operation to every element, and writes the result and the flags of all elements at once.
// Rows with a size bit work on singles and doubles, the others on halves; rows without Q are scalar.
// The work is done in chunks of 64 bits: that much and the flags come back from a called function as a value. Those
// functions are named ..._called and not KVRM_COLD, because they hold the fast path too.
#pragma once

#include "semantics/float.h"
#include "semantics/vector.h"

namespace kvrm::semantics {

// 64 bits of elements, and the flags that their making raised.
struct FloatChunk {
  u64 bits;
  u32 flags;
};

// A register's worth.
struct FloatLanes {
  U128 value;
  u32 flags;
};

KVRM_INLINE FloatLanes join(const FloatChunk& low, const FloatChunk& high) {
  return {{low.bits, high.bits}, low.flags | high.flags};
}

// operation(element of each operand..., mode) for the elements of 64 bits.
template <class T, class Operation, class... Chunk>
KVRM_INLINE FloatChunk float_chunk(Operation operation, u32 mode, Chunk... chunks) {
  FloatChunk result{};
#pragma GCC unroll 4
  for (u32 at = 0; at < 64; at += kBits<T>) {
    const FloatResult<T> lane = operation(static_cast<T>(chunks >> at)..., mode);
    result.bits |= u64{lane.bits} << at;
    result.flags |= lane.flags;
  }
  return result;
}

template <class T, class Operation, class... Chunk>
__attribute__((noinline)) FloatChunk float_chunk_called(u32 mode, Chunk... chunks) {
  return float_chunk<T>(Operation{}, mode, chunks...);
}

// An operation without parameters of its own is called, one with some is a call itself already.
template <class T, class Operation, class... Chunk>
KVRM_INLINE FloatChunk float_chunk_of(Operation operation, u32 mode, Chunk... chunks) {
  if constexpr (__is_empty(Operation)) return float_chunk_called<T, Operation>(mode, chunks...);
  return float_chunk<T>(operation, mode, chunks...);
}

#if KVRM_HARDWARE_VECTORS
// A whole register at once, if hardware serves and no result needs a closer check.
template <class T, class Operation, class... Operands>
KVRM_INLINE bool float_together(FloatLanes& lanes, u32 mode, const Operands&... operands) {
  if (!float_hardware_serves(mode)) return false;
  const HardwareVector<T> results = Operation::together(__builtin_bit_cast(HardwareVector<T>, operands)...);
  if (!KVRM_LIKELY((hardware_serves_all<Operation::kServes, T>(results)))) return false;
  for (u32 i = 0; i < kLanes<T>; ++i) count_float_operation();
  lanes = {__builtin_bit_cast(U128, results), 0};
  return true;
}
#endif

// The row's elements of type T: one of them in the scalar forms.
template <class T, class Op, class Operation, class... Operands>
KVRM_INLINE FloatLanes float_lanes(const Op& op, Operation operation, u32 mode, const Operands&... operands) {
  if constexpr (requires { op.Q; }) {
#if KVRM_HARDWARE_VECTORS
    if constexpr (sizeof(T) != 2 && requires { Operation::kServes; }) {
      FloatLanes lanes;
      if (op.Q && float_together<T, Operation>(lanes, mode, operands...)) return lanes;
    }
#endif
    const FloatChunk low = float_chunk_of<T>(operation, mode, operands.lo...);
    if (!op.Q) return join(low, {});
    return join(low, float_chunk_of<T>(operation, mode, operands.hi...));
  } else {
    const FloatResult<T> lane = operation(element<T>(operands, 0)..., mode);
    return {{lane.bits, 0}, lane.flags};
  }
}

template <class Op, class Operation, class... Operands>
KVRM_INLINE FloatLanes float_apply(const Op& op, Operation operation, u32 mode, const Operands&... operands) {
  if constexpr (requires { op.sz; }) {
    if (op.sz) return float_lanes<u64>(op, operation, mode, operands...);
    return float_lanes<u32>(op, operation, mode, operands...);
  } else {
    return float_lanes<u16>(op, operation, mode, operands...);
  }
}

KVRM_INLINE void write_lanes(Cpu& cpu, u8 index, const FloatLanes& lanes) {
  cpu.q[index] = lanes.value;
  accumulate(cpu, lanes.flags);
}

template <class Op, class Operation>
KVRM_INLINE void float_each(Cpu& cpu, const Op& op, Operation operation) {
  const U128 n = cpu.q[op.Vn];
  write_lanes(cpu, op.Vd, float_apply(op, operation, float_mode(cpu), n));
}

template <class Op, class Operation>
KVRM_INLINE void float_elementwise(Cpu& cpu, const Op& op, Operation operation) {
  const U128 n = cpu.q[op.Vn];
  const U128 m = cpu.q[op.Vm];
  write_lanes(cpu, op.Vd, float_apply(op, operation, float_mode(cpu), n, m));
}

// The destination is the first operand.
template <class Op, class Operation>
KVRM_INLINE void float_accumulate(Cpu& cpu, const Op& op, Operation operation) {
  const U128 n = cpu.q[op.Vn];
  const U128 m = cpu.q[op.Vm];
  const U128 d = cpu.q[op.Vd];
  write_lanes(cpu, op.Vd, float_apply(op, operation, float_mode(cpu), d, n, m));
}

// A comparison with zero, on either side.
template <class Op, class Operation>
KVRM_INLINE void float_with_zero(Cpu& cpu, const Op& op, Operation operation) {
  const U128 n = cpu.q[op.Vn];
  write_lanes(cpu, op.Vd, float_apply(op, operation, float_mode(cpu), n, U128{}));
}
template <class Op, class Operation>
KVRM_INLINE void float_zero_with(Cpu& cpu, const Op& op, Operation operation) {
  const U128 n = cpu.q[op.Vn];
  write_lanes(cpu, op.Vd, float_apply(op, operation, float_mode(cpu), U128{}, n));
}

// The sign bit of every element of the row.
template <class Op>
KVRM_INLINE U128 float_signs(const Op& op) {
  u64 half = replicate<u16>(kSignBit<u16>).lo;
  if constexpr (requires { op.sz; }) half = op.sz ? kSignBit<u64> : replicate<u32>(kSignBit<u32>).lo;
  return {half, op.Q ? half : 0};
}

// --- pairs ---

// Every second element of high:low, from the first or the second on.
template <class T>
KVRM_INLINE U128 every_second(const U128& low, const U128& high, u32 first) {
  U128 result{};
#pragma GCC unroll 4
  for (u32 i = 0; i < kLanes<T> / 2; ++i) {
    result = with_element<T>(result, i, element<T>(low, 2 * i + first));
    result = with_element<T>(result, i + kLanes<T> / 2, element<T>(high, 2 * i + first));
  }
  return result;
}

// Neighbors of m:n. For a 64-bit operation m:n is one register's worth, and so is each side of the pairs.
template <class T, class Op, class Operation>
KVRM_INLINE FloatLanes float_pairs(const Op& op, Operation operation, u32 mode, const U128& n, const U128& m) {
  const U128 low = op.Q ? n : U128{n.lo, m.lo};
  const U128 high = op.Q ? m : U128{};
  return float_lanes<T>(op, operation, mode, every_second<T>(low, high, 0), every_second<T>(low, high, 1));
}

template <class Op, class Operation>
KVRM_INLINE void float_pairwise(Cpu& cpu, const Op& op, Operation operation) {
  const U128 n = cpu.q[op.Vn];
  const U128 m = cpu.q[op.Vm];
  const u32 mode = float_mode(cpu);
  FloatLanes result;
  if constexpr (requires { op.sz; }) {
    result = op.sz ? float_pairs<u64>(op, operation, mode, n, m) : float_pairs<u32>(op, operation, mode, n, m);
  } else {
    result = float_pairs<u16>(op, operation, mode, n, m);
  }
  write_lanes(cpu, op.Vd, result);
}

// The two lowest elements.
template <class Op, class Operation>
KVRM_INLINE void float_scalar_pair(Cpu& cpu, const Op& op, Operation operation) {
  const U128 n = cpu.q[op.Vn];
  U128 second{n.lo >> 16, 0};
  if constexpr (requires { op.sz; }) second.lo = op.sz ? n.hi : n.lo >> 32;
  write_lanes(cpu, op.Vd, float_apply(op, operation, float_mode(cpu), n, second));
}

// Neighbors combined until one element is left: the tree of the manual's Reduce().
template <class T, class Operation>
__attribute__((noinline)) FloatResult<T> float_reduce_called(u64 low, u64 high, bool whole, u32 mode) {
  U128 value{low, high};
  u32 flags = 0;
  for (u32 lanes = whole ? kLanes<T> : kLanes<T> / 2; lanes > 1; lanes /= 2) {
    U128 next{};
    for (u32 i = 0; i < lanes / 2; ++i) {
      const FloatResult<T> lane = Operation{}(element<T>(value, 2 * i), element<T>(value, 2 * i + 1), mode);
      next = with_element<T>(next, i, lane.bits);
      flags |= lane.flags;
    }
    value = next;
  }
  return {element<T>(value, 0), flags};
}

template <class T, class Op, class Operation>
KVRM_INLINE void float_across(Cpu& cpu, const Op& op, Operation) {
  const U128 n = cpu.q[op.Vn];
  bool whole = true;
  if constexpr (requires { op.Q; }) whole = op.Q;
  write_float(cpu, op.Vd, float_reduce_called<T, Operation>(n.lo, n.hi, whole, float_mode(cpu)));
}

}  // namespace kvrm::semantics
