// Advanced SIMD scalar three registers of the same type: single and double precision.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/float_operations.h"
#include "semantics/float_vector.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE void FMULX_sv(Cpu& cpu, M&, const isa::FMULX_sv& op) {
  float_elementwise(cpu, op, FloatMulExtended{});
}

template <class M>
KVRM_INLINE void FCMEQ_sv(Cpu& cpu, M&, const isa::FCMEQ_sv& op) {
  float_elementwise(cpu, op, FloatEqual{});
}

template <class M>
KVRM_INLINE void FRECPS_sv(Cpu& cpu, M&, const isa::FRECPS_sv& op) {
  float_elementwise(cpu, op, FloatRecipStep{});
}

template <class M>
KVRM_INLINE void FRSQRTS_sv(Cpu& cpu, M&, const isa::FRSQRTS_sv& op) {
  float_elementwise(cpu, op, FloatRsqrtStep{});
}

template <class M>
KVRM_INLINE void FCMGE_sv(Cpu& cpu, M&, const isa::FCMGE_sv& op) {
  float_elementwise(cpu, op, FloatGreaterEqual{});
}

template <class M>
KVRM_INLINE void FACGE_sv(Cpu& cpu, M&, const isa::FACGE_sv& op) {
  float_elementwise(cpu, op, FloatAbsGreaterEqual{});
}

template <class M>
KVRM_INLINE void FABD_sv(Cpu& cpu, M&, const isa::FABD_sv& op) {
  float_elementwise(cpu, op, FloatAbsDifference{});
}

template <class M>
KVRM_INLINE void FCMGT_sv(Cpu& cpu, M&, const isa::FCMGT_sv& op) {
  float_elementwise(cpu, op, FloatGreater{});
}

template <class M>
KVRM_INLINE void FACGT_sv(Cpu& cpu, M&, const isa::FACGT_sv& op) {
  float_elementwise(cpu, op, FloatAbsGreater{});
}

}  // namespace kvrm::semantics
