// The shapes of Advanced SIMD scalar instructions: those of simd_forms.h on element 0 alone, with the rest of the
// destination cleared. f gets elements by value and gives an element or Saturated<element>.
#pragma once

#include "base/cpu.h"
#include "semantics/element_operations.h"
#include "semantics/saturate.h"
#include "semantics/simd_by_element.h"
#include "semantics/vector.h"

namespace kvrm::semantics {

// Results of all sizes as one type.
template <class E>
KVRM_INLINE u64 extend_scalar(E value) {
  return value;
}
template <class E>
KVRM_INLINE Saturated<u64> extend_scalar(Saturated<E> result) {
  return {result.value, result.saturated};
}

template <class Op>
KVRM_INLINE void write_scalar(Cpu& cpu, const Op& op, u64 result) {
  cpu.q[op.Vd] = U128{result, 0};
}
template <class Op>
KVRM_INLINE void write_scalar(Cpu& cpu, const Op& op, Saturated<u64> result) {
  set_saturation(cpu, result.saturated);
  write_scalar(cpu, op, result.value);
}

// The size of a row that has no field for it: 64 bits.
inline constexpr u32 kScalarD = static_cast<u32>(Size::kD);

template <class Op>
KVRM_INLINE u32 scalar_size(const Op& op) {
  if constexpr (requires { op.size; })
    return op.size;
  else
    return kScalarD;
}

// The second source: element 0 of Vm, or the one that the row's index names.
template <class Op>
KVRM_INLINE u64 scalar_second(const Cpu& cpu, const Op& op) {
  if constexpr (requires { op.H; })
    return indexed_element(cpu, op);
  else
    return cpu.q[op.Vm].lo;
}

// --- results as wide as the sources ---

// d = f(n)
template <Size kLeast, Size kMost, class Op, class F>
KVRM_INLINE void scalar_unary(Cpu& cpu, const Op& op, u32 size, F f) {
  const u64 n = cpu.q[op.Vn].lo;
  write_scalar(cpu, op, by_size<kLeast, kMost>(size, [&]<class E>(E) KVRM_LAMBDA {
                 return extend_scalar(f(static_cast<E>(n)));
               }));
}

// d = f(d, n)
template <Size kLeast, Size kMost, class Op, class F>
KVRM_INLINE void scalar_unary_onto(Cpu& cpu, const Op& op, u32 size, F f) {
  const u64 n = cpu.q[op.Vn].lo;
  const u64 d = cpu.q[op.Vd].lo;
  write_scalar(cpu, op, by_size<kLeast, kMost>(size, [&]<class E>(E) KVRM_LAMBDA {
                 return extend_scalar(f(static_cast<E>(d), static_cast<E>(n)));
               }));
}

// d = f(n, m)
template <Size kLeast, Size kMost, class Op, class F>
KVRM_INLINE void scalar_binary(Cpu& cpu, const Op& op, F f) {
  const u64 n = cpu.q[op.Vn].lo;
  const u64 m = scalar_second(cpu, op);
  write_scalar(cpu, op, by_size<kLeast, kMost>(scalar_size(op), [&]<class E>(E) KVRM_LAMBDA {
                 return extend_scalar(f(static_cast<E>(n), static_cast<E>(m)));
               }));
}

// d = f(d, n, m)
template <Size kLeast, Size kMost, class Op, class F>
KVRM_INLINE void scalar_binary_onto(Cpu& cpu, const Op& op, F f) {
  const u64 n = cpu.q[op.Vn].lo;
  const u64 m = scalar_second(cpu, op);
  const u64 d = cpu.q[op.Vd].lo;
  write_scalar(cpu, op, by_size<kLeast, kMost>(scalar_size(op), [&]<class E>(E) KVRM_LAMBDA {
                 return extend_scalar(f(static_cast<E>(d), static_cast<E>(n), static_cast<E>(m)));
               }));
}

// --- long and narrow: size is that of the narrow element N, W is twice as wide ---

// N d = f(W n)
template <class Op, class F>
KVRM_INLINE void scalar_unary_narrow(Cpu& cpu, const Op& op, u32 size, F f) {
  const u64 n = cpu.q[op.Vn].lo;
  write_scalar(cpu, op, by_size<Size::kB, Size::kS>(size, [&]<class N>(N) KVRM_LAMBDA {
                 return extend_scalar(f(static_cast<Wide<N>>(n)));
               }));
}

// W d = f(W d, N n, N m)
template <class Op, class F>
KVRM_INLINE void scalar_binary_long_onto(Cpu& cpu, const Op& op, F f) {
  const u64 n = cpu.q[op.Vn].lo;
  const u64 m = scalar_second(cpu, op);
  const u64 d = cpu.q[op.Vd].lo;
  write_scalar(cpu, op, by_size<Size::kH, Size::kS>(op.size, [&]<class N>(N) KVRM_LAMBDA {
                 return extend_scalar(f(static_cast<Wide<N>>(d), static_cast<N>(n), static_cast<N>(m)));
               }));
}

// --- the products that scalar three same, three different and by element have in common ---

template <bool kRounding, class Op>
KVRM_INLINE void scalar_multiply_high(Cpu& cpu, const Op& op) {
  scalar_binary<Size::kH, Size::kS>(
      cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return saturating_doubling_multiply_high<kRounding>(n, m); });
}

template <bool kSubtract, class Op>
KVRM_INLINE void scalar_multiply_accumulate_high(Cpu& cpu, const Op& op) {
  scalar_binary_onto<Size::kH, Size::kS>(cpu, op, []<class E>(E d, E n, E m) KVRM_LAMBDA {
    return saturating_doubling_multiply_accumulate_high<kSubtract, true>(d, n, m);
  });
}

template <class Op>
KVRM_INLINE void scalar_multiply_long(Cpu& cpu, const Op& op) {
  scalar_binary<Size::kH, Size::kS>(
      cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return saturating_doubling_multiply_long(n, m); });
}

template <bool kSubtract, class Op>
KVRM_INLINE void scalar_multiply_accumulate_long(Cpu& cpu, const Op& op) {
  scalar_binary_long_onto(cpu, op, []<class E>(Wide<E> d, E n, E m) KVRM_LAMBDA {
    return saturating_doubling_multiply_accumulate_long<kSubtract>(d, n, m);
  });
}

}  // namespace kvrm::semantics
