// Scalars in vector registers.
#pragma once

#include "semantics/float_format.h"
#include "semantics/vector.h"

namespace kvrm::semantics {

template <class T>
KVRM_INLINE T read_float(const Cpu& cpu, u8 index) {
  return static_cast<T>(cpu.q[index].lo);
}

template <class T>
KVRM_INLINE void write_float(Cpu& cpu, u8 index, T bits) {
  cpu.q[index] = U128{bits, 0};
}

template <class T>
KVRM_INLINE void write_float(Cpu& cpu, u8 index, const FloatResult<T>& result) {
  write_float(cpu, index, result.bits);
  accumulate(cpu, result.flags);
}

// Calls f with a zero of the format that ftype names: 0 single, 1 double, 3 half.
template <class F>
KVRM_INLINE void with_float_type(u8 ftype, F f) {
  if (ftype == 1) {
    f(u64{});
  } else if (ftype == 0) {
    f(u32{});
  } else {
    f(u16{});
  }
}

}  // namespace kvrm::semantics
