// Advanced SIMD permute: interleaving, its inverse, and the transposition of 2x2 blocks.
#pragma once

#include "base/cpu.h"
#include "isa/a64_operands.h"
#include "semantics/vector.h"

namespace kvrm::semantics {

// a[0], b[0], a[1], b[1], ...
template <class E>
KVRM_INLINE U128 interleave(u64 a, u64 b) {
  const Elements<E> even(U128{a, 0}), odd(U128{b, 0});
  return generate<E, kLanes<E>>([&](u32 i) KVRM_LAMBDA { return i % 2 ? odd[i / 2] : even[i / 2]; });
}

// Elements first, first + 2, first + 4, ... for a first of 0 or 1.
template <class E>
KVRM_INLINE u64 every_other(const U128& value, u32 first) {
  const Elements<E> elements(value);
  return generate<E, kLanes<E> / 2>([&](u32 i) KVRM_LAMBDA { return elements[2 * i + first]; }).lo;
}

// f(n, m, E{}) for the size's E; f sees values only.
template <class Op, class F>
KVRM_INLINE void permute(Cpu& cpu, const Op& op, F f) {
  const U128 n = cpu.q[op.Vn];
  const U128 m = cpu.q[op.Vm];
  const U128 result = by_size<Size::kB, Size::kD>(op.size, [&]<class E>(E type) KVRM_LAMBDA { return f(n, m, type); });
  cpu.q[op.Vd] = keep_half(result, op.Q);
}

template <class Op>
KVRM_INLINE void unzip(Cpu& cpu, const Op& op, u32 first) {
  const bool whole = op.Q;
  permute(cpu, op, [=]<class E>(const U128& n, const U128& m, E) KVRM_LAMBDA {
    return whole ? U128{every_other<E>(n, first), every_other<E>(m, first)}
                 : U128{every_other<E>({n.lo, m.lo}, first), 0};
  });
}

template <class Op>
KVRM_INLINE void transpose(Cpu& cpu, const Op& op, u32 first) {
  permute(cpu, op, [=]<class E>(const U128& n, const U128& m, E) KVRM_LAMBDA {
    return interleave<E>(every_other<E>(n, first), every_other<E>(m, first));
  });
}

template <class M>
KVRM_INLINE void UZP1_v(Cpu& cpu, M&, const isa::UZP1_v& op) {
  unzip(cpu, op, 0);
}

template <class M>
KVRM_INLINE void UZP2_v(Cpu& cpu, M&, const isa::UZP2_v& op) {
  unzip(cpu, op, 1);
}

template <class M>
KVRM_INLINE void TRN1_v(Cpu& cpu, M&, const isa::TRN1_v& op) {
  transpose(cpu, op, 0);
}

template <class M>
KVRM_INLINE void TRN2_v(Cpu& cpu, M&, const isa::TRN2_v& op) {
  transpose(cpu, op, 1);
}

template <class M>
KVRM_INLINE void ZIP1_v(Cpu& cpu, M&, const isa::ZIP1_v& op) {
  permute(cpu, op, []<class E>(const U128& n, const U128& m, E) KVRM_LAMBDA { return interleave<E>(n.lo, m.lo); });
}

// Of 64-bit sources, the second half of the interleaved elements is what ZIP1 would put into its high half.
template <class M>
KVRM_INLINE void ZIP2_v(Cpu& cpu, M&, const isa::ZIP2_v& op) {
  const bool whole = op.Q;
  permute(cpu, op, [=]<class E>(const U128& n, const U128& m, E) KVRM_LAMBDA {
    return whole ? interleave<E>(n.hi, m.hi) : U128{interleave<E>(n.lo, m.lo).hi, 0};
  });
}

}  // namespace kvrm::semantics
