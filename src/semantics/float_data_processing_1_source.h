// Floating-point data processing (1 source): moves, sign operations, square root, rounding, conversion of format.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/float.h"

namespace kvrm::semantics {

template <class M>
KVRM_INLINE void FMOV_s(Cpu& cpu, M&, const isa::FMOV_s& op) {
  with_float_type(op.ftype, [&]<class T>(T) KVRM_LAMBDA { write_float(cpu, op.Vd, read_float<T>(cpu, op.Vn)); });
}

template <class M>
KVRM_INLINE void FABS_s(Cpu& cpu, M&, const isa::FABS_s& op) {
  with_float_type(op.ftype,
                  [&]<class T>(T) KVRM_LAMBDA { write_float(cpu, op.Vd, float_abs(read_float<T>(cpu, op.Vn))); });
}

template <class M>
KVRM_INLINE void FNEG_s(Cpu& cpu, M&, const isa::FNEG_s& op) {
  with_float_type(op.ftype,
                  [&]<class T>(T) KVRM_LAMBDA { write_float(cpu, op.Vd, float_neg(read_float<T>(cpu, op.Vn))); });
}

template <class M>
KVRM_INLINE void FSQRT_s(Cpu& cpu, M&, const isa::FSQRT_s& op) {
  with_float_type(op.ftype, [&]<class T>(T) KVRM_LAMBDA {
    write_float(cpu, op.Vd, float_sqrt(read_float<T>(cpu, op.Vn), float_mode(cpu)));
  });
}

template <class Op>
KVRM_INLINE void round_scalar(Cpu& cpu, const Op& op, Rounding rounding, bool exact) {
  with_float_type(op.ftype, [&]<class T>(T) KVRM_LAMBDA {
    write_float(cpu, op.Vd, float_round_to_integral(read_float<T>(cpu, op.Vn), rounding, exact, float_mode(cpu)));
  });
}

template <class M>
KVRM_INLINE void FRINTN_s(Cpu& cpu, M&, const isa::FRINTN_s& op) {
  round_scalar(cpu, op, Rounding::kNearest, false);
}

template <class M>
KVRM_INLINE void FRINTP_s(Cpu& cpu, M&, const isa::FRINTP_s& op) {
  round_scalar(cpu, op, Rounding::kUp, false);
}

template <class M>
KVRM_INLINE void FRINTM_s(Cpu& cpu, M&, const isa::FRINTM_s& op) {
  round_scalar(cpu, op, Rounding::kDown, false);
}

template <class M>
KVRM_INLINE void FRINTZ_s(Cpu& cpu, M&, const isa::FRINTZ_s& op) {
  round_scalar(cpu, op, Rounding::kZero, false);
}

template <class M>
KVRM_INLINE void FRINTA_s(Cpu& cpu, M&, const isa::FRINTA_s& op) {
  round_scalar(cpu, op, Rounding::kAway, false);
}

template <class M>
KVRM_INLINE void FRINTX_s(Cpu& cpu, M&, const isa::FRINTX_s& op) {
  round_scalar(cpu, op, rounding_of(cpu.fpcr), true);
}

template <class M>
KVRM_INLINE void FRINTI_s(Cpu& cpu, M&, const isa::FRINTI_s& op) {
  round_scalar(cpu, op, rounding_of(cpu.fpcr), false);
}

// opc names the format of the result as ftype does that of the source.
template <class M>
KVRM_INLINE void FCVT_s(Cpu& cpu, M&, const isa::FCVT_s& op) {
  with_float_type(op.ftype, [&]<class From>(From) KVRM_LAMBDA {
    with_float_type(op.opc, [&]<class To>(To) KVRM_LAMBDA {
      if constexpr (!__is_same(From, To)) {
        write_float(cpu, op.Vd, float_convert<To>(read_float<From>(cpu, op.Vn), float_mode(cpu)));
      }
    });
  });
}

}  // namespace kvrm::semantics
