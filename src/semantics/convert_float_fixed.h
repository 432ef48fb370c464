// Conversion between floating point and fixed point: 64 - scale bits are after the point.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/convert_float_integer.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE void SCVTF_fixed_gen(Cpu& cpu, M&, const isa::SCVTF_fixed_gen& op) {
  integer_to_scalar(cpu, op, 64u - op.scale, true);
}

template <class M>
KVRM_INLINE void UCVTF_fixed_gen(Cpu& cpu, M&, const isa::UCVTF_fixed_gen& op) {
  integer_to_scalar(cpu, op, 64u - op.scale, false);
}

template <class M>
KVRM_INLINE void FCVTZS_fixed_gen(Cpu& cpu, M&, const isa::FCVTZS_fixed_gen& op) {
  scalar_to_integer(cpu, op, Rounding::kZero, 64u - op.scale, true);
}

template <class M>
KVRM_INLINE void FCVTZU_fixed_gen(Cpu& cpu, M&, const isa::FCVTZU_fixed_gen& op) {
  scalar_to_integer(cpu, op, Rounding::kZero, 64u - op.scale, false);
}

}  // namespace kvrm::semantics
