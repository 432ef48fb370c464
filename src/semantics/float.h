// Exact floating point: what the rows of scalar and vector floating point are made of. T is the bit pattern of the
// format: u16 half, u32 single, u64 double. `mode` is float_mode(cpu); a result's flags go to accumulate(cpu, flags).
// The text follows the shared pseudocode of the Arm manual (J1.3): FPUnpack, FPProcessNaNs, FPRound and their callers.
//
//   const u32 mode = float_mode(cpu);
//   const auto sum = float_add(a, b, mode);
//   accumulate(cpu, sum.flags);
//
// Small inline parts use the host's arithmetic where it is provably the same bits (float_hardware.h says when); all
// else is in functions named ..._cold that are called, values in and values out.
// The build must set -ffp-contract=off, and the process must run with the default rounding mode and denormals on.
#pragma once

#include "semantics/float_format.h"

namespace kvrm::semantics {

// --- float_arithmetic.h ---
// FPAdd, FPSub, FPMul, FPDiv, FPMulX.
template <class T>
FloatResult<T> float_add(T a, T b, u32 mode);
template <class T>
FloatResult<T> float_sub(T a, T b, u32 mode);
template <class T>
FloatResult<T> float_mul(T a, T b, u32 mode);
template <class T>
FloatResult<T> float_div(T a, T b, u32 mode);
template <class T>
FloatResult<T> float_mulx(T a, T b, u32 mode);
// FPMulAdd: addend + a * b, rounded once. Subtracting forms negate a (and the addend) with float_neg before.
template <class T>
FloatResult<T> float_fma(T addend, T a, T b, u32 mode);
template <class T>
FloatResult<T> float_sqrt(T a, u32 mode);
// FRECPS: 2 - a * b. FRSQRTS: (3 - a * b) / 2. Both fused.
template <class T>
FloatResult<T> float_recip_step(T a, T b, u32 mode);
template <class T>
FloatResult<T> float_rsqrt_step(T a, T b, u32 mode);

// --- float_compare_core.h ---
// FPMax, FPMin, FPMaxNum, FPMinNum.
template <class T>
FloatResult<T> float_max(T a, T b, u32 mode);
template <class T>
FloatResult<T> float_min(T a, T b, u32 mode);
template <class T>
FloatResult<T> float_max_num(T a, T b, u32 mode);
template <class T>
FloatResult<T> float_min_num(T a, T b, u32 mode);
// FPCompare: nzcv as four bits, N = 8. signal_quiet: a quiet NaN is an invalid operation too (FCMPE).
template <class T>
FloatOrder float_compare(T a, T b, bool signal_quiet, u32 mode);
// FPCompareEQ, GE, GT; the last two of absolute values (FACGE, FACGT).
template <class T>
FloatTest float_equal(T a, T b, u32 mode);
template <class T>
FloatTest float_greater_equal(T a, T b, u32 mode);
template <class T>
FloatTest float_greater(T a, T b, u32 mode);
template <class T>
FloatTest float_abs_greater_equal(T a, T b, u32 mode);
template <class T>
FloatTest float_abs_greater(T a, T b, u32 mode);

// --- float_convert.h ---
// FPRoundInt. exact: report inexact (FRINTX).
template <class T>
FloatResult<T> float_round_to_integral(T a, Rounding rounding, bool exact, u32 mode);
// FPConvert between two different formats; half obeys AHP. FCVTXN is float_convert<u32, u64>(a, Rounding::kOdd, mode).
template <class To, class From>
FloatResult<To> float_convert(From a, u32 mode);
template <class To, class From>
FloatResult<To> float_convert(From a, Rounding rounding, u32 mode);
// FPToFixed: saturating, width 16, 32 or 64; the result is the low `width` bits, zero-extended.
template <class T>
FloatResult<u64> float_to_int(T a, Rounding rounding, u32 fraction_bits, bool is_signed, u32 width, u32 mode);
// FixedToFP: value is extended to 64 bits by the caller, with its sign where is_signed. Rounds by the mode.
template <class T>
FloatResult<T> int_to_float(u64 value, bool is_signed, u32 fraction_bits, u32 mode);

// --- float_estimate.h ---
// FPRecipEstimate, FPRSqrtEstimate, FPRecpX.
template <class T>
FloatResult<T> float_recip_estimate(T a, u32 mode);
template <class T>
FloatResult<T> float_rsqrt_estimate(T a, u32 mode);
template <class T>
FloatResult<T> float_recip_exponent(T a, u32 mode);
// (URECPE and URSQRTE, which have no flags and no mode, are in unsigned_estimate.h.)

// --- float_registers.h ---
// The scalar in the low bits of a vector register; a write clears the rest.
template <class T>
T read_float(const Cpu& cpu, u8 index);
template <class T>
void write_float(Cpu& cpu, u8 index, T bits);
template <class T>
void write_float(Cpu& cpu, u8 index, const FloatResult<T>& result);  // and its flags
template <class F>
void with_float_type(u8 ftype, F f);  // calls f(T{}) for ftype 0 single, 1 double, 3 half

}  // namespace kvrm::semantics

#include "semantics/float_arithmetic.h"
#include "semantics/float_compare_core.h"
#include "semantics/float_convert.h"
#include "semantics/float_estimate.h"
#include "semantics/float_registers.h"
