// The three floating-point formats as bit patterns (u16 half, u32 single, u64 double), the words of FPCR and FPSR that
// steer and record arithmetic, and what every operation returns. Freestanding: host and device, no state, no library.
#pragma once

#include "base/bits.h"
#include "base/cpu.h"

namespace kvrm::semantics {

// The sticky flags, at their bits in FPSR.
inline constexpr u32 kInvalid = 1u << 0;        // IOC
inline constexpr u32 kDivideByZero = 1u << 1;   // DZC
inline constexpr u32 kOverflow = 1u << 2;       // OFC
inline constexpr u32 kUnderflow = 1u << 3;      // UFC
inline constexpr u32 kInexact = 1u << 4;        // IXC
inline constexpr u32 kInputDenormal = 1u << 7;  // IDC

// The controls, at their bits in FPCR.
inline constexpr u32 kFlushHalf = 1u << 19;       // FZ16
inline constexpr u32 kRoundingShift = 22;         // RMode
inline constexpr u32 kRoundingMask = 3u << kRoundingShift;
inline constexpr u32 kFlush = 1u << 24;           // FZ
inline constexpr u32 kDefaultNan = 1u << 25;      // DN
inline constexpr u32 kAlternativeHalf = 1u << 26; // AHP

// The first four are FPCR's RMode.
enum class Rounding : u32 { kNearest = 0, kUp = 1, kDown = 2, kZero = 3, kAway = 4, kOdd = 5 };

// What an operation gives: the bits of the value, and the flags it raises (FPSR's positions).
template <class T>
struct FloatResult {
  T bits;
  u32 flags;
};

// What a comparison gives: the condition flags as four bits, N = 8, or one answer; and the exceptions.
struct FloatOrder {
  u8 nzcv;
  u32 flags;
};
struct FloatTest {
  bool holds;
  u32 flags;
};

// The `mode` every operation takes: FPCR, and at FPSR's bit IXC whether inexact is sticky already. Where it is,
// hardware may do the arithmetic: that it does not report inexact cannot be seen.
KVRM_INLINE u32 float_mode(const Cpu& cpu) { return cpu.fpcr | (cpu.fpsr & kInexact); }

KVRM_INLINE Rounding rounding_of(u32 mode) { return static_cast<Rounding>(mode >> kRoundingShift & 3); }

KVRM_INLINE void accumulate(Cpu& cpu, u32 flags) { cpu.fpsr |= flags; }

template <class T>
struct FloatFormat;
template <>
struct FloatFormat<u16> {
  static constexpr u32 kFractionBits = 10;
};
template <>
struct FloatFormat<u32> {
  static constexpr u32 kFractionBits = 23;
};
template <>
struct FloatFormat<u64> {
  static constexpr u32 kFractionBits = 52;
};

template <class T>
inline constexpr u32 kFractionBits = FloatFormat<T>::kFractionBits;
template <class T>
inline constexpr u32 kExponentBits = kBits<T> - 1 - kFractionBits<T>;
template <class T>
inline constexpr i32 kExponentMax = (1 << kExponentBits<T>)-1;  // of infinities and NaNs
template <class T>
inline constexpr i32 kBias = kExponentMax<T> / 2;

template <class T>
inline constexpr T kSignBit = static_cast<T>(T{1} << (kBits<T> - 1));
template <class T>
inline constexpr T kFractionMask = static_cast<T>((T{1} << kFractionBits<T>)-1);
template <class T>
inline constexpr T kQuietBit = static_cast<T>(T{1} << (kFractionBits<T> - 1));
template <class T>
inline constexpr T kInfinity = static_cast<T>(T{kExponentMax<T>} << kFractionBits<T>);
template <class T>
inline constexpr T kNan = static_cast<T>(kInfinity<T> | kQuietBit<T>);  // FPDefaultNaN()

// The control that flushes denormals of the format. Only single and double report a flushed input (IDC).
template <class T>
inline constexpr u32 kFlushOf = sizeof(T) == 2 ? kFlushHalf : kFlush;
template <class T>
inline constexpr u32 kFlushedInputFlag = sizeof(T) == 2 ? 0 : kInputDenormal;

template <class T>
KVRM_INLINE constexpr T float_abs(T a) {
  return static_cast<T>(a & ~kSignBit<T>);
}
template <class T>
KVRM_INLINE constexpr T float_neg(T a) {
  return static_cast<T>(a ^ kSignBit<T>);
}
template <class T>
KVRM_INLINE constexpr bool float_sign(T a) {
  return (a & kSignBit<T>) != 0;
}
template <class T>
KVRM_INLINE constexpr i32 float_exponent(T a) {  // biased
  return static_cast<i32>(float_abs(a) >> kFractionBits<T>);
}
template <class T>
KVRM_INLINE constexpr bool float_is_zero(T a) {
  return float_abs(a) == 0;
}
template <class T>
KVRM_INLINE constexpr bool float_is_infinite(T a) {
  return float_abs(a) == kInfinity<T>;
}
template <class T>
KVRM_INLINE constexpr bool float_is_nan(T a) {
  return float_abs(a) > kInfinity<T>;
}
template <class T>
KVRM_INLINE constexpr bool float_is_signalling(T a) {
  return float_is_nan(a) && !(a & kQuietBit<T>);
}
template <class T>
KVRM_INLINE constexpr bool float_is_denormal(T a) {
  return float_abs(static_cast<T>(a)) != 0 && float_exponent(a) == 0;
}
template <class T>
KVRM_INLINE constexpr T float_signed_zero(bool sign) {
  return sign ? kSignBit<T> : T{0};
}
template <class T>
KVRM_INLINE constexpr T float_signed_infinity(bool sign) {
  return static_cast<T>(float_signed_zero<T>(sign) | kInfinity<T>);
}

}  // namespace kvrm::semantics
