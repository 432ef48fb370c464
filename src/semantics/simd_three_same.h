// Advanced SIMD three registers of the same type: the integer and bitwise operations.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/polynomial.h"
#include "semantics/simd_forms.h"

namespace kvrm::semantics {

// --- bitwise ---

template <class M>
KVRM_INLINE void AND_v(Cpu& cpu, M&, const isa::AND_v& op) {
  bitwise(cpu, op, [](u64 n, u64 m, u64) KVRM_LAMBDA { return n & m; });
}

template <class M>
KVRM_INLINE void BIC_v(Cpu& cpu, M&, const isa::BIC_v& op) {
  bitwise(cpu, op, [](u64 n, u64 m, u64) KVRM_LAMBDA { return n & ~m; });
}

template <class M>
KVRM_INLINE void ORR_v(Cpu& cpu, M&, const isa::ORR_v& op) {
  bitwise(cpu, op, [](u64 n, u64 m, u64) KVRM_LAMBDA { return n | m; });
}

template <class M>
KVRM_INLINE void ORN_v(Cpu& cpu, M&, const isa::ORN_v& op) {
  bitwise(cpu, op, [](u64 n, u64 m, u64) KVRM_LAMBDA { return n | ~m; });
}

template <class M>
KVRM_INLINE void EOR_v(Cpu& cpu, M&, const isa::EOR_v& op) {
  bitwise(cpu, op, [](u64 n, u64 m, u64) KVRM_LAMBDA { return n ^ m; });
}

template <class M>
KVRM_INLINE void BSL_v(Cpu& cpu, M&, const isa::BSL_v& op) {
  bitwise(cpu, op, [](u64 n, u64 m, u64 d) KVRM_LAMBDA { return m ^ ((m ^ n) & d); });
}

template <class M>
KVRM_INLINE void BIT_v(Cpu& cpu, M&, const isa::BIT_v& op) {
  bitwise(cpu, op, [](u64 n, u64 m, u64 d) KVRM_LAMBDA { return d ^ ((d ^ n) & m); });
}

template <class M>
KVRM_INLINE void BIF_v(Cpu& cpu, M&, const isa::BIF_v& op) {
  bitwise(cpu, op, [](u64 n, u64 m, u64 d) KVRM_LAMBDA { return d ^ ((d ^ n) & ~m); });
}

// --- comparisons ---

template <class M>
KVRM_INLINE void CMEQ_v(Cpu& cpu, M&, const isa::CMEQ_v& op) {
  binary<Size::kB, Size::kD>(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return all_ones_if<E>(n == m); });
}

template <class M>
KVRM_INLINE void CMHI_v(Cpu& cpu, M&, const isa::CMHI_v& op) {
  binary<Size::kB, Size::kD>(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return all_ones_if<E>(n > m); });
}

template <class M>
KVRM_INLINE void CMHS_v(Cpu& cpu, M&, const isa::CMHS_v& op) {
  binary<Size::kB, Size::kD>(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return all_ones_if<E>(n >= m); });
}

template <class M>
KVRM_INLINE void CMGT_v(Cpu& cpu, M&, const isa::CMGT_v& op) {
  binary<Size::kB, Size::kD>(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return all_ones_if<E>(signed_less(m, n)); });
}

template <class M>
KVRM_INLINE void CMGE_v(Cpu& cpu, M&, const isa::CMGE_v& op) {
  binary<Size::kB, Size::kD>(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return all_ones_if<E>(!signed_less(n, m)); });
}

template <class M>
KVRM_INLINE void CMTST_v(Cpu& cpu, M&, const isa::CMTST_v& op) {
  binary<Size::kB, Size::kD>(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return all_ones_if<E>((n & m) != 0); });
}

// --- sums and differences ---

template <class M>
KVRM_INLINE void ADD_v(Cpu& cpu, M&, const isa::ADD_v& op) {
  binary<Size::kB, Size::kD>(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return add(n, m); });
}

template <class M>
KVRM_INLINE void SUB_v(Cpu& cpu, M&, const isa::SUB_v& op) {
  binary<Size::kB, Size::kD>(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return subtract(n, m); });
}

template <class M>
KVRM_INLINE void SQADD_v(Cpu& cpu, M&, const isa::SQADD_v& op) {
  binary<Size::kB, Size::kD>(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return saturating_add<true>(n, m); });
}

template <class M>
KVRM_INLINE void UQADD_v(Cpu& cpu, M&, const isa::UQADD_v& op) {
  binary<Size::kB, Size::kD>(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return saturating_add<false>(n, m); });
}

template <class M>
KVRM_INLINE void SQSUB_v(Cpu& cpu, M&, const isa::SQSUB_v& op) {
  binary<Size::kB, Size::kD>(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return saturating_subtract<true>(n, m); });
}

template <class M>
KVRM_INLINE void UQSUB_v(Cpu& cpu, M&, const isa::UQSUB_v& op) {
  binary<Size::kB, Size::kD>(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return saturating_subtract<false>(n, m); });
}

template <class M>
KVRM_INLINE void SHADD_v(Cpu& cpu, M&, const isa::SHADD_v& op) {
  binary<Size::kB, Size::kS>(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return halving_add<true>(n, m); });
}

template <class M>
KVRM_INLINE void UHADD_v(Cpu& cpu, M&, const isa::UHADD_v& op) {
  binary<Size::kB, Size::kS>(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return halving_add<false>(n, m); });
}

template <class M>
KVRM_INLINE void SRHADD_v(Cpu& cpu, M&, const isa::SRHADD_v& op) {
  binary<Size::kB, Size::kS>(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return rounding_halving_add<true>(n, m); });
}

template <class M>
KVRM_INLINE void URHADD_v(Cpu& cpu, M&, const isa::URHADD_v& op) {
  binary<Size::kB, Size::kS>(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return rounding_halving_add<false>(n, m); });
}

template <class M>
KVRM_INLINE void SHSUB_v(Cpu& cpu, M&, const isa::SHSUB_v& op) {
  binary<Size::kB, Size::kS>(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return halving_subtract<true>(n, m); });
}

template <class M>
KVRM_INLINE void UHSUB_v(Cpu& cpu, M&, const isa::UHSUB_v& op) {
  binary<Size::kB, Size::kS>(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return halving_subtract<false>(n, m); });
}

template <class M>
KVRM_INLINE void SABD_v(Cpu& cpu, M&, const isa::SABD_v& op) {
  binary<Size::kB, Size::kS>(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return absolute_difference<true>(n, m); });
}

template <class M>
KVRM_INLINE void UABD_v(Cpu& cpu, M&, const isa::UABD_v& op) {
  binary<Size::kB, Size::kS>(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return absolute_difference<false>(n, m); });
}

template <class M>
KVRM_INLINE void SABA_v(Cpu& cpu, M&, const isa::SABA_v& op) {
  binary_onto<Size::kB, Size::kS>(
      cpu, op, []<class E>(E d, E n, E m) KVRM_LAMBDA { return add(d, absolute_difference<true>(n, m)); });
}

template <class M>
KVRM_INLINE void UABA_v(Cpu& cpu, M&, const isa::UABA_v& op) {
  binary_onto<Size::kB, Size::kS>(
      cpu, op, []<class E>(E d, E n, E m) KVRM_LAMBDA { return add(d, absolute_difference<false>(n, m)); });
}

// --- maximum, minimum and pairs ---

template <class M>
KVRM_INLINE void SMAX_v(Cpu& cpu, M&, const isa::SMAX_v& op) {
  binary<Size::kB, Size::kS>(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return maximum<true>(n, m); });
}

template <class M>
KVRM_INLINE void UMAX_v(Cpu& cpu, M&, const isa::UMAX_v& op) {
  binary<Size::kB, Size::kS>(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return maximum<false>(n, m); });
}

template <class M>
KVRM_INLINE void SMIN_v(Cpu& cpu, M&, const isa::SMIN_v& op) {
  binary<Size::kB, Size::kS>(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return minimum<true>(n, m); });
}

template <class M>
KVRM_INLINE void UMIN_v(Cpu& cpu, M&, const isa::UMIN_v& op) {
  binary<Size::kB, Size::kS>(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return minimum<false>(n, m); });
}

template <class M>
KVRM_INLINE void SMAXP_v(Cpu& cpu, M&, const isa::SMAXP_v& op) {
  pairwise<Size::kB, Size::kS>(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return maximum<true>(n, m); });
}

template <class M>
KVRM_INLINE void UMAXP_v(Cpu& cpu, M&, const isa::UMAXP_v& op) {
  pairwise<Size::kB, Size::kS>(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return maximum<false>(n, m); });
}

template <class M>
KVRM_INLINE void SMINP_v(Cpu& cpu, M&, const isa::SMINP_v& op) {
  pairwise<Size::kB, Size::kS>(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return minimum<true>(n, m); });
}

template <class M>
KVRM_INLINE void UMINP_v(Cpu& cpu, M&, const isa::UMINP_v& op) {
  pairwise<Size::kB, Size::kS>(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return minimum<false>(n, m); });
}

template <class M>
KVRM_INLINE void ADDP_v(Cpu& cpu, M&, const isa::ADDP_v& op) {
  pairwise<Size::kB, Size::kD>(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return add(n, m); });
}

// --- shifts by register ---

template <class M>
KVRM_INLINE void SSHL_v(Cpu& cpu, M&, const isa::SSHL_v& op) {
  binary<Size::kB, Size::kD>(cpu, op,
                             []<class E>(E n, E m) KVRM_LAMBDA { return shift_by_register<true, false>(n, m); });
}

template <class M>
KVRM_INLINE void USHL_v(Cpu& cpu, M&, const isa::USHL_v& op) {
  binary<Size::kB, Size::kD>(cpu, op,
                             []<class E>(E n, E m) KVRM_LAMBDA { return shift_by_register<false, false>(n, m); });
}

template <class M>
KVRM_INLINE void SRSHL_v(Cpu& cpu, M&, const isa::SRSHL_v& op) {
  binary<Size::kB, Size::kD>(cpu, op,
                             []<class E>(E n, E m) KVRM_LAMBDA { return shift_by_register<true, true>(n, m); });
}

template <class M>
KVRM_INLINE void URSHL_v(Cpu& cpu, M&, const isa::URSHL_v& op) {
  binary<Size::kB, Size::kD>(cpu, op,
                             []<class E>(E n, E m) KVRM_LAMBDA { return shift_by_register<false, true>(n, m); });
}

template <class M>
KVRM_INLINE void SQSHL_v(Cpu& cpu, M&, const isa::SQSHL_v& op) {
  binary<Size::kB, Size::kD>(
      cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return saturating_shift_by_register<true, false>(n, m); });
}

template <class M>
KVRM_INLINE void UQSHL_v(Cpu& cpu, M&, const isa::UQSHL_v& op) {
  binary<Size::kB, Size::kD>(
      cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return saturating_shift_by_register<false, false>(n, m); });
}

template <class M>
KVRM_INLINE void SQRSHL_v(Cpu& cpu, M&, const isa::SQRSHL_v& op) {
  binary<Size::kB, Size::kD>(
      cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return saturating_shift_by_register<true, true>(n, m); });
}

template <class M>
KVRM_INLINE void UQRSHL_v(Cpu& cpu, M&, const isa::UQRSHL_v& op) {
  binary<Size::kB, Size::kD>(
      cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return saturating_shift_by_register<false, true>(n, m); });
}

// --- products ---

template <class M>
KVRM_INLINE void MUL_v(Cpu& cpu, M&, const isa::MUL_v& op) {
  binary<Size::kB, Size::kS>(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return multiply(n, m); });
}

template <class M>
KVRM_INLINE void MLA_v(Cpu& cpu, M&, const isa::MLA_v& op) {
  binary_onto<Size::kB, Size::kS>(cpu, op, []<class E>(E d, E n, E m) KVRM_LAMBDA { return add(d, multiply(n, m)); });
}

template <class M>
KVRM_INLINE void MLS_v(Cpu& cpu, M&, const isa::MLS_v& op) {
  binary_onto<Size::kB, Size::kS>(cpu, op,
                                  []<class E>(E d, E n, E m) KVRM_LAMBDA { return subtract(d, multiply(n, m)); });
}

template <class M>
KVRM_INLINE void PMUL_v(Cpu& cpu, M&, const isa::PMUL_v& op) {
  binary<Size::kB, Size::kB>(cpu, op,
                             [](u8 n, u8 m) KVRM_LAMBDA { return static_cast<u8>(polynomial_multiply(n, m)); });
}

template <class M>
KVRM_INLINE void SQDMULH_v(Cpu& cpu, M&, const isa::SQDMULH_v& op) {
  binary<Size::kH, Size::kS>(
      cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return saturating_doubling_multiply_high<false>(n, m); });
}

template <class M>
KVRM_INLINE void SQRDMULH_v(Cpu& cpu, M&, const isa::SQRDMULH_v& op) {
  binary<Size::kH, Size::kS>(
      cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return saturating_doubling_multiply_high<true>(n, m); });
}

}  // namespace kvrm::semantics
