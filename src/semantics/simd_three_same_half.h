// Advanced SIMD three registers of the same type: half precision.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/float_operations.h"
#include "semantics/float_vector.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE void FMAXNM_v_f16(Cpu& cpu, M&, const isa::FMAXNM_v_f16& op) {
  float_elementwise(cpu, op, FloatMaxNum{});
}

template <class M>
KVRM_INLINE void FMLA_v_f16(Cpu& cpu, M&, const isa::FMLA_v_f16& op) {
  float_accumulate(cpu, op, FloatMulAdd{});
}

template <class M>
KVRM_INLINE void FADD_v_f16(Cpu& cpu, M&, const isa::FADD_v_f16& op) {
  float_elementwise(cpu, op, FloatAdd{});
}

template <class M>
KVRM_INLINE void FMULX_v_f16(Cpu& cpu, M&, const isa::FMULX_v_f16& op) {
  float_elementwise(cpu, op, FloatMulExtended{});
}

template <class M>
KVRM_INLINE void FCMEQ_v_f16(Cpu& cpu, M&, const isa::FCMEQ_v_f16& op) {
  float_elementwise(cpu, op, FloatEqual{});
}

template <class M>
KVRM_INLINE void FMAX_v_f16(Cpu& cpu, M&, const isa::FMAX_v_f16& op) {
  float_elementwise(cpu, op, FloatMax{});
}

template <class M>
KVRM_INLINE void FRECPS_v_f16(Cpu& cpu, M&, const isa::FRECPS_v_f16& op) {
  float_elementwise(cpu, op, FloatRecipStep{});
}

template <class M>
KVRM_INLINE void FMINNM_v_f16(Cpu& cpu, M&, const isa::FMINNM_v_f16& op) {
  float_elementwise(cpu, op, FloatMinNum{});
}

template <class M>
KVRM_INLINE void FMLS_v_f16(Cpu& cpu, M&, const isa::FMLS_v_f16& op) {
  float_accumulate(cpu, op, FloatMulSub{});
}

template <class M>
KVRM_INLINE void FSUB_v_f16(Cpu& cpu, M&, const isa::FSUB_v_f16& op) {
  float_elementwise(cpu, op, FloatSub{});
}

template <class M>
KVRM_INLINE void FMIN_v_f16(Cpu& cpu, M&, const isa::FMIN_v_f16& op) {
  float_elementwise(cpu, op, FloatMin{});
}

template <class M>
KVRM_INLINE void FRSQRTS_v_f16(Cpu& cpu, M&, const isa::FRSQRTS_v_f16& op) {
  float_elementwise(cpu, op, FloatRsqrtStep{});
}

template <class M>
KVRM_INLINE void FMAXNMP_v_f16(Cpu& cpu, M&, const isa::FMAXNMP_v_f16& op) {
  float_pairwise(cpu, op, FloatMaxNum{});
}

template <class M>
KVRM_INLINE void FADDP_v_f16(Cpu& cpu, M&, const isa::FADDP_v_f16& op) {
  float_pairwise(cpu, op, FloatAdd{});
}

template <class M>
KVRM_INLINE void FMUL_v_f16(Cpu& cpu, M&, const isa::FMUL_v_f16& op) {
  float_elementwise(cpu, op, FloatMul{});
}

template <class M>
KVRM_INLINE void FCMGE_v_f16(Cpu& cpu, M&, const isa::FCMGE_v_f16& op) {
  float_elementwise(cpu, op, FloatGreaterEqual{});
}

template <class M>
KVRM_INLINE void FACGE_v_f16(Cpu& cpu, M&, const isa::FACGE_v_f16& op) {
  float_elementwise(cpu, op, FloatAbsGreaterEqual{});
}

template <class M>
KVRM_INLINE void FMAXP_v_f16(Cpu& cpu, M&, const isa::FMAXP_v_f16& op) {
  float_pairwise(cpu, op, FloatMax{});
}

template <class M>
KVRM_INLINE void FDIV_v_f16(Cpu& cpu, M&, const isa::FDIV_v_f16& op) {
  float_elementwise(cpu, op, FloatDiv{});
}

template <class M>
KVRM_INLINE void FMINNMP_v_f16(Cpu& cpu, M&, const isa::FMINNMP_v_f16& op) {
  float_pairwise(cpu, op, FloatMinNum{});
}

template <class M>
KVRM_INLINE void FABD_v_f16(Cpu& cpu, M&, const isa::FABD_v_f16& op) {
  float_elementwise(cpu, op, FloatAbsDifference{});
}

template <class M>
KVRM_INLINE void FCMGT_v_f16(Cpu& cpu, M&, const isa::FCMGT_v_f16& op) {
  float_elementwise(cpu, op, FloatGreater{});
}

template <class M>
KVRM_INLINE void FACGT_v_f16(Cpu& cpu, M&, const isa::FACGT_v_f16& op) {
  float_elementwise(cpu, op, FloatAbsGreater{});
}

template <class M>
KVRM_INLINE void FMINP_v_f16(Cpu& cpu, M&, const isa::FMINP_v_f16& op) {
  float_pairwise(cpu, op, FloatMin{});
}

}  // namespace kvrm::semantics
