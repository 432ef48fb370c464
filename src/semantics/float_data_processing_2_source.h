// Floating-point data processing (2 source).
#pragma once

#include "isa/a64_operands.h"
#include "semantics/float.h"
#include "semantics/float_operations.h"

namespace kvrm::semantics {

// Vd = f(Vn, Vm, mode) in the row's format.
template <class Op, class F>
KVRM_INLINE void combine_scalars(Cpu& cpu, const Op& op, F f) {
  with_float_type(op.ftype, [&]<class T>(T) KVRM_LAMBDA {
    write_float(cpu, op.Vd, f(read_float<T>(cpu, op.Vn), read_float<T>(cpu, op.Vm), float_mode(cpu)));
  });
}

template <class M>
KVRM_INLINE void FMUL_s(Cpu& cpu, M&, const isa::FMUL_s& op) {
  combine_scalars(cpu, op, FloatMul{});
}

template <class M>
KVRM_INLINE void FDIV_s(Cpu& cpu, M&, const isa::FDIV_s& op) {
  combine_scalars(cpu, op, FloatDiv{});
}

template <class M>
KVRM_INLINE void FADD_s(Cpu& cpu, M&, const isa::FADD_s& op) {
  combine_scalars(cpu, op, FloatAdd{});
}

template <class M>
KVRM_INLINE void FSUB_s(Cpu& cpu, M&, const isa::FSUB_s& op) {
  combine_scalars(cpu, op, FloatSub{});
}

template <class M>
KVRM_INLINE void FMAX_s(Cpu& cpu, M&, const isa::FMAX_s& op) {
  combine_scalars(cpu, op, FloatMax{});
}

template <class M>
KVRM_INLINE void FMIN_s(Cpu& cpu, M&, const isa::FMIN_s& op) {
  combine_scalars(cpu, op, FloatMin{});
}

template <class M>
KVRM_INLINE void FMAXNM_s(Cpu& cpu, M&, const isa::FMAXNM_s& op) {
  combine_scalars(cpu, op, FloatMaxNum{});
}

template <class M>
KVRM_INLINE void FMINNM_s(Cpu& cpu, M&, const isa::FMINNM_s& op) {
  combine_scalars(cpu, op, FloatMinNum{});
}

// The negation is of the result: it changes the sign of a NaN too.
template <class M>
KVRM_INLINE void FNMUL_s(Cpu& cpu, M&, const isa::FNMUL_s& op) {
  combine_scalars(cpu, op, [](auto a, auto b, u32 mode) KVRM_LAMBDA {
    auto product = float_mul(a, b, mode);
    product.bits = float_neg(product.bits);
    return product;
  });
}

}  // namespace kvrm::semantics
