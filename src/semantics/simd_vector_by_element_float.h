// Advanced SIMD vector by indexed element: floating point.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/float_vector_element.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE void FMLA_v_elem(Cpu& cpu, M&, const isa::FMLA_v_elem& op) {
  float_accumulate_by_element(cpu, op, FloatMulAdd{});
}

template <class M>
KVRM_INLINE void FMLA_v_elem_f16(Cpu& cpu, M&, const isa::FMLA_v_elem_f16& op) {
  float_accumulate_by_element(cpu, op, FloatMulAdd{});
}

template <class M>
KVRM_INLINE void FMLS_v_elem(Cpu& cpu, M&, const isa::FMLS_v_elem& op) {
  float_accumulate_by_element(cpu, op, FloatMulSub{});
}

template <class M>
KVRM_INLINE void FMLS_v_elem_f16(Cpu& cpu, M&, const isa::FMLS_v_elem_f16& op) {
  float_accumulate_by_element(cpu, op, FloatMulSub{});
}

template <class M>
KVRM_INLINE void FMUL_v_elem(Cpu& cpu, M&, const isa::FMUL_v_elem& op) {
  float_by_element(cpu, op, FloatMul{});
}

template <class M>
KVRM_INLINE void FMUL_v_elem_f16(Cpu& cpu, M&, const isa::FMUL_v_elem_f16& op) {
  float_by_element(cpu, op, FloatMul{});
}

template <class M>
KVRM_INLINE void FMULX_v_elem(Cpu& cpu, M&, const isa::FMULX_v_elem& op) {
  float_by_element(cpu, op, FloatMulExtended{});
}

template <class M>
KVRM_INLINE void FMULX_v_elem_f16(Cpu& cpu, M&, const isa::FMULX_v_elem_f16& op) {
  float_by_element(cpu, op, FloatMulExtended{});
}

}  // namespace kvrm::semantics
