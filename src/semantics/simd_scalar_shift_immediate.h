// Advanced SIMD scalar shift by immediate: the integer rows.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/shift_amounts.h"
#include "semantics/simd_scalar_forms.h"

namespace kvrm::semantics {

// Shifts of 64-bit elements to the right: f(value, amount), or f(old destination, value, amount).
template <class Op, class F>
KVRM_INLINE void scalar_shift_right(Cpu& cpu, const Op& op, F f) {
  const u32 amount = right_amount(op);
  scalar_unary<Size::kD, Size::kD>(cpu, op, kScalarD, [&](u64 n) KVRM_LAMBDA { return f(n, amount); });
}
template <class Op, class F>
KVRM_INLINE void scalar_shift_right_onto(Cpu& cpu, const Op& op, F f) {
  const u32 amount = right_amount(op);
  scalar_unary_onto<Size::kD, Size::kD>(cpu, op, kScalarD, [&](u64 d, u64 n) KVRM_LAMBDA { return f(d, n, amount); });
}

// Shifts to the left that saturate: elements of any size.
template <class Op, class F>
KVRM_INLINE void scalar_saturating_shift_left(Cpu& cpu, const Op& op, F f) {
  const u32 amount = left_amount(op);
  scalar_unary<Size::kB, Size::kD>(cpu, op, shift_scale(op.immh),
                                   [&]<class E>(E n) KVRM_LAMBDA { return f(n, amount); });
}

// Shifts to the right that narrow.
template <bool kFromSigned, bool kToSigned, bool kRounding, class Op>
KVRM_INLINE void scalar_shift_right_narrow(Cpu& cpu, const Op& op) {
  const u32 amount = right_amount(op);
  scalar_unary_narrow(cpu, op, shift_scale(op.immh), [&]<class W>(W n) KVRM_LAMBDA {
    return saturating_shift_right_narrow<kFromSigned, kToSigned, kRounding>(n, amount);
  });
}

template <class M>
KVRM_INLINE void SSHR_sv(Cpu& cpu, M&, const isa::SSHR_sv& op) {
  scalar_shift_right(cpu, op, [](u64 n, u32 amount) KVRM_LAMBDA { return shift_right<true>(n, amount); });
}

template <class M>
KVRM_INLINE void USHR_sv(Cpu& cpu, M&, const isa::USHR_sv& op) {
  scalar_shift_right(cpu, op, [](u64 n, u32 amount) KVRM_LAMBDA { return shift_right<false>(n, amount); });
}

template <class M>
KVRM_INLINE void SRSHR_sv(Cpu& cpu, M&, const isa::SRSHR_sv& op) {
  scalar_shift_right(cpu, op, [](u64 n, u32 amount) KVRM_LAMBDA { return rounding_shift_right<true>(n, amount); });
}

template <class M>
KVRM_INLINE void URSHR_sv(Cpu& cpu, M&, const isa::URSHR_sv& op) {
  scalar_shift_right(cpu, op, [](u64 n, u32 amount) KVRM_LAMBDA { return rounding_shift_right<false>(n, amount); });
}

template <class M>
KVRM_INLINE void SSRA_sv(Cpu& cpu, M&, const isa::SSRA_sv& op) {
  scalar_shift_right_onto(cpu, op,
                          [](u64 d, u64 n, u32 amount) KVRM_LAMBDA { return add(d, shift_right<true>(n, amount)); });
}

template <class M>
KVRM_INLINE void USRA_sv(Cpu& cpu, M&, const isa::USRA_sv& op) {
  scalar_shift_right_onto(cpu, op,
                          [](u64 d, u64 n, u32 amount) KVRM_LAMBDA { return add(d, shift_right<false>(n, amount)); });
}

template <class M>
KVRM_INLINE void SRSRA_sv(Cpu& cpu, M&, const isa::SRSRA_sv& op) {
  scalar_shift_right_onto(
      cpu, op, [](u64 d, u64 n, u32 amount) KVRM_LAMBDA { return add(d, rounding_shift_right<true>(n, amount)); });
}

template <class M>
KVRM_INLINE void URSRA_sv(Cpu& cpu, M&, const isa::URSRA_sv& op) {
  scalar_shift_right_onto(
      cpu, op, [](u64 d, u64 n, u32 amount) KVRM_LAMBDA { return add(d, rounding_shift_right<false>(n, amount)); });
}

template <class M>
KVRM_INLINE void SRI_sv(Cpu& cpu, M&, const isa::SRI_sv& op) {
  scalar_shift_right_onto(cpu, op,
                          [](u64 d, u64 n, u32 amount) KVRM_LAMBDA { return shift_right_insert(d, n, amount); });
}

template <class M>
KVRM_INLINE void SHL_sv(Cpu& cpu, M&, const isa::SHL_sv& op) {
  const U128 n = cpu.q[op.Vn];
  write_scalar(cpu, op, shift_left(n.lo, left_amount(op)));
}

template <class M>
KVRM_INLINE void SLI_sv(Cpu& cpu, M&, const isa::SLI_sv& op) {
  const U128 n = cpu.q[op.Vn];
  const U128 d = cpu.q[op.Vd];
  write_scalar(cpu, op, shift_left_insert(d.lo, n.lo, left_amount(op)));
}

template <class M>
KVRM_INLINE void SQSHL_imm_sv(Cpu& cpu, M&, const isa::SQSHL_imm_sv& op) {
  scalar_saturating_shift_left(
      cpu, op, []<class E>(E n, u32 amount) KVRM_LAMBDA { return saturating_shift_left<true>(n, amount); });
}

template <class M>
KVRM_INLINE void UQSHL_imm_sv(Cpu& cpu, M&, const isa::UQSHL_imm_sv& op) {
  scalar_saturating_shift_left(
      cpu, op, []<class E>(E n, u32 amount) KVRM_LAMBDA { return saturating_shift_left<false>(n, amount); });
}

template <class M>
KVRM_INLINE void SQSHLU_sv(Cpu& cpu, M&, const isa::SQSHLU_sv& op) {
  scalar_saturating_shift_left(
      cpu, op, []<class E>(E n, u32 amount) KVRM_LAMBDA { return saturating_shift_left_unsigned(n, amount); });
}

template <class M>
KVRM_INLINE void SQSHRN_sv(Cpu& cpu, M&, const isa::SQSHRN_sv& op) {
  scalar_shift_right_narrow<true, true, false>(cpu, op);
}

template <class M>
KVRM_INLINE void SQRSHRN_sv(Cpu& cpu, M&, const isa::SQRSHRN_sv& op) {
  scalar_shift_right_narrow<true, true, true>(cpu, op);
}

template <class M>
KVRM_INLINE void UQSHRN_sv(Cpu& cpu, M&, const isa::UQSHRN_sv& op) {
  scalar_shift_right_narrow<false, false, false>(cpu, op);
}

template <class M>
KVRM_INLINE void UQRSHRN_sv(Cpu& cpu, M&, const isa::UQRSHRN_sv& op) {
  scalar_shift_right_narrow<false, false, true>(cpu, op);
}

template <class M>
KVRM_INLINE void SQSHRUN_sv(Cpu& cpu, M&, const isa::SQSHRUN_sv& op) {
  scalar_shift_right_narrow<true, false, false>(cpu, op);
}

template <class M>
KVRM_INLINE void SQRSHRUN_sv(Cpu& cpu, M&, const isa::SQRSHRUN_sv& op) {
  scalar_shift_right_narrow<true, false, true>(cpu, op);
}

}  // namespace kvrm::semantics
