// The shapes of Advanced SIMD instructions: where elements come from and where results go. A row names its shape, the
// element sizes it has, and what it does to elements; f gets them by value and gives an element or Saturated<element>.
#pragma once

#include "base/cpu.h"
#include "semantics/element_operations.h"
#include "semantics/saturate.h"
#include "semantics/vector.h"

namespace kvrm::semantics {

// A result of the instruction's width: 64 or 128 bits.
template <class Op>
KVRM_INLINE void write_vector(Cpu& cpu, const Op& op, const U128& result) {
  cpu.q[op.Vd] = keep_half(result, op.Q);
}
template <class Op>
KVRM_INLINE void write_vector(Cpu& cpu, const Op& op, const SaturatedVector& result) {
  const U128 saturated = keep_half(result.saturated, op.Q);
  set_saturation(cpu, (saturated.lo | saturated.hi) != 0);
  cpu.q[op.Vd] = keep_half(result.value, op.Q);
}

// A result of twice the sources' width: always the whole register.
template <class Op>
KVRM_INLINE void write_long(Cpu& cpu, const Op& op, const U128& result) {
  cpu.q[op.Vd] = result;
}
template <class Op>
KVRM_INLINE void write_long(Cpu& cpu, const Op& op, const SaturatedVector& result) {
  set_saturation(cpu, (result.saturated.lo | result.saturated.hi) != 0);
  cpu.q[op.Vd] = result.value;
}

// A result of half the sources' width, in the low half of result. The first form writes the low half and clears the
// high one; the second (Q = 1) writes the high half only.
template <class Op>
KVRM_INLINE void write_narrow(Cpu& cpu, const Op& op, const U128& result) {
  const U128 old = cpu.q[op.Vd];
  cpu.q[op.Vd] = op.Q ? U128{old.lo, result.lo} : U128{result.lo, 0};
}
template <class Op>
KVRM_INLINE void write_narrow(Cpu& cpu, const Op& op, const SaturatedVector& result) {
  set_saturation(cpu, result.saturated.lo != 0);
  write_narrow(cpu, op, result.value);
}

// The half of a source that the first form (Q = 0) or the second form of a long operation reads, in the low half; what
// is above it is not read. A shuffle of the whole register, since a lone scalar half would not become vector code.
KVRM_INLINE U128 long_source(const U128& value, bool second) {
  const Elements<u64> source(value);
  const Elements<u64>::Vector high = __builtin_shufflevector(source.vector, source.vector, 1, 1);
  return second ? __builtin_bit_cast(U128, high) : value;
}

// --- results as wide as the sources ---

// d[i] = f(n[i])
template <Size kLeast, Size kMost, class Op, class F>
KVRM_INLINE void unary(Cpu& cpu, const Op& op, u32 size, F f) {
  const U128 n = cpu.q[op.Vn];
  write_vector(cpu, op,
               by_size<kLeast, kMost>(size, [&]<class E>(E) KVRM_LAMBDA { return map<E>(f, Elements<E>(n)); }));
}

// d[i] = f(d[i], n[i])
template <Size kLeast, Size kMost, class Op, class F>
KVRM_INLINE void unary_onto(Cpu& cpu, const Op& op, u32 size, F f) {
  const U128 n = cpu.q[op.Vn];
  const U128 d = cpu.q[op.Vd];
  write_vector(cpu, op, by_size<kLeast, kMost>(size, [&]<class E>(E) KVRM_LAMBDA {
                 return map<E>(f, Elements<E>(d), Elements<E>(n));
               }));
}

// d[i] = f(n[i], m[i])
template <Size kLeast, Size kMost, class Op, class F>
KVRM_INLINE void binary(Cpu& cpu, const Op& op, F f) {
  const U128 n = cpu.q[op.Vn];
  const U128 m = cpu.q[op.Vm];
  write_vector(cpu, op, by_size<kLeast, kMost>(op.size, [&]<class E>(E) KVRM_LAMBDA {
                 return map<E>(f, Elements<E>(n), Elements<E>(m));
               }));
}

// d[i] = f(d[i], n[i], m[i])
template <Size kLeast, Size kMost, class Op, class F>
KVRM_INLINE void binary_onto(Cpu& cpu, const Op& op, F f) {
  const U128 n = cpu.q[op.Vn];
  const U128 m = cpu.q[op.Vm];
  const U128 d = cpu.q[op.Vd];
  write_vector(cpu, op, by_size<kLeast, kMost>(op.size, [&]<class E>(E) KVRM_LAMBDA {
                 return map<E>(f, Elements<E>(d), Elements<E>(n), Elements<E>(m));
               }));
}

// f of neighboring pairs of n, then of m.
template <Size kLeast, Size kMost, class Op, class F>
KVRM_INLINE void pairwise(Cpu& cpu, const Op& op, F f) {
  const U128 n = cpu.q[op.Vn];
  const U128 m = cpu.q[op.Vm];
  write_vector(cpu, op,
               by_size<kLeast, kMost>(op.size, [&]<class E>(E) KVRM_LAMBDA { return map_pairs<E>(n, m, op.Q, f); }));
}

// f on both halves of the registers, with the old destination as third operand.
template <class Op, class F>
KVRM_INLINE void bitwise(Cpu& cpu, const Op& op, F f) {
  const U128 n = cpu.q[op.Vn];
  const U128 m = cpu.q[op.Vm];
  const U128 d = cpu.q[op.Vd];
  write_vector(cpu, op, U128{f(n.lo, m.lo, d.lo), f(n.hi, m.hi, d.hi)});
}

// --- long, wide and narrow: size is that of the narrow elements N, W is twice as wide ---

// W d[i] = f(N n[i])
template <Size kLeast, Size kMost, class Op, class F>
KVRM_INLINE void unary_long(Cpu& cpu, const Op& op, u32 size, F f) {
  const U128 n = long_source(cpu.q[op.Vn], op.Q);
  write_long(cpu, op,
             by_size<kLeast, kMost>(size, [&]<class N>(N) KVRM_LAMBDA { return map<Wide<N>>(f, Elements<N>(n)); }));
}

// W d[i] = f(N n[i], N m[i])
template <Size kLeast, Size kMost, class Op, class F>
KVRM_INLINE void binary_long(Cpu& cpu, const Op& op, F f) {
  const U128 n = long_source(cpu.q[op.Vn], op.Q);
  const U128 m = long_source(cpu.q[op.Vm], op.Q);
  write_long(cpu, op, by_size<kLeast, kMost>(op.size, [&]<class N>(N) KVRM_LAMBDA {
               return map<Wide<N>>(f, Elements<N>(n), Elements<N>(m));
             }));
}

// W d[i] = f(W d[i], N n[i], N m[i])
template <Size kLeast, Size kMost, class Op, class F>
KVRM_INLINE void binary_long_onto(Cpu& cpu, const Op& op, F f) {
  const U128 n = long_source(cpu.q[op.Vn], op.Q);
  const U128 m = long_source(cpu.q[op.Vm], op.Q);
  const U128 d = cpu.q[op.Vd];
  write_long(cpu, op, by_size<kLeast, kMost>(op.size, [&]<class N>(N) KVRM_LAMBDA {
               return map<Wide<N>>(f, Elements<Wide<N>>(d), Elements<N>(n), Elements<N>(m));
             }));
}

// W d[i] = f(W n[i], N m[i])
template <class Op, class F>
KVRM_INLINE void binary_wide(Cpu& cpu, const Op& op, F f) {
  const U128 n = cpu.q[op.Vn];
  const U128 m = long_source(cpu.q[op.Vm], op.Q);
  write_long(cpu, op, by_size<Size::kB, Size::kS>(op.size, [&]<class N>(N) KVRM_LAMBDA {
               return map<Wide<N>>(f, Elements<Wide<N>>(n), Elements<N>(m));
             }));
}

// N d[i] = f(W n[i])
template <class Op, class F>
KVRM_INLINE void unary_narrow(Cpu& cpu, const Op& op, u32 size, F f) {
  const U128 n = cpu.q[op.Vn];
  write_narrow(cpu, op, by_size<Size::kB, Size::kS>(size, [&]<class N>(N) KVRM_LAMBDA {
                 return map<N>(f, Elements<Wide<N>>(n));
               }));
}

// N d[i] = f(W n[i], W m[i])
template <class Op, class F>
KVRM_INLINE void binary_narrow(Cpu& cpu, const Op& op, F f) {
  const U128 n = cpu.q[op.Vn];
  const U128 m = cpu.q[op.Vm];
  write_narrow(cpu, op, by_size<Size::kB, Size::kS>(op.size, [&]<class N>(N) KVRM_LAMBDA {
                 return map<N>(f, Elements<Wide<N>>(n), Elements<Wide<N>>(m));
               }));
}

}  // namespace kvrm::semantics
