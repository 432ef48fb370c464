// Floating-point immediate.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/float.h"
#include "semantics/simd_modified_immediate.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE void FMOV_imm_s(Cpu& cpu, M&, const isa::FMOV_imm_s& op) {
  with_float_type(op.ftype,
                  [&]<class T>(T) KVRM_LAMBDA { write_float(cpu, op.Vd, expand_float<T, kExponentBits<T>>(op.imm8)); });
}

}  // namespace kvrm::semantics
