// CRC32 and CRC32C over one to eight bytes.
#pragma once

#include "isa/a64_operands.h"
#include "semantics/registers.h"

namespace kvrm::semantics {

// The polynomials with their bits reversed, as the instructions define them.
inline constexpr u32 kCrc32 = 0xedb88320;
inline constexpr u32 kCrc32c = 0x82f63b78;

template <u32 kPolynomial, class T, class Op>
KVRM_INLINE void crc32(Cpu& cpu, const Op& op) {
  u64 remainder = read<u32>(cpu, op.Rn) ^ u64 { read<T>(cpu, op.Rm) };
  // One division step per bit of the data; the upper half shifts down into the 32-bit remainder.
  for (u32 bit = 0; bit < kBits<T>; ++bit) remainder = remainder >> 1 ^ (remainder & 1 ? kPolynomial : 0);
  write(cpu, op.Rd, static_cast<u32>(remainder));
}

template <class M>
KVRM_INLINE void CRC32B(Cpu& cpu, M&, const isa::CRC32B& op) {
  crc32<kCrc32, u8>(cpu, op);
}

template <class M>
KVRM_INLINE void CRC32H(Cpu& cpu, M&, const isa::CRC32H& op) {
  crc32<kCrc32, u16>(cpu, op);
}

template <class M>
KVRM_INLINE void CRC32W(Cpu& cpu, M&, const isa::CRC32W& op) {
  crc32<kCrc32, u32>(cpu, op);
}

template <class M>
KVRM_INLINE void CRC32X(Cpu& cpu, M&, const isa::CRC32X& op) {
  crc32<kCrc32, u64>(cpu, op);
}

template <class M>
KVRM_INLINE void CRC32CB(Cpu& cpu, M&, const isa::CRC32CB& op) {
  crc32<kCrc32c, u8>(cpu, op);
}

template <class M>
KVRM_INLINE void CRC32CH(Cpu& cpu, M&, const isa::CRC32CH& op) {
  crc32<kCrc32c, u16>(cpu, op);
}

template <class M>
KVRM_INLINE void CRC32CW(Cpu& cpu, M&, const isa::CRC32CW& op) {
  crc32<kCrc32c, u32>(cpu, op);
}

template <class M>
KVRM_INLINE void CRC32CX(Cpu& cpu, M&, const isa::CRC32CX& op) {
  crc32<kCrc32c, u64>(cpu, op);
}

}  // namespace kvrm::semantics
