// Advanced SIMD scalar shift by immediate: conversions to and from fixed point.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/float_vector_convert.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE void SCVTF_fixed_sv(Cpu& cpu, M&, const isa::SCVTF_fixed_sv& op) {
  float_each_fixed(cpu, op, IntegerToFloat{true, fraction_bits(op)});
}

template <class M>
KVRM_INLINE void FCVTZS_fixed_sv(Cpu& cpu, M&, const isa::FCVTZS_fixed_sv& op) {
  float_each_fixed(cpu, op, FloatToInteger{Rounding::kZero, true, fraction_bits(op)});
}

template <class M>
KVRM_INLINE void UCVTF_fixed_sv(Cpu& cpu, M&, const isa::UCVTF_fixed_sv& op) {
  float_each_fixed(cpu, op, IntegerToFloat{false, fraction_bits(op)});
}

template <class M>
KVRM_INLINE void FCVTZU_fixed_sv(Cpu& cpu, M&, const isa::FCVTZU_fixed_sv& op) {
  float_each_fixed(cpu, op, FloatToInteger{Rounding::kZero, false, fraction_bits(op)});
}

}  // namespace kvrm::semantics
