// Conversion between floating point and integer, and the moves of bits between the register files.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/float.h"
#include "semantics/registers.h"

namespace kvrm::semantics {

template <class Op>
KVRM_INLINE void scalar_to_integer(Cpu& cpu, const Op& op, Rounding rounding, u32 fraction_bits, bool is_signed) {
  with_float_type(op.ftype, [&]<class T>(T) KVRM_LAMBDA {
    const auto integer =
        float_to_int(read_float<T>(cpu, op.Vn), rounding, fraction_bits, is_signed, op.sf ? 64 : 32, float_mode(cpu));
    write(cpu, op.Rd, integer.bits);
    accumulate(cpu, integer.flags);
  });
}

template <class Op>
KVRM_INLINE void integer_to_scalar(Cpu& cpu, const Op& op, u32 fraction_bits, bool is_signed) {
  with_float_type(op.ftype, [&]<class T>(T) KVRM_LAMBDA {
    const u64 narrow = is_signed ? sign_extend(cpu.x[op.Rn], 32) : read<u32>(cpu, op.Rn);
    const u64 value = op.sf ? cpu.x[op.Rn] : narrow;
    write_float(cpu, op.Vd, int_to_float<T>(value, is_signed, fraction_bits, float_mode(cpu)));
  });
}

template <class M>
KVRM_INLINE void FCVTNS_gen(Cpu& cpu, M&, const isa::FCVTNS_gen& op) {
  scalar_to_integer(cpu, op, Rounding::kNearest, 0, true);
}

template <class M>
KVRM_INLINE void FCVTNU_gen(Cpu& cpu, M&, const isa::FCVTNU_gen& op) {
  scalar_to_integer(cpu, op, Rounding::kNearest, 0, false);
}

template <class M>
KVRM_INLINE void FCVTAS_gen(Cpu& cpu, M&, const isa::FCVTAS_gen& op) {
  scalar_to_integer(cpu, op, Rounding::kAway, 0, true);
}

template <class M>
KVRM_INLINE void FCVTAU_gen(Cpu& cpu, M&, const isa::FCVTAU_gen& op) {
  scalar_to_integer(cpu, op, Rounding::kAway, 0, false);
}

template <class M>
KVRM_INLINE void FCVTPS_gen(Cpu& cpu, M&, const isa::FCVTPS_gen& op) {
  scalar_to_integer(cpu, op, Rounding::kUp, 0, true);
}

template <class M>
KVRM_INLINE void FCVTPU_gen(Cpu& cpu, M&, const isa::FCVTPU_gen& op) {
  scalar_to_integer(cpu, op, Rounding::kUp, 0, false);
}

template <class M>
KVRM_INLINE void FCVTMS_gen(Cpu& cpu, M&, const isa::FCVTMS_gen& op) {
  scalar_to_integer(cpu, op, Rounding::kDown, 0, true);
}

template <class M>
KVRM_INLINE void FCVTMU_gen(Cpu& cpu, M&, const isa::FCVTMU_gen& op) {
  scalar_to_integer(cpu, op, Rounding::kDown, 0, false);
}

template <class M>
KVRM_INLINE void FCVTZS_gen(Cpu& cpu, M&, const isa::FCVTZS_gen& op) {
  scalar_to_integer(cpu, op, Rounding::kZero, 0, true);
}

template <class M>
KVRM_INLINE void FCVTZU_gen(Cpu& cpu, M&, const isa::FCVTZU_gen& op) {
  scalar_to_integer(cpu, op, Rounding::kZero, 0, false);
}

template <class M>
KVRM_INLINE void SCVTF_gen(Cpu& cpu, M&, const isa::SCVTF_gen& op) {
  integer_to_scalar(cpu, op, 0, true);
}

template <class M>
KVRM_INLINE void UCVTF_gen(Cpu& cpu, M&, const isa::UCVTF_gen& op) {
  integer_to_scalar(cpu, op, 0, false);
}

// How many bits the type names: 32, 64 or 16.
KVRM_INLINE u32 float_width(u8 ftype) { return ftype == 3 ? 16 : ftype == 1 ? 64 : 32; }

template <class M>
KVRM_INLINE void FMOV_to_gen(Cpu& cpu, M&, const isa::FMOV_to_gen& op) {
  write(cpu, op.Rd, cpu.q[op.Vn].lo & low_ones(float_width(op.ftype)));
}

template <class M>
KVRM_INLINE void FMOV_from_gen(Cpu& cpu, M&, const isa::FMOV_from_gen& op) {
  cpu.q[op.Vd] = U128{cpu.x[op.Rn] & low_ones(float_width(op.ftype)), 0};
}

template <class M>
KVRM_INLINE void FMOV_top_to_gen(Cpu& cpu, M&, const isa::FMOV_top_to_gen& op) {
  write(cpu, op.Rd, cpu.q[op.Vn].hi);
}

template <class M>
KVRM_INLINE void FMOV_top_from_gen(Cpu& cpu, M&, const isa::FMOV_top_from_gen& op) {
  cpu.q[op.Vd].hi = cpu.x[op.Rn];
}

}  // namespace kvrm::semantics
