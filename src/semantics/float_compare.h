// Floating-point compare.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/float.h"
#include "semantics/registers.h"

namespace kvrm::semantics {

template <class T>
KVRM_INLINE void compare_scalars(Cpu& cpu, T a, T b, bool signal_quiet) {
  const u32 mode = float_mode(cpu);
  count_float_operation();
  if (KVRM_LIKELY(float_is_comparable(a, b, mode))) {
    cpu.n = float_is_less(a, b);
    cpu.z = float_is_same(a, b);
    cpu.c = !float_is_less(a, b);
    cpu.v = 0;
    return;
  }
  const FloatOrder order = float_compare_cold(a, b, signal_quiet, mode);
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
