// Advanced SIMD two-register miscellaneous: half precision.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/float_operations.h"
#include "semantics/float_vector.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE void FRINTN_v_f16(Cpu& cpu, M&, const isa::FRINTN_v_f16& op) {
  float_each(cpu, op, FloatRoundIntegral{Rounding::kNearest});
}

template <class M>
KVRM_INLINE void FRINTM_v_f16(Cpu& cpu, M&, const isa::FRINTM_v_f16& op) {
  float_each(cpu, op, FloatRoundIntegral{Rounding::kDown});
}

template <class M>
KVRM_INLINE void FCVTNS_v_f16(Cpu& cpu, M&, const isa::FCVTNS_v_f16& op) {
  float_each(cpu, op, FloatToInteger{Rounding::kNearest, true});
}

template <class M>
KVRM_INLINE void FCVTMS_v_f16(Cpu& cpu, M&, const isa::FCVTMS_v_f16& op) {
  float_each(cpu, op, FloatToInteger{Rounding::kDown, true});
}

template <class M>
KVRM_INLINE void FCVTAS_v_f16(Cpu& cpu, M&, const isa::FCVTAS_v_f16& op) {
  float_each(cpu, op, FloatToInteger{Rounding::kAway, true});
}

template <class M>
KVRM_INLINE void SCVTF_v_f16(Cpu& cpu, M&, const isa::SCVTF_v_f16& op) {
  float_each(cpu, op, IntegerToFloat{true});
}

template <class M>
KVRM_INLINE void FCMGT_zero_v_f16(Cpu& cpu, M&, const isa::FCMGT_zero_v_f16& op) {
  float_with_zero(cpu, op, FloatGreater{});
}

template <class M>
KVRM_INLINE void FCMEQ_zero_v_f16(Cpu& cpu, M&, const isa::FCMEQ_zero_v_f16& op) {
  float_with_zero(cpu, op, FloatEqual{});
}

template <class M>
KVRM_INLINE void FCMLT_zero_v_f16(Cpu& cpu, M&, const isa::FCMLT_zero_v_f16& op) {
  float_zero_with(cpu, op, FloatGreater{});
}

template <class M>
KVRM_INLINE void FABS_v_f16(Cpu& cpu, M&, const isa::FABS_v_f16& op) {
  const U128 n = keep_half(cpu.q[op.Vn], op.Q);
  const U128 signs = float_signs(op);
  cpu.q[op.Vd] = {n.lo & ~signs.lo, n.hi & ~signs.hi};
}

template <class M>
KVRM_INLINE void FRINTP_v_f16(Cpu& cpu, M&, const isa::FRINTP_v_f16& op) {
  float_each(cpu, op, FloatRoundIntegral{Rounding::kUp});
}

template <class M>
KVRM_INLINE void FRINTZ_v_f16(Cpu& cpu, M&, const isa::FRINTZ_v_f16& op) {
  float_each(cpu, op, FloatRoundIntegral{Rounding::kZero});
}

template <class M>
KVRM_INLINE void FCVTPS_v_f16(Cpu& cpu, M&, const isa::FCVTPS_v_f16& op) {
  float_each(cpu, op, FloatToInteger{Rounding::kUp, true});
}

template <class M>
KVRM_INLINE void FCVTZS_v_f16(Cpu& cpu, M&, const isa::FCVTZS_v_f16& op) {
  float_each(cpu, op, FloatToInteger{Rounding::kZero, true});
}

template <class M>
KVRM_INLINE void FRECPE_v_f16(Cpu& cpu, M&, const isa::FRECPE_v_f16& op) {
  float_each(cpu, op, FloatRecipEstimate{});
}

template <class M>
KVRM_INLINE void FRINTA_v_f16(Cpu& cpu, M&, const isa::FRINTA_v_f16& op) {
  float_each(cpu, op, FloatRoundIntegral{Rounding::kAway});
}

template <class M>
KVRM_INLINE void FRINTX_v_f16(Cpu& cpu, M&, const isa::FRINTX_v_f16& op) {
  float_each(cpu, op, FloatRoundIntegral{rounding_of(cpu.fpcr), true});
}

template <class M>
KVRM_INLINE void FCVTNU_v_f16(Cpu& cpu, M&, const isa::FCVTNU_v_f16& op) {
  float_each(cpu, op, FloatToInteger{Rounding::kNearest, false});
}

template <class M>
KVRM_INLINE void FCVTMU_v_f16(Cpu& cpu, M&, const isa::FCVTMU_v_f16& op) {
  float_each(cpu, op, FloatToInteger{Rounding::kDown, false});
}

template <class M>
KVRM_INLINE void FCVTAU_v_f16(Cpu& cpu, M&, const isa::FCVTAU_v_f16& op) {
  float_each(cpu, op, FloatToInteger{Rounding::kAway, false});
}

template <class M>
KVRM_INLINE void UCVTF_v_f16(Cpu& cpu, M&, const isa::UCVTF_v_f16& op) {
  float_each(cpu, op, IntegerToFloat{false});
}

template <class M>
KVRM_INLINE void FCMGE_zero_v_f16(Cpu& cpu, M&, const isa::FCMGE_zero_v_f16& op) {
  float_with_zero(cpu, op, FloatGreaterEqual{});
}

template <class M>
KVRM_INLINE void FCMLE_zero_v_f16(Cpu& cpu, M&, const isa::FCMLE_zero_v_f16& op) {
  float_zero_with(cpu, op, FloatGreaterEqual{});
}

template <class M>
KVRM_INLINE void FNEG_v_f16(Cpu& cpu, M&, const isa::FNEG_v_f16& op) {
  const U128 n = keep_half(cpu.q[op.Vn], op.Q);
  const U128 signs = float_signs(op);
  cpu.q[op.Vd] = {n.lo ^ signs.lo, n.hi ^ signs.hi};
}

template <class M>
KVRM_INLINE void FRINTI_v_f16(Cpu& cpu, M&, const isa::FRINTI_v_f16& op) {
  float_each(cpu, op, FloatRoundIntegral{rounding_of(cpu.fpcr)});
}

template <class M>
KVRM_INLINE void FCVTPU_v_f16(Cpu& cpu, M&, const isa::FCVTPU_v_f16& op) {
  float_each(cpu, op, FloatToInteger{Rounding::kUp, false});
}

template <class M>
KVRM_INLINE void FCVTZU_v_f16(Cpu& cpu, M&, const isa::FCVTZU_v_f16& op) {
  float_each(cpu, op, FloatToInteger{Rounding::kZero, false});
}

template <class M>
KVRM_INLINE void FRSQRTE_v_f16(Cpu& cpu, M&, const isa::FRSQRTE_v_f16& op) {
  float_each(cpu, op, FloatRsqrtEstimate{});
}

template <class M>
KVRM_INLINE void FSQRT_v_f16(Cpu& cpu, M&, const isa::FSQRT_v_f16& op) {
  float_each(cpu, op, FloatSqrt{});
}

}  // namespace kvrm::semantics
