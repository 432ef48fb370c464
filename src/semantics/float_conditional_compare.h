// Floating-point conditional compare.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/float_compare.h"

namespace kvrm::semantics {

template <class Op>
KVRM_INLINE void compare_scalars_if(Cpu& cpu, const Op& op, bool signal_quiet) {
  if (condition_holds(cpu, op.cond)) {
    with_float_type(op.ftype, [&]<class T>(T) KVRM_LAMBDA {
      compare_scalars(cpu, read_float<T>(cpu, op.Vn), read_float<T>(cpu, op.Vm), signal_quiet);
    });
  } else {
    set_nzcv(cpu, op.nzcv);
  }
}

template <class M>
KVRM_INLINE void FCCMP_s(Cpu& cpu, M&, const isa::FCCMP_s& op) {
  compare_scalars_if(cpu, op, false);
}

template <class M>
KVRM_INLINE void FCCMPE_s(Cpu& cpu, M&, const isa::FCCMPE_s& op) {
  compare_scalars_if(cpu, op, true);
}

}  // namespace kvrm::semantics
