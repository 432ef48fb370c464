// Advanced SIMD three registers of different types: long, wide and narrowing operations. The second forms (Q = 1) read
// or write the high half of the narrow register.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/polynomial.h"
#include "semantics/simd_forms.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE void SADDL_v(Cpu& cpu, M&, const isa::SADDL_v& op) {
  binary_long<Size::kB, Size::kS>(
      cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return add(extend_element<true>(n), extend_element<true>(m)); });
}

template <class M>
KVRM_INLINE void UADDL_v(Cpu& cpu, M&, const isa::UADDL_v& op) {
  binary_long<Size::kB, Size::kS>(
      cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return add(extend_element<false>(n), extend_element<false>(m)); });
}

template <class M>
KVRM_INLINE void SADDW_v(Cpu& cpu, M&, const isa::SADDW_v& op) {
  binary_wide(cpu, op, []<class E>(Wide<E> n, E m) KVRM_LAMBDA { return add(n, extend_element<true>(m)); });
}

template <class M>
KVRM_INLINE void UADDW_v(Cpu& cpu, M&, const isa::UADDW_v& op) {
  binary_wide(cpu, op, []<class E>(Wide<E> n, E m) KVRM_LAMBDA { return add(n, extend_element<false>(m)); });
}

template <class M>
KVRM_INLINE void SSUBL_v(Cpu& cpu, M&, const isa::SSUBL_v& op) {
  binary_long<Size::kB, Size::kS>(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA {
    return subtract(extend_element<true>(n), extend_element<true>(m));
  });
}

template <class M>
KVRM_INLINE void USUBL_v(Cpu& cpu, M&, const isa::USUBL_v& op) {
  binary_long<Size::kB, Size::kS>(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA {
    return subtract(extend_element<false>(n), extend_element<false>(m));
  });
}

template <class M>
KVRM_INLINE void SSUBW_v(Cpu& cpu, M&, const isa::SSUBW_v& op) {
  binary_wide(cpu, op, []<class E>(Wide<E> n, E m) KVRM_LAMBDA { return subtract(n, extend_element<true>(m)); });
}

template <class M>
KVRM_INLINE void USUBW_v(Cpu& cpu, M&, const isa::USUBW_v& op) {
  binary_wide(cpu, op, []<class E>(Wide<E> n, E m) KVRM_LAMBDA { return subtract(n, extend_element<false>(m)); });
}

template <class M>
KVRM_INLINE void SABDL_v(Cpu& cpu, M&, const isa::SABDL_v& op) {
  binary_long<Size::kB, Size::kS>(
      cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return Wide<E>{absolute_difference<true>(n, m)}; });
}

template <class M>
KVRM_INLINE void UABDL_v(Cpu& cpu, M&, const isa::UABDL_v& op) {
  binary_long<Size::kB, Size::kS>(
      cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return Wide<E>{absolute_difference<false>(n, m)}; });
}

template <class M>
KVRM_INLINE void SABAL_v(Cpu& cpu, M&, const isa::SABAL_v& op) {
  binary_long_onto<Size::kB, Size::kS>(cpu, op, []<class E>(Wide<E> d, E n, E m) KVRM_LAMBDA {
    return add(d, Wide<E>{absolute_difference<true>(n, m)});
  });
}

template <class M>
KVRM_INLINE void UABAL_v(Cpu& cpu, M&, const isa::UABAL_v& op) {
  binary_long_onto<Size::kB, Size::kS>(cpu, op, []<class E>(Wide<E> d, E n, E m) KVRM_LAMBDA {
    return add(d, Wide<E>{absolute_difference<false>(n, m)});
  });
}

template <class M>
KVRM_INLINE void SMULL_v(Cpu& cpu, M&, const isa::SMULL_v& op) {
  binary_long<Size::kB, Size::kS>(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return multiply_long<true>(n, m); });
}

template <class M>
KVRM_INLINE void UMULL_v(Cpu& cpu, M&, const isa::UMULL_v& op) {
  binary_long<Size::kB, Size::kS>(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return multiply_long<false>(n, m); });
}

template <class M>
KVRM_INLINE void SMLAL_v(Cpu& cpu, M&, const isa::SMLAL_v& op) {
  binary_long_onto<Size::kB, Size::kS>(
      cpu, op, []<class E>(Wide<E> d, E n, E m) KVRM_LAMBDA { return add(d, multiply_long<true>(n, m)); });
}

template <class M>
KVRM_INLINE void UMLAL_v(Cpu& cpu, M&, const isa::UMLAL_v& op) {
  binary_long_onto<Size::kB, Size::kS>(
      cpu, op, []<class E>(Wide<E> d, E n, E m) KVRM_LAMBDA { return add(d, multiply_long<false>(n, m)); });
}

template <class M>
KVRM_INLINE void SMLSL_v(Cpu& cpu, M&, const isa::SMLSL_v& op) {
  binary_long_onto<Size::kB, Size::kS>(
      cpu, op, []<class E>(Wide<E> d, E n, E m) KVRM_LAMBDA { return subtract(d, multiply_long<true>(n, m)); });
}

template <class M>
KVRM_INLINE void UMLSL_v(Cpu& cpu, M&, const isa::UMLSL_v& op) {
  binary_long_onto<Size::kB, Size::kS>(
      cpu, op, []<class E>(Wide<E> d, E n, E m) KVRM_LAMBDA { return subtract(d, multiply_long<false>(n, m)); });
}

template <class M>
KVRM_INLINE void SQDMULL_v(Cpu& cpu, M&, const isa::SQDMULL_v& op) {
  binary_long<Size::kH, Size::kS>(
      cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return saturating_doubling_multiply_long(n, m); });
}

template <class M>
KVRM_INLINE void SQDMLAL_v(Cpu& cpu, M&, const isa::SQDMLAL_v& op) {
  binary_long_onto<Size::kH, Size::kS>(cpu, op, []<class E>(Wide<E> d, E n, E m) KVRM_LAMBDA {
    return saturating_doubling_multiply_accumulate_long<false>(d, n, m);
  });
}

template <class M>
KVRM_INLINE void SQDMLSL_v(Cpu& cpu, M&, const isa::SQDMLSL_v& op) {
  binary_long_onto<Size::kH, Size::kS>(cpu, op, []<class E>(Wide<E> d, E n, E m) KVRM_LAMBDA {
    return saturating_doubling_multiply_accumulate_long<true>(d, n, m);
  });
}

template <class M>
KVRM_INLINE void ADDHN_v(Cpu& cpu, M&, const isa::ADDHN_v& op) {
  binary_narrow(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return high_half<false>(add(n, m)); });
}

template <class M>
KVRM_INLINE void RADDHN_v(Cpu& cpu, M&, const isa::RADDHN_v& op) {
  binary_narrow(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return high_half<true>(add(n, m)); });
}

template <class M>
KVRM_INLINE void SUBHN_v(Cpu& cpu, M&, const isa::SUBHN_v& op) {
  binary_narrow(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return high_half<false>(subtract(n, m)); });
}

template <class M>
KVRM_INLINE void RSUBHN_v(Cpu& cpu, M&, const isa::RSUBHN_v& op) {
  binary_narrow(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return high_half<true>(subtract(n, m)); });
}

// Bytes, or one doubleword.
template <class M>
KVRM_INLINE void PMULL_v(Cpu& cpu, M&, const isa::PMULL_v& op) {
  const U128 n = long_source(cpu.q[op.Vn], op.Q);
  const U128 m = long_source(cpu.q[op.Vm], op.Q);
  if (op.size == 0) {
    const auto product = [](u8 a, u8 b) KVRM_LAMBDA { return polynomial_multiply(a, b); };
    cpu.q[op.Vd] = map<u16>(product, Elements<u8>(n), Elements<u8>(m));
  } else {
    cpu.q[op.Vd] = polynomial_multiply(n.lo, m.lo);
  }
}

}  // namespace kvrm::semantics
