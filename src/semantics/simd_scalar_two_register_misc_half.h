// Advanced SIMD scalar two-register miscellaneous: half precision.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/float_operations.h"
#include "semantics/float_vector.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE void FCVTNS_sv_f16(Cpu& cpu, M&, const isa::FCVTNS_sv_f16& op) {
  float_each(cpu, op, FloatToInteger{Rounding::kNearest, true});
}

template <class M>
KVRM_INLINE void FCVTMS_sv_f16(Cpu& cpu, M&, const isa::FCVTMS_sv_f16& op) {
  float_each(cpu, op, FloatToInteger{Rounding::kDown, true});
}

template <class M>
KVRM_INLINE void FCVTAS_sv_f16(Cpu& cpu, M&, const isa::FCVTAS_sv_f16& op) {
  float_each(cpu, op, FloatToInteger{Rounding::kAway, true});
}

template <class M>
KVRM_INLINE void SCVTF_sv_f16(Cpu& cpu, M&, const isa::SCVTF_sv_f16& op) {
  float_each(cpu, op, IntegerToFloat{true});
}

template <class M>
KVRM_INLINE void FCMGT_zero_sv_f16(Cpu& cpu, M&, const isa::FCMGT_zero_sv_f16& op) {
  float_with_zero(cpu, op, FloatGreater{});
}

template <class M>
KVRM_INLINE void FCMEQ_zero_sv_f16(Cpu& cpu, M&, const isa::FCMEQ_zero_sv_f16& op) {
  float_with_zero(cpu, op, FloatEqual{});
}

template <class M>
KVRM_INLINE void FCMLT_zero_sv_f16(Cpu& cpu, M&, const isa::FCMLT_zero_sv_f16& op) {
  float_zero_with(cpu, op, FloatGreater{});
}

template <class M>
KVRM_INLINE void FCVTPS_sv_f16(Cpu& cpu, M&, const isa::FCVTPS_sv_f16& op) {
  float_each(cpu, op, FloatToInteger{Rounding::kUp, true});
}

template <class M>
KVRM_INLINE void FCVTZS_sv_f16(Cpu& cpu, M&, const isa::FCVTZS_sv_f16& op) {
  float_each(cpu, op, FloatToInteger{Rounding::kZero, true});
}

template <class M>
KVRM_INLINE void FRECPE_sv_f16(Cpu& cpu, M&, const isa::FRECPE_sv_f16& op) {
  float_each(cpu, op, FloatRecipEstimate{});
}

template <class M>
KVRM_INLINE void FRECPX_sv_f16(Cpu& cpu, M&, const isa::FRECPX_sv_f16& op) {
  float_each(cpu, op, FloatRecipExponent{});
}

template <class M>
KVRM_INLINE void FCVTNU_sv_f16(Cpu& cpu, M&, const isa::FCVTNU_sv_f16& op) {
  float_each(cpu, op, FloatToInteger{Rounding::kNearest, false});
}

template <class M>
KVRM_INLINE void FCVTMU_sv_f16(Cpu& cpu, M&, const isa::FCVTMU_sv_f16& op) {
  float_each(cpu, op, FloatToInteger{Rounding::kDown, false});
}

template <class M>
KVRM_INLINE void FCVTAU_sv_f16(Cpu& cpu, M&, const isa::FCVTAU_sv_f16& op) {
  float_each(cpu, op, FloatToInteger{Rounding::kAway, false});
}

template <class M>
KVRM_INLINE void UCVTF_sv_f16(Cpu& cpu, M&, const isa::UCVTF_sv_f16& op) {
  float_each(cpu, op, IntegerToFloat{false});
}

template <class M>
KVRM_INLINE void FCMGE_zero_sv_f16(Cpu& cpu, M&, const isa::FCMGE_zero_sv_f16& op) {
  float_with_zero(cpu, op, FloatGreaterEqual{});
}

template <class M>
KVRM_INLINE void FCMLE_zero_sv_f16(Cpu& cpu, M&, const isa::FCMLE_zero_sv_f16& op) {
  float_zero_with(cpu, op, FloatGreaterEqual{});
}

template <class M>
KVRM_INLINE void FCVTPU_sv_f16(Cpu& cpu, M&, const isa::FCVTPU_sv_f16& op) {
  float_each(cpu, op, FloatToInteger{Rounding::kUp, false});
}

template <class M>
KVRM_INLINE void FCVTZU_sv_f16(Cpu& cpu, M&, const isa::FCVTZU_sv_f16& op) {
  float_each(cpu, op, FloatToInteger{Rounding::kZero, false});
}

template <class M>
KVRM_INLINE void FRSQRTE_sv_f16(Cpu& cpu, M&, const isa::FRSQRTE_sv_f16& op) {
  float_each(cpu, op, FloatRsqrtEstimate{});
}

}  // namespace kvrm::semantics
