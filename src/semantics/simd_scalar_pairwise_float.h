// Advanced SIMD scalar pairwise: floating point.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/float_operations.h"
#include "semantics/float_vector.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE void FMAXNMP_sv(Cpu& cpu, M&, const isa::FMAXNMP_sv& op) {
  float_scalar_pair(cpu, op, FloatMaxNum{});
}

template <class M>
KVRM_INLINE void FMAXNMP_sv_f16(Cpu& cpu, M&, const isa::FMAXNMP_sv_f16& op) {
  float_scalar_pair(cpu, op, FloatMaxNum{});
}

template <class M>
KVRM_INLINE void FADDP_sv(Cpu& cpu, M&, const isa::FADDP_sv& op) {
  float_scalar_pair(cpu, op, FloatAdd{});
}

template <class M>
KVRM_INLINE void FADDP_sv_f16(Cpu& cpu, M&, const isa::FADDP_sv_f16& op) {
  float_scalar_pair(cpu, op, FloatAdd{});
}

template <class M>
KVRM_INLINE void FMAXP_sv(Cpu& cpu, M&, const isa::FMAXP_sv& op) {
  float_scalar_pair(cpu, op, FloatMax{});
}

template <class M>
KVRM_INLINE void FMAXP_sv_f16(Cpu& cpu, M&, const isa::FMAXP_sv_f16& op) {
  float_scalar_pair(cpu, op, FloatMax{});
}

template <class M>
KVRM_INLINE void FMINNMP_sv(Cpu& cpu, M&, const isa::FMINNMP_sv& op) {
  float_scalar_pair(cpu, op, FloatMinNum{});
}

template <class M>
KVRM_INLINE void FMINNMP_sv_f16(Cpu& cpu, M&, const isa::FMINNMP_sv_f16& op) {
  float_scalar_pair(cpu, op, FloatMinNum{});
}

template <class M>
KVRM_INLINE void FMINP_sv(Cpu& cpu, M&, const isa::FMINP_sv& op) {
  float_scalar_pair(cpu, op, FloatMin{});
}

template <class M>
KVRM_INLINE void FMINP_sv_f16(Cpu& cpu, M&, const isa::FMINP_sv_f16& op) {
  float_scalar_pair(cpu, op, FloatMin{});
}

}  // namespace kvrm::semantics
