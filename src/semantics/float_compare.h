// Floating-point compare.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/float.h"
#include "semantics/registers.h"

namespace kvrm::semantics {

template <class T>
KVRM_INLINE void compare_scalars(Cpu& cpu, T a, T b, bool signal_quiet) {
  const FloatOrder order = float_compare(a, b, signal_quiet, float_mode(cpu));
  set_nzcv(cpu, order.nzcv);
  accumulate(cpu, order.flags);
}

template <class M>
KVRM_INLINE void FCMP_s(Cpu& cpu, M&, const isa::FCMP_s& op) {
  with_float_type(op.ftype, [&]<class T>(T) KVRM_LAMBDA {
    compare_scalars(cpu, read_float<T>(cpu, op.Vn), read_float<T>(cpu, op.Vm), false);
  });
}

template <class M>
KVRM_INLINE void FCMPE_s(Cpu& cpu, M&, const isa::FCMPE_s& op) {
  with_float_type(op.ftype, [&]<class T>(T) KVRM_LAMBDA {
    compare_scalars(cpu, read_float<T>(cpu, op.Vn), read_float<T>(cpu, op.Vm), true);
  });
}

template <class M>
KVRM_INLINE void FCMP_zero_s(Cpu& cpu, M&, const isa::FCMP_zero_s& op) {
  with_float_type(op.ftype,
                  [&]<class T>(T) KVRM_LAMBDA { compare_scalars(cpu, read_float<T>(cpu, op.Vn), T{0}, false); });
}

template <class M>
KVRM_INLINE void FCMPE_zero_s(Cpu& cpu, M&, const isa::FCMPE_zero_s& op) {
  with_float_type(op.ftype,
                  [&]<class T>(T) KVRM_LAMBDA { compare_scalars(cpu, read_float<T>(cpu, op.Vn), T{0}, true); });
}

}  // namespace kvrm::semantics
