// Advanced SIMD vector x indexed element: the integer rows. Elements have 16 or 32 bits.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/simd_by_element.h"
#include "semantics/simd_dot_product.h"
#include "semantics/simd_forms.h"

namespace kvrm::semantics {

// The shapes of simd_forms.h with one and the same element m for all.

// d[i] = f(n[i], m)
template <class Op, class F>
KVRM_INLINE void indexed(Cpu& cpu, const Op& op, F f) {
  const U128 n = cpu.q[op.Vn];
  const u32 m = indexed_element(cpu, op);
  write_vector(cpu, op, by_size<Size::kH, Size::kS>(op.size, [&]<class E>(E) KVRM_LAMBDA {
                 return map<E>(f, Elements<E>(n), SameElement<E>(static_cast<E>(m)));
               }));
}

// d[i] = f(d[i], n[i], m)
template <class Op, class F>
KVRM_INLINE void indexed_onto(Cpu& cpu, const Op& op, F f) {
  const U128 n = cpu.q[op.Vn];
  const U128 d = cpu.q[op.Vd];
  const u32 m = indexed_element(cpu, op);
  write_vector(cpu, op, by_size<Size::kH, Size::kS>(op.size, [&]<class E>(E) KVRM_LAMBDA {
                 return map<E>(f, Elements<E>(d), Elements<E>(n), SameElement<E>(static_cast<E>(m)));
               }));
}

// W d[i] = f(N n[i], N m)
template <class Op, class F>
KVRM_INLINE void indexed_long(Cpu& cpu, const Op& op, F f) {
  const U128 n = long_source(cpu.q[op.Vn], op.Q);
  const u32 m = indexed_element(cpu, op);
  write_long(cpu, op, by_size<Size::kH, Size::kS>(op.size, [&]<class N>(N) KVRM_LAMBDA {
               return map<Wide<N>>(f, Elements<N>(n), SameElement<N>(static_cast<N>(m)));
             }));
}

// W d[i] = f(W d[i], N n[i], N m)
template <class Op, class F>
KVRM_INLINE void indexed_long_onto(Cpu& cpu, const Op& op, F f) {
  const U128 n = long_source(cpu.q[op.Vn], op.Q);
  const U128 d = cpu.q[op.Vd];
  const u32 m = indexed_element(cpu, op);
  write_long(cpu, op, by_size<Size::kH, Size::kS>(op.size, [&]<class N>(N) KVRM_LAMBDA {
               return map<Wide<N>>(f, Elements<Wide<N>>(d), Elements<N>(n), SameElement<N>(static_cast<N>(m)));
             }));
}

template <class M>
KVRM_INLINE void MUL_v_elem(Cpu& cpu, M&, const isa::MUL_v_elem& op) {
  indexed(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return multiply(n, m); });
}

template <class M>
KVRM_INLINE void MLA_v_elem(Cpu& cpu, M&, const isa::MLA_v_elem& op) {
  indexed_onto(cpu, op, []<class E>(E d, E n, E m) KVRM_LAMBDA { return add(d, multiply(n, m)); });
}

template <class M>
KVRM_INLINE void MLS_v_elem(Cpu& cpu, M&, const isa::MLS_v_elem& op) {
  indexed_onto(cpu, op, []<class E>(E d, E n, E m) KVRM_LAMBDA { return subtract(d, multiply(n, m)); });
}

template <class M>
KVRM_INLINE void SMULL_v_elem(Cpu& cpu, M&, const isa::SMULL_v_elem& op) {
  indexed_long(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return multiply_long<true>(n, m); });
}

template <class M>
KVRM_INLINE void SMLAL_v_elem(Cpu& cpu, M&, const isa::SMLAL_v_elem& op) {
  indexed_long_onto(cpu, op,
                    []<class E>(Wide<E> d, E n, E m) KVRM_LAMBDA { return add(d, multiply_long<true>(n, m)); });
}

template <class M>
KVRM_INLINE void SMLSL_v_elem(Cpu& cpu, M&, const isa::SMLSL_v_elem& op) {
  indexed_long_onto(cpu, op,
                    []<class E>(Wide<E> d, E n, E m) KVRM_LAMBDA { return subtract(d, multiply_long<true>(n, m)); });
}

template <class M>
KVRM_INLINE void UMULL_v_elem(Cpu& cpu, M&, const isa::UMULL_v_elem& op) {
  indexed_long(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return multiply_long<false>(n, m); });
}

template <class M>
KVRM_INLINE void UMLAL_v_elem(Cpu& cpu, M&, const isa::UMLAL_v_elem& op) {
  indexed_long_onto(cpu, op,
                    []<class E>(Wide<E> d, E n, E m) KVRM_LAMBDA { return add(d, multiply_long<false>(n, m)); });
}

template <class M>
KVRM_INLINE void UMLSL_v_elem(Cpu& cpu, M&, const isa::UMLSL_v_elem& op) {
  indexed_long_onto(cpu, op,
                    []<class E>(Wide<E> d, E n, E m) KVRM_LAMBDA { return subtract(d, multiply_long<false>(n, m)); });
}

template <class M>
KVRM_INLINE void SQDMULL_v_elem(Cpu& cpu, M&, const isa::SQDMULL_v_elem& op) {
  indexed_long(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return saturating_doubling_multiply_long(n, m); });
}

template <class M>
KVRM_INLINE void SQDMLAL_v_elem(Cpu& cpu, M&, const isa::SQDMLAL_v_elem& op) {
  indexed_long_onto(cpu, op, []<class E>(Wide<E> d, E n, E m) KVRM_LAMBDA {
    return saturating_doubling_multiply_accumulate_long<false>(d, n, m);
  });
}

template <class M>
KVRM_INLINE void SQDMLSL_v_elem(Cpu& cpu, M&, const isa::SQDMLSL_v_elem& op) {
  indexed_long_onto(cpu, op, []<class E>(Wide<E> d, E n, E m) KVRM_LAMBDA {
    return saturating_doubling_multiply_accumulate_long<true>(d, n, m);
  });
}

template <class M>
KVRM_INLINE void SQDMULH_v_elem(Cpu& cpu, M&, const isa::SQDMULH_v_elem& op) {
  indexed(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return saturating_doubling_multiply_high<false>(n, m); });
}

template <class M>
KVRM_INLINE void SQRDMULH_v_elem(Cpu& cpu, M&, const isa::SQRDMULH_v_elem& op) {
  indexed(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return saturating_doubling_multiply_high<true>(n, m); });
}

template <class M>
KVRM_INLINE void SQRDMLAH_v_elem(Cpu& cpu, M&, const isa::SQRDMLAH_v_elem& op) {
  indexed_onto(cpu, op, []<class E>(E d, E n, E m) KVRM_LAMBDA {
    return saturating_doubling_multiply_accumulate_high<false, true>(d, n, m);
  });
}

template <class M>
KVRM_INLINE void SQRDMLSH_v_elem(Cpu& cpu, M&, const isa::SQRDMLSH_v_elem& op) {
  indexed_onto(cpu, op, []<class E>(E d, E n, E m) KVRM_LAMBDA {
    return saturating_doubling_multiply_accumulate_high<true, true>(d, n, m);
  });
}

template <class M>
KVRM_INLINE void SDOT_v_elem(Cpu& cpu, M&, const isa::SDOT_v_elem& op) {
  const U128 m = replicate(indexed_word(cpu, op));
  write_vector(cpu, op, dot_product<true>(cpu.q[op.Vd], cpu.q[op.Vn], m));
}

template <class M>
KVRM_INLINE void UDOT_v_elem(Cpu& cpu, M&, const isa::UDOT_v_elem& op) {
  const U128 m = replicate(indexed_word(cpu, op));
  write_vector(cpu, op, dot_product<false>(cpu.q[op.Vd], cpu.q[op.Vn], m));
}

}  // namespace kvrm::semantics
