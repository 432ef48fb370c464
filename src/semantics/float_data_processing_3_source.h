// Floating-point data processing (3 source): fused multiply-add. The subtracting forms change signs of operands, those
// of NaNs included.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/float.h"

namespace kvrm::semantics {

// +-Va +-(Vn * Vm)
template <class Op>
KVRM_INLINE void fuse_scalars(Cpu& cpu, const Op& op, bool negate_addend, bool negate_product) {
  with_float_type(op.ftype, [&]<class T>(T) KVRM_LAMBDA {
    const T addend = read_float<T>(cpu, op.Va), a = read_float<T>(cpu, op.Vn), b = read_float<T>(cpu, op.Vm);
    write_float(
        cpu, op.Vd,
        float_fma(negate_addend ? float_neg(addend) : addend, negate_product ? float_neg(a) : a, b, float_mode(cpu)));
  });
}

template <class M>
KVRM_INLINE void FMADD_s(Cpu& cpu, M&, const isa::FMADD_s& op) {
  fuse_scalars(cpu, op, false, false);
}

template <class M>
KVRM_INLINE void FMSUB_s(Cpu& cpu, M&, const isa::FMSUB_s& op) {
  fuse_scalars(cpu, op, false, true);
}

template <class M>
KVRM_INLINE void FNMADD_s(Cpu& cpu, M&, const isa::FNMADD_s& op) {
  fuse_scalars(cpu, op, true, true);
}

template <class M>
KVRM_INLINE void FNMSUB_s(Cpu& cpu, M&, const isa::FNMSUB_s& op) {
  fuse_scalars(cpu, op, true, false);
}

}  // namespace kvrm::semantics
