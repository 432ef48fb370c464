// Advanced SIMD two-register miscellaneous: the integer operations.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/simd_forms.h"
#include "semantics/unsigned_estimate.h"

namespace kvrm::semantics {

// The elements of every container of kBytes bytes in reverse order.
template <u32 kBytes, Size kMost, class Op>
KVRM_INLINE void reverse_elements(Cpu& cpu, const Op& op) {
  const U128 n = cpu.q[op.Vn];
  write_vector(cpu, op, by_size<Size::kB, kMost>(op.size, [&]<class E>(E) KVRM_LAMBDA {
                 const Elements<E> source(n);
                 return generate<E, kLanes<E>>([&](u32 i) KVRM_LAMBDA { return source[i ^ (kBytes / sizeof(E) - 1)]; });
               }));
}

// W d[i] = f(W d[i], N n[2i] + N n[2i + 1]), the sum in the wide type.
template <bool kSigned, class Op, class F>
KVRM_INLINE void pairwise_long(Cpu& cpu, const Op& op, F f) {
  const U128 n = cpu.q[op.Vn];
  const U128 d = cpu.q[op.Vd];
  write_vector(cpu, op, by_size<Size::kB, Size::kS>(op.size, [&]<class N>(N) KVRM_LAMBDA {
                 using W = Wide<N>;
                 const Elements<N> source(n);
                 const Elements<W> old(d);
                 return generate<W, kLanes<W>>([&](u32 i) KVRM_LAMBDA {
                   const W sum =
                       add(extend_element<kSigned>(source[2 * i]), extend_element<kSigned>(source[2 * i + 1]));
                   return f(old[i], sum);
                 });
               }));
}

// --- order of elements and bits ---

template <class M>
KVRM_INLINE void REV64_v(Cpu& cpu, M&, const isa::REV64_v& op) {
  reverse_elements<8, Size::kS>(cpu, op);
}

template <class M>
KVRM_INLINE void REV32_v(Cpu& cpu, M&, const isa::REV32_v& op) {
  reverse_elements<4, Size::kH>(cpu, op);
}

template <class M>
KVRM_INLINE void REV16_v(Cpu& cpu, M&, const isa::REV16_v& op) {
  reverse_elements<2, Size::kB>(cpu, op);
}

template <class M>
KVRM_INLINE void RBIT_v(Cpu& cpu, M&, const isa::RBIT_v& op) {
  const U128 n = cpu.q[op.Vn];
  write_vector(cpu, op, U128{reverse_bits_in_bytes(n.lo), reverse_bits_in_bytes(n.hi)});
}

template <class M>
KVRM_INLINE void NOT_v(Cpu& cpu, M&, const isa::NOT_v& op) {
  const U128 n = cpu.q[op.Vn];
  write_vector(cpu, op, U128{~n.lo, ~n.hi});
}

template <class M>
KVRM_INLINE void CLS_v(Cpu& cpu, M&, const isa::CLS_v& op) {
  unary<Size::kB, Size::kS>(cpu, op, op.size, []<class E>(E n) KVRM_LAMBDA { return count_leading_sign_bits(n); });
}

template <class M>
KVRM_INLINE void CLZ_v(Cpu& cpu, M&, const isa::CLZ_v& op) {
  unary<Size::kB, Size::kS>(cpu, op, op.size,
                            []<class E>(E n) KVRM_LAMBDA { return static_cast<E>(count_leading_zeros(n)); });
}

template <class M>
KVRM_INLINE void CNT_v(Cpu& cpu, M&, const isa::CNT_v& op) {
  unary<Size::kB, Size::kB>(cpu, op, op.size, [](u8 n) KVRM_LAMBDA { return count_ones(n); });
}

// --- comparisons with zero ---

template <class M>
KVRM_INLINE void CMEQ_zero_v(Cpu& cpu, M&, const isa::CMEQ_zero_v& op) {
  unary<Size::kB, Size::kD>(cpu, op, op.size, []<class E>(E n) KVRM_LAMBDA { return all_ones_if<E>(n == 0); });
}

template <class M>
KVRM_INLINE void CMGT_zero_v(Cpu& cpu, M&, const isa::CMGT_zero_v& op) {
  unary<Size::kB, Size::kD>(cpu, op, op.size,
                            []<class E>(E n) KVRM_LAMBDA { return all_ones_if<E>(signed_less(E{0}, n)); });
}

template <class M>
KVRM_INLINE void CMGE_zero_v(Cpu& cpu, M&, const isa::CMGE_zero_v& op) {
  unary<Size::kB, Size::kD>(cpu, op, op.size,
                            []<class E>(E n) KVRM_LAMBDA { return all_ones_if<E>(!signed_less(n, E{0})); });
}

template <class M>
KVRM_INLINE void CMLE_zero_v(Cpu& cpu, M&, const isa::CMLE_zero_v& op) {
  unary<Size::kB, Size::kD>(cpu, op, op.size,
                            []<class E>(E n) KVRM_LAMBDA { return all_ones_if<E>(!signed_less(E{0}, n)); });
}

template <class M>
KVRM_INLINE void CMLT_zero_v(Cpu& cpu, M&, const isa::CMLT_zero_v& op) {
  unary<Size::kB, Size::kD>(cpu, op, op.size,
                            []<class E>(E n) KVRM_LAMBDA { return all_ones_if<E>(signed_less(n, E{0})); });
}

// --- arithmetic ---

template <class M>
KVRM_INLINE void ABS_v(Cpu& cpu, M&, const isa::ABS_v& op) {
  unary<Size::kB, Size::kD>(cpu, op, op.size, []<class E>(E n) KVRM_LAMBDA { return absolute(n); });
}

template <class M>
KVRM_INLINE void NEG_v(Cpu& cpu, M&, const isa::NEG_v& op) {
  unary<Size::kB, Size::kD>(cpu, op, op.size, []<class E>(E n) KVRM_LAMBDA { return negate(n); });
}

template <class M>
KVRM_INLINE void SQABS_v(Cpu& cpu, M&, const isa::SQABS_v& op) {
  unary<Size::kB, Size::kD>(cpu, op, op.size, []<class E>(E n) KVRM_LAMBDA { return saturating_absolute(n); });
}

template <class M>
KVRM_INLINE void SQNEG_v(Cpu& cpu, M&, const isa::SQNEG_v& op) {
  unary<Size::kB, Size::kD>(cpu, op, op.size, []<class E>(E n) KVRM_LAMBDA { return saturating_negate(n); });
}

template <class M>
KVRM_INLINE void SUQADD_v(Cpu& cpu, M&, const isa::SUQADD_v& op) {
  unary_onto<Size::kB, Size::kD>(cpu, op, op.size,
                                 []<class E>(E d, E n) KVRM_LAMBDA { return saturating_add_unsigned_to_signed(d, n); });
}

template <class M>
KVRM_INLINE void USQADD_v(Cpu& cpu, M&, const isa::USQADD_v& op) {
  unary_onto<Size::kB, Size::kD>(cpu, op, op.size,
                                 []<class E>(E d, E n) KVRM_LAMBDA { return saturating_add_signed_to_unsigned(d, n); });
}

template <class M>
KVRM_INLINE void SADDLP_v(Cpu& cpu, M&, const isa::SADDLP_v& op) {
  pairwise_long<true>(cpu, op, []<class W>(W, W sum) KVRM_LAMBDA { return sum; });
}

template <class M>
KVRM_INLINE void UADDLP_v(Cpu& cpu, M&, const isa::UADDLP_v& op) {
  pairwise_long<false>(cpu, op, []<class W>(W, W sum) KVRM_LAMBDA { return sum; });
}

template <class M>
KVRM_INLINE void SADALP_v(Cpu& cpu, M&, const isa::SADALP_v& op) {
  pairwise_long<true>(cpu, op, []<class W>(W d, W sum) KVRM_LAMBDA { return add(d, sum); });
}

template <class M>
KVRM_INLINE void UADALP_v(Cpu& cpu, M&, const isa::UADALP_v& op) {
  pairwise_long<false>(cpu, op, []<class W>(W d, W sum) KVRM_LAMBDA { return add(d, sum); });
}

template <class M>
KVRM_INLINE void URECPE_v(Cpu& cpu, M&, const isa::URECPE_v& op) {
  unary<Size::kS, Size::kS>(cpu, op, 2, [](u32 n) KVRM_LAMBDA { return unsigned_recip_estimate(n); });
}

template <class M>
KVRM_INLINE void URSQRTE_v(Cpu& cpu, M&, const isa::URSQRTE_v& op) {
  unary<Size::kS, Size::kS>(cpu, op, 2, [](u32 n) KVRM_LAMBDA { return unsigned_rsqrt_estimate(n); });
}

// --- to half and to twice the width ---

template <class M>
KVRM_INLINE void XTN_v(Cpu& cpu, M&, const isa::XTN_v& op) {
  unary_narrow(cpu, op, op.size, []<class W>(W n) KVRM_LAMBDA { return static_cast<Narrow<W>>(n); });
}

template <class M>
KVRM_INLINE void SQXTN_v(Cpu& cpu, M&, const isa::SQXTN_v& op) {
  unary_narrow(cpu, op, op.size, []<class W>(W n) KVRM_LAMBDA { return saturating_narrow<true, true>(n); });
}

template <class M>
KVRM_INLINE void SQXTUN_v(Cpu& cpu, M&, const isa::SQXTUN_v& op) {
  unary_narrow(cpu, op, op.size, []<class W>(W n) KVRM_LAMBDA { return saturating_narrow<true, false>(n); });
}

template <class M>
KVRM_INLINE void UQXTN_v(Cpu& cpu, M&, const isa::UQXTN_v& op) {
  unary_narrow(cpu, op, op.size, []<class W>(W n) KVRM_LAMBDA { return saturating_narrow<false, false>(n); });
}

// Shifts by the width of the narrow element.
template <class M>
KVRM_INLINE void SHLL_v(Cpu& cpu, M&, const isa::SHLL_v& op) {
  unary_long<Size::kB, Size::kS>(
      cpu, op, op.size, []<class N>(N n) KVRM_LAMBDA { return shift_left(extend_element<false>(n), kBits<N>); });
}

}  // namespace kvrm::semantics
