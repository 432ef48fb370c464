// Cryptographic AES: one round without its key schedule. Byte 4c + r of a register is row r, column c of the state.
#pragma once

#include "base/cpu.h"
#include "isa/a64_operands.h"
#include "semantics/vector.h"

namespace kvrm::semantics {

// The substitution and its inverse, computed from their definition (FIPS 197, 5.1.1) when this is compiled.
struct AesSubstitution {
  u8 forward[256];
  u8 inverse[256];
};

constexpr AesSubstitution make_aes_substitution() {
  AesSubstitution table{};
  // p runs through all elements of the field as powers of 3; q is its inverse, powers of 1/3.
  u8 p = 1, q = 1;
  do {
    p = static_cast<u8>(p ^ p << 1 ^ (p & 0x80 ? 0x1b : 0));
    q = static_cast<u8>(q ^ q << 1);
    q = static_cast<u8>(q ^ q << 2);
    q = static_cast<u8>(q ^ q << 4);
    if (q & 0x80) q ^= 0x09;
    u8 affine = 0x63;
    for (u32 rotation = 0; rotation < 5; ++rotation) affine ^= static_cast<u8>(q << rotation | q >> (8 - rotation));
    table.forward[p] = affine;
  } while (p != 1);
  table.forward[0] = 0x63;
  for (u32 value = 0; value < 256; ++value) table.inverse[table.forward[value]] = static_cast<u8>(value);
  return table;
}

inline constexpr AesSubstitution kAesSubstitution = make_aes_substitution();

// ShiftRows and SubBytes, or their inverses; the two steps commute.
template <bool kInverse>
KVRM_COLD inline U128 aes_substitute(u64 lo, u64 hi) {
  const U128 state{lo, hi};
  const u8* table = kInverse ? kAesSubstitution.inverse : kAesSubstitution.forward;
  U128 result{};
#pragma GCC unroll 16
  for (u32 i = 0; i < 16; ++i) {
    const u32 row = i % 4;
    const u32 from = kInverse ? i - 4 * row : i + 4 * row;
    result = with_element<u8>(result, i, table[element<u8>(state, from % 16)]);
  }
  return result;
}

// Every byte times x in the field.
KVRM_INLINE u32 aes_double(u32 bytes) { return (bytes & 0x7f7f7f7f) << 1 ^ (bytes >> 7 & 0x01010101) * 0x1b; }

// MixColumns of one column: the coefficients 2, 3, 1, 1 and their rotations.
KVRM_INLINE u32 aes_mix(u32 column) {
  const u32 next = rotate_right(column, 8);
  return aes_double(column ^ next) ^ next ^ rotate_right(column, 16) ^ rotate_right(column, 24);
}

// Its inverse, 14, 11, 13, 9, is the product of 5, 0, 4, 0 and the forward coefficients.
KVRM_INLINE u32 aes_unmix(u32 column) {
  return aes_mix(column ^ aes_double(aes_double(column ^ rotate_right(column, 16))));
}

template <class M>
KVRM_INLINE void AESE(Cpu& cpu, M&, const isa::AESE& op) {
  const U128 n = cpu.q[op.Vn];
  const U128 d = cpu.q[op.Vd];
  cpu.q[op.Vd] = aes_substitute<false>(d.lo ^ n.lo, d.hi ^ n.hi);
}

template <class M>
KVRM_INLINE void AESD(Cpu& cpu, M&, const isa::AESD& op) {
  const U128 n = cpu.q[op.Vn];
  const U128 d = cpu.q[op.Vd];
  cpu.q[op.Vd] = aes_substitute<true>(d.lo ^ n.lo, d.hi ^ n.hi);
}

template <class M>
KVRM_INLINE void AESMC(Cpu& cpu, M&, const isa::AESMC& op) {
  const U128 n = cpu.q[op.Vn];
  cpu.q[op.Vd] = map<u32>([](u32 column) KVRM_LAMBDA { return aes_mix(column); }, Elements<u32>(n));
}

template <class M>
KVRM_INLINE void AESIMC(Cpu& cpu, M&, const isa::AESIMC& op) {
  const U128 n = cpu.q[op.Vn];
  cpu.q[op.Vd] = map<u32>([](u32 column) KVRM_LAMBDA { return aes_unmix(column); }, Elements<u32>(n));
}

}  // namespace kvrm::semantics
