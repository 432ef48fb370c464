// Floating-point conditional select.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/float.h"
#include "semantics/registers.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE void FCSEL_s(Cpu& cpu, M&, const isa::FCSEL_s& op) {
  with_float_type(op.ftype, [&]<class T>(T) KVRM_LAMBDA {
    const T if_true = read_float<T>(cpu, op.Vn), if_false = read_float<T>(cpu, op.Vm);
    write_float(cpu, op.Vd, condition_holds(cpu, op.cond) ? if_true : if_false);
  });
}

}  // namespace kvrm::semantics
