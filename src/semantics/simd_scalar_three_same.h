// Advanced SIMD scalar three same: integer operations on element 0.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/simd_scalar_forms.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE void SQADD_sv(Cpu& cpu, M&, const isa::SQADD_sv& op) {
  scalar_binary<Size::kB, Size::kD>(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return saturating_add<true>(n, m); });
}

template <class M>
KVRM_INLINE void SQSUB_sv(Cpu& cpu, M&, const isa::SQSUB_sv& op) {
  scalar_binary<Size::kB, Size::kD>(cpu, op,
                                    []<class E>(E n, E m) KVRM_LAMBDA { return saturating_subtract<true>(n, m); });
}

template <class M>
KVRM_INLINE void UQADD_sv(Cpu& cpu, M&, const isa::UQADD_sv& op) {
  scalar_binary<Size::kB, Size::kD>(cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return saturating_add<false>(n, m); });
}

template <class M>
KVRM_INLINE void UQSUB_sv(Cpu& cpu, M&, const isa::UQSUB_sv& op) {
  scalar_binary<Size::kB, Size::kD>(cpu, op,
                                    []<class E>(E n, E m) KVRM_LAMBDA { return saturating_subtract<false>(n, m); });
}

template <class M>
KVRM_INLINE void CMGT_sv(Cpu& cpu, M&, const isa::CMGT_sv& op) {
  scalar_binary<Size::kD, Size::kD>(cpu, op,
                                    [](u64 n, u64 m) KVRM_LAMBDA { return all_ones_if<u64>(signed_less(m, n)); });
}

template <class M>
KVRM_INLINE void CMGE_sv(Cpu& cpu, M&, const isa::CMGE_sv& op) {
  scalar_binary<Size::kD, Size::kD>(cpu, op,
                                    [](u64 n, u64 m) KVRM_LAMBDA { return all_ones_if<u64>(!signed_less(n, m)); });
}

template <class M>
KVRM_INLINE void CMHI_sv(Cpu& cpu, M&, const isa::CMHI_sv& op) {
  scalar_binary<Size::kD, Size::kD>(cpu, op, [](u64 n, u64 m) KVRM_LAMBDA { return all_ones_if<u64>(n > m); });
}

template <class M>
KVRM_INLINE void CMHS_sv(Cpu& cpu, M&, const isa::CMHS_sv& op) {
  scalar_binary<Size::kD, Size::kD>(cpu, op, [](u64 n, u64 m) KVRM_LAMBDA { return all_ones_if<u64>(n >= m); });
}

template <class M>
KVRM_INLINE void CMTST_sv(Cpu& cpu, M&, const isa::CMTST_sv& op) {
  scalar_binary<Size::kD, Size::kD>(cpu, op, [](u64 n, u64 m) KVRM_LAMBDA { return all_ones_if<u64>((n & m) != 0); });
}

template <class M>
KVRM_INLINE void CMEQ_sv(Cpu& cpu, M&, const isa::CMEQ_sv& op) {
  scalar_binary<Size::kD, Size::kD>(cpu, op, [](u64 n, u64 m) KVRM_LAMBDA { return all_ones_if<u64>(n == m); });
}

template <class M>
KVRM_INLINE void ADD_sv(Cpu& cpu, M&, const isa::ADD_sv& op) {
  scalar_binary<Size::kD, Size::kD>(cpu, op, [](u64 n, u64 m) KVRM_LAMBDA { return add(n, m); });
}

template <class M>
KVRM_INLINE void SUB_sv(Cpu& cpu, M&, const isa::SUB_sv& op) {
  scalar_binary<Size::kD, Size::kD>(cpu, op, [](u64 n, u64 m) KVRM_LAMBDA { return subtract(n, m); });
}

template <class M>
KVRM_INLINE void SSHL_sv(Cpu& cpu, M&, const isa::SSHL_sv& op) {
  scalar_binary<Size::kD, Size::kD>(cpu, op,
                                    [](u64 n, u64 m) KVRM_LAMBDA { return shift_by_register<true, false>(n, m); });
}

template <class M>
KVRM_INLINE void USHL_sv(Cpu& cpu, M&, const isa::USHL_sv& op) {
  scalar_binary<Size::kD, Size::kD>(cpu, op,
                                    [](u64 n, u64 m) KVRM_LAMBDA { return shift_by_register<false, false>(n, m); });
}

template <class M>
KVRM_INLINE void SRSHL_sv(Cpu& cpu, M&, const isa::SRSHL_sv& op) {
  scalar_binary<Size::kD, Size::kD>(cpu, op,
                                    [](u64 n, u64 m) KVRM_LAMBDA { return shift_by_register<true, true>(n, m); });
}

template <class M>
KVRM_INLINE void URSHL_sv(Cpu& cpu, M&, const isa::URSHL_sv& op) {
  scalar_binary<Size::kD, Size::kD>(cpu, op,
                                    [](u64 n, u64 m) KVRM_LAMBDA { return shift_by_register<false, true>(n, m); });
}

template <class M>
KVRM_INLINE void SQSHL_sv(Cpu& cpu, M&, const isa::SQSHL_sv& op) {
  scalar_binary<Size::kB, Size::kD>(
      cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return saturating_shift_by_register<true, false>(n, m); });
}

template <class M>
KVRM_INLINE void UQSHL_sv(Cpu& cpu, M&, const isa::UQSHL_sv& op) {
  scalar_binary<Size::kB, Size::kD>(
      cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return saturating_shift_by_register<false, false>(n, m); });
}

template <class M>
KVRM_INLINE void SQRSHL_sv(Cpu& cpu, M&, const isa::SQRSHL_sv& op) {
  scalar_binary<Size::kB, Size::kD>(
      cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return saturating_shift_by_register<true, true>(n, m); });
}

template <class M>
KVRM_INLINE void UQRSHL_sv(Cpu& cpu, M&, const isa::UQRSHL_sv& op) {
  scalar_binary<Size::kB, Size::kD>(
      cpu, op, []<class E>(E n, E m) KVRM_LAMBDA { return saturating_shift_by_register<false, true>(n, m); });
}

template <class M>
KVRM_INLINE void SQDMULH_sv(Cpu& cpu, M&, const isa::SQDMULH_sv& op) {
  scalar_multiply_high<false>(cpu, op);
}

template <class M>
KVRM_INLINE void SQRDMULH_sv(Cpu& cpu, M&, const isa::SQRDMULH_sv& op) {
  scalar_multiply_high<true>(cpu, op);
}

}  // namespace kvrm::semantics
