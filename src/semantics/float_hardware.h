// Where the host's or the GPU's own arithmetic does the work, and why it is the same bits.
//
// It is used only where the mode is round to nearest, without flushing of inputs, and inexact is sticky already
// (float_hardware_serves). Then an IEEE 754 operation on the same operands gives the same value, and what may differ is
// only NaNs (never taken from hardware) and the flags. So each fast path checks the result alone:
//   - a result that is finite had no infinity or NaN among the operands of +, -, *, sqrt and fused multiply-add, and
//     did not overflow: no flag but inexact, which is sticky, and underflow, which needs an inexact denormal;
//   - sums are never inexact when denormal, square roots never denormal: finite is enough for them;
//   - a product, quotient or fused multiply-add is not tiny when its exponent field is at least 2 (at 1 it may have
//     been rounded up to the smallest normal number, which Arm calls tiny), and zero is exact when a factor or the
//     dividend is zero.
#pragma once

#include "semantics/float_format.h"

namespace kvrm::semantics {

template <class T>
struct HardwareFloat;
template <>
struct HardwareFloat<u32> {
  using Type = float;
};
template <>
struct HardwareFloat<u64> {
  using Type = double;
};
template <class T>
using Hardware = typename HardwareFloat<T>::Type;

template <class T>
KVRM_INLINE Hardware<T> to_hardware(T bits) {
  return __builtin_bit_cast(Hardware<T>, bits);
}
KVRM_INLINE u32 from_hardware(float value) { return __builtin_bit_cast(u32, value); }
KVRM_INLINE u64 from_hardware(double value) { return __builtin_bit_cast(u64, value); }

KVRM_INLINE bool float_hardware_serves(u32 mode) {
  return KVRM_LIKELY((mode & (kRoundingMask | kFlush | kInexact)) == kInexact);
}

template <class T>
KVRM_INLINE bool float_is_finite(T bits) {
  return float_exponent(bits) != kExponentMax<T>;
}

// Neither tiny before rounding nor infinite nor NaN.
template <class T>
KVRM_INLINE bool float_is_safely_normal(T bits) {
  return static_cast<u32>(float_exponent(bits) - 2) < static_cast<u32>(kExponentMax<T> - 2);
}

// Several elements at once, where the compiler knows vectors: which results of an operation may be taken as they are,
// the same as above but for the zeros.
enum class HardwareServes { kFinite, kSafelyNormal };
#if defined(__clang__) && !defined(__NVPTX__)
#define KVRM_HARDWARE_VECTORS 1
#else
#define KVRM_HARDWARE_VECTORS 0
#endif
// Fused multiply-add without asking the processor.
#if KVRM_HARDWARE_VECTORS && (defined(__FMA__) || defined(__aarch64__))
#define KVRM_HARDWARE_FMA 1
#else
#define KVRM_HARDWARE_FMA 0
#endif
#if KVRM_HARDWARE_VECTORS
template <class T>
using HardwareVector = Hardware<T> __attribute__((ext_vector_type(16 / sizeof(T))));
template <HardwareServes kServes, class T>
KVRM_INLINE bool hardware_serves_all(HardwareVector<T> results) {
  using Words = T __attribute__((ext_vector_type(16 / sizeof(T))));
  using SignedWords = Signed<T> __attribute__((ext_vector_type(16 / sizeof(T))));  // what processors compare
  constexpr T kOne = T{1} << kFractionBits<T>;
  const Words exponents = __builtin_bit_cast(Words, results) & kInfinity<T>;
  if constexpr (kServes == HardwareServes::kFinite) return __builtin_reduce_or(exponents == kInfinity<T>) == 0;
  // One more in the exponent makes the largest one negative.
  const auto next = __builtin_bit_cast(SignedWords, exponents + kOne);
  return __builtin_reduce_or(next < static_cast<Signed<T>>(3 * kOne)) == 0;
}
#endif

// The square root instruction, without the call that a C library's errno would ask for.
#if defined(__clang__)
KVRM_INLINE float hardware_sqrt(float value) { return __builtin_elementwise_sqrt(value); }
KVRM_INLINE double hardware_sqrt(double value) { return __builtin_elementwise_sqrt(value); }
#elif defined(__x86_64__)
KVRM_INLINE float hardware_sqrt(float value) {
  asm("sqrtss %0, %0" : "+x"(value));
  return value;
}
KVRM_INLINE double hardware_sqrt(double value) {
  asm("sqrtsd %0, %0" : "+x"(value));
  return value;
}
#else
KVRM_INLINE float hardware_sqrt(float value) { return __builtin_sqrtf(value); }
KVRM_INLINE double hardware_sqrt(double value) { return __builtin_sqrt(value); }
#endif

// Fused multiply-add. The GPU has it, and so has code that is compiled for a processor with it; a host program for any
// x86-64 asks the processor it runs on. Bitcode for the translator is built with -mfma, so that it stays an intrinsic.
#if defined(__NVPTX__) || defined(__FMA__) || defined(__aarch64__)
KVRM_INLINE bool has_hardware_fma() { return true; }
KVRM_INLINE float hardware_fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
KVRM_INLINE double hardware_fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
#elif defined(__x86_64__)
KVRM_INLINE bool has_hardware_fma() { return __builtin_cpu_supports("fma"); }
KVRM_INLINE float hardware_fma(float a, float b, float c) {
  asm("vfmadd213ss %2, %1, %0" : "+x"(a) : "x"(b), "x"(c));
  return a;
}
KVRM_INLINE double hardware_fma(double a, double b, double c) {
  asm("vfmadd213sd %2, %1, %0" : "+x"(a) : "x"(b), "x"(c));
  return a;
}
#else
KVRM_INLINE bool has_hardware_fma() { return false; }
KVRM_INLINE float hardware_fma(float, float, float c) { return c; }
KVRM_INLINE double hardware_fma(double, double, double c) { return c; }
#endif

}  // namespace kvrm::semantics
