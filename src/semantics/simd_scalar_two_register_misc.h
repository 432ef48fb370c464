// Advanced SIMD scalar two-register miscellaneous: integer operations on element 0.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/simd_scalar_forms.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE void SUQADD_sv(Cpu& cpu, M&, const isa::SUQADD_sv& op) {
  scalar_unary_onto<Size::kB, Size::kD>(
      cpu, op, op.size, []<class E>(E d, E n) KVRM_LAMBDA { return saturating_add_unsigned_to_signed(d, n); });
}

template <class M>
KVRM_INLINE void USQADD_sv(Cpu& cpu, M&, const isa::USQADD_sv& op) {
  scalar_unary_onto<Size::kB, Size::kD>(
      cpu, op, op.size, []<class E>(E d, E n) KVRM_LAMBDA { return saturating_add_signed_to_unsigned(d, n); });
}

template <class M>
KVRM_INLINE void SQABS_sv(Cpu& cpu, M&, const isa::SQABS_sv& op) {
  scalar_unary<Size::kB, Size::kD>(cpu, op, op.size, []<class E>(E n) KVRM_LAMBDA { return saturating_absolute(n); });
}

template <class M>
KVRM_INLINE void SQNEG_sv(Cpu& cpu, M&, const isa::SQNEG_sv& op) {
  scalar_unary<Size::kB, Size::kD>(cpu, op, op.size, []<class E>(E n) KVRM_LAMBDA { return saturating_negate(n); });
}

template <class M>
KVRM_INLINE void CMGT_zero_sv(Cpu& cpu, M&, const isa::CMGT_zero_sv& op) {
  scalar_unary<Size::kD, Size::kD>(cpu, op, kScalarD,
                                   [](u64 n) KVRM_LAMBDA { return all_ones_if<u64>(signed_less(u64{0}, n)); });
}

template <class M>
KVRM_INLINE void CMGE_zero_sv(Cpu& cpu, M&, const isa::CMGE_zero_sv& op) {
  scalar_unary<Size::kD, Size::kD>(cpu, op, kScalarD,
                                   [](u64 n) KVRM_LAMBDA { return all_ones_if<u64>(!signed_less(n, u64{0})); });
}

template <class M>
KVRM_INLINE void CMEQ_zero_sv(Cpu& cpu, M&, const isa::CMEQ_zero_sv& op) {
  scalar_unary<Size::kD, Size::kD>(cpu, op, kScalarD, [](u64 n) KVRM_LAMBDA { return all_ones_if<u64>(n == 0); });
}

template <class M>
KVRM_INLINE void CMLE_zero_sv(Cpu& cpu, M&, const isa::CMLE_zero_sv& op) {
  scalar_unary<Size::kD, Size::kD>(cpu, op, kScalarD,
                                   [](u64 n) KVRM_LAMBDA { return all_ones_if<u64>(!signed_less(u64{0}, n)); });
}

template <class M>
KVRM_INLINE void CMLT_zero_sv(Cpu& cpu, M&, const isa::CMLT_zero_sv& op) {
  scalar_unary<Size::kD, Size::kD>(cpu, op, kScalarD,
                                   [](u64 n) KVRM_LAMBDA { return all_ones_if<u64>(signed_less(n, u64{0})); });
}

template <class M>
KVRM_INLINE void ABS_sv(Cpu& cpu, M&, const isa::ABS_sv& op) {
  scalar_unary<Size::kD, Size::kD>(cpu, op, kScalarD, [](u64 n) KVRM_LAMBDA { return absolute(n); });
}

template <class M>
KVRM_INLINE void NEG_sv(Cpu& cpu, M&, const isa::NEG_sv& op) {
  scalar_unary<Size::kD, Size::kD>(cpu, op, kScalarD, [](u64 n) KVRM_LAMBDA { return negate(n); });
}

template <class M>
KVRM_INLINE void SQXTN_sv(Cpu& cpu, M&, const isa::SQXTN_sv& op) {
  scalar_unary_narrow(cpu, op, op.size, [](auto n) KVRM_LAMBDA { return saturating_narrow<true, true>(n); });
}

template <class M>
KVRM_INLINE void SQXTUN_sv(Cpu& cpu, M&, const isa::SQXTUN_sv& op) {
  scalar_unary_narrow(cpu, op, op.size, [](auto n) KVRM_LAMBDA { return saturating_narrow<true, false>(n); });
}

template <class M>
KVRM_INLINE void UQXTN_sv(Cpu& cpu, M&, const isa::UQXTN_sv& op) {
  scalar_unary_narrow(cpu, op, op.size, [](auto n) KVRM_LAMBDA { return saturating_narrow<false, false>(n); });
}

}  // namespace kvrm::semantics
