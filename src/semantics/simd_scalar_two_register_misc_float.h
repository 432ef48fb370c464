// Advanced SIMD scalar two-register miscellaneous: single and double precision.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/float_vector_convert.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE void FCVTNS_sv(Cpu& cpu, M&, const isa::FCVTNS_sv& op) {
  float_each(cpu, op, FloatToInteger{Rounding::kNearest, true});
}

template <class M>
KVRM_INLINE void FCVTMS_sv(Cpu& cpu, M&, const isa::FCVTMS_sv& op) {
  float_each(cpu, op, FloatToInteger{Rounding::kDown, true});
}

template <class M>
KVRM_INLINE void FCVTAS_sv(Cpu& cpu, M&, const isa::FCVTAS_sv& op) {
  float_each(cpu, op, FloatToInteger{Rounding::kAway, true});
}

template <class M>
KVRM_INLINE void SCVTF_sv(Cpu& cpu, M&, const isa::SCVTF_sv& op) {
  float_each(cpu, op, IntegerToFloat{true});
}

template <class M>
KVRM_INLINE void FCMGT_zero_sv(Cpu& cpu, M&, const isa::FCMGT_zero_sv& op) {
  float_with_zero(cpu, op, FloatGreater{});
}

template <class M>
KVRM_INLINE void FCMEQ_zero_sv(Cpu& cpu, M&, const isa::FCMEQ_zero_sv& op) {
  float_with_zero(cpu, op, FloatEqual{});
}

template <class M>
KVRM_INLINE void FCMLT_zero_sv(Cpu& cpu, M&, const isa::FCMLT_zero_sv& op) {
  float_zero_with(cpu, op, FloatGreater{});
}

template <class M>
KVRM_INLINE void FCVTPS_sv(Cpu& cpu, M&, const isa::FCVTPS_sv& op) {
  float_each(cpu, op, FloatToInteger{Rounding::kUp, true});
}

template <class M>
KVRM_INLINE void FCVTZS_sv(Cpu& cpu, M&, const isa::FCVTZS_sv& op) {
  float_each(cpu, op, FloatToInteger{Rounding::kZero, true});
}

template <class M>
KVRM_INLINE void FRECPE_sv(Cpu& cpu, M&, const isa::FRECPE_sv& op) {
  float_each(cpu, op, FloatRecipEstimate{});
}

template <class M>
KVRM_INLINE void FRECPX_sv(Cpu& cpu, M&, const isa::FRECPX_sv& op) {
  float_each(cpu, op, FloatRecipExponent{});
}

template <class M>
KVRM_INLINE void FCVTXN_sv(Cpu& cpu, M&, const isa::FCVTXN_sv& op) {
  const u64 n = read_float<u64>(cpu, op.Vn);
  write_float(cpu, op.Vd, float_convert<u32, u64>(n, Rounding::kOdd, float_mode(cpu)));
}

template <class M>
KVRM_INLINE void FCVTNU_sv(Cpu& cpu, M&, const isa::FCVTNU_sv& op) {
  float_each(cpu, op, FloatToInteger{Rounding::kNearest, false});
}

template <class M>
KVRM_INLINE void FCVTMU_sv(Cpu& cpu, M&, const isa::FCVTMU_sv& op) {
  float_each(cpu, op, FloatToInteger{Rounding::kDown, false});
}

template <class M>
KVRM_INLINE void FCVTAU_sv(Cpu& cpu, M&, const isa::FCVTAU_sv& op) {
  float_each(cpu, op, FloatToInteger{Rounding::kAway, false});
}

template <class M>
KVRM_INLINE void UCVTF_sv(Cpu& cpu, M&, const isa::UCVTF_sv& op) {
  float_each(cpu, op, IntegerToFloat{false});
}

template <class M>
KVRM_INLINE void FCMGE_zero_sv(Cpu& cpu, M&, const isa::FCMGE_zero_sv& op) {
  float_with_zero(cpu, op, FloatGreaterEqual{});
}

template <class M>
KVRM_INLINE void FCMLE_zero_sv(Cpu& cpu, M&, const isa::FCMLE_zero_sv& op) {
  float_zero_with(cpu, op, FloatGreaterEqual{});
}

template <class M>
KVRM_INLINE void FCVTPU_sv(Cpu& cpu, M&, const isa::FCVTPU_sv& op) {
  float_each(cpu, op, FloatToInteger{Rounding::kUp, false});
}

template <class M>
KVRM_INLINE void FCVTZU_sv(Cpu& cpu, M&, const isa::FCVTZU_sv& op) {
  float_each(cpu, op, FloatToInteger{Rounding::kZero, false});
}

template <class M>
KVRM_INLINE void FRSQRTE_sv(Cpu& cpu, M&, const isa::FRSQRTE_sv& op) {
  float_each(cpu, op, FloatRsqrtEstimate{});
}

}  // namespace kvrm::semantics
