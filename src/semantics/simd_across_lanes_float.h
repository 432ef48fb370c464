// Advanced SIMD across lanes: the floating-point maxima and minima, as a tree of neighboring pairs.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/float_operations.h"
#include "semantics/float_vector.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE void FMAXNMV_v(Cpu& cpu, M&, const isa::FMAXNMV_v& op) {
  float_across<u32>(cpu, op, FloatMaxNum{});
}

template <class M>
KVRM_INLINE void FMAXNMV_v_f16(Cpu& cpu, M&, const isa::FMAXNMV_v_f16& op) {
  float_across<u16>(cpu, op, FloatMaxNum{});
}

template <class M>
KVRM_INLINE void FMAXV_v(Cpu& cpu, M&, const isa::FMAXV_v& op) {
  float_across<u32>(cpu, op, FloatMax{});
}

template <class M>
KVRM_INLINE void FMAXV_v_f16(Cpu& cpu, M&, const isa::FMAXV_v_f16& op) {
  float_across<u16>(cpu, op, FloatMax{});
}

template <class M>
KVRM_INLINE void FMINNMV_v(Cpu& cpu, M&, const isa::FMINNMV_v& op) {
  float_across<u32>(cpu, op, FloatMinNum{});
}

template <class M>
KVRM_INLINE void FMINNMV_v_f16(Cpu& cpu, M&, const isa::FMINNMV_v_f16& op) {
  float_across<u16>(cpu, op, FloatMinNum{});
}

template <class M>
KVRM_INLINE void FMINV_v(Cpu& cpu, M&, const isa::FMINV_v& op) {
  float_across<u32>(cpu, op, FloatMin{});
}

template <class M>
KVRM_INLINE void FMINV_v_f16(Cpu& cpu, M&, const isa::FMINV_v_f16& op) {
  float_across<u16>(cpu, op, FloatMin{});
}

}  // namespace kvrm::semantics
