// The shapes of the disassembler's static tables and the functions its expressions may call. The tables
// themselves are generated from a64_asm.inc by generate_asm.py.
#pragma once

#include "base/types.h"

namespace kvrm::isa {

// One part of an instruction's text. first and second are expression numbers unless said otherwise.
struct AsmPiece {
  enum Kind : u8 {
    kText,         // first characters of kAsmText on, second of them
    kDecimal,      // a signed number
    kHex,          // an unsigned number with 0x
    kWideHex,      // the same in sixteen characters, as C's %#016llx
    kFloat,        // the 8-bit floating-point immediate
    kName,         // the name that list `second` has for the number
    kGeneral,      // register `first`, 31 is the zero register; an X register when second is not 0
    kGeneralOrSp,  // the same, 31 is the stack pointer
    kVector,       // v0 to v31
    kScalar,       // a vector register as scalar; second picks b, h, s, d, q
    kSkipUnless,   // leaves out the next `second` pieces when first is 0
  };
  Kind kind;
  u16 first, second;
};

struct AsmLine {
  u16 condition;
  u16 first_piece, pieces;
};

struct AsmRange {
  u16 first, count;
};

struct AsmName {
  u16 key;
  u16 offset, length;
};

constexpr const AsmName* find_in(const AsmName* names, u32 count, i64 key) {
  u32 low = 0;
  u32 high = count;
  while (low < high) {
    const u32 middle = (low + high) / 2;
    if (names[middle].key < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < count && names[low].key == key ? names + low : nullptr;
}

// --- what expressions are made of ---

template <unsigned kLow, unsigned kWidth>
constexpr i64 bits(u32 word) {
  return word >> kLow & ((u64{1} << kWidth) - 1);
}

template <unsigned kWidth>
constexpr i64 signed_bits(i64 raw) {
  return static_cast<i64>(static_cast<u64>(raw) << (64 - kWidth)) >> (64 - kWidth);
}

// (a, b, ...)[index]
template <typename... Values>
constexpr i64 choose(i64 index, Values... values) {
  const i64 all[] = {values...};
  return all[static_cast<u64>(index) % sizeof...(values)];
}

constexpr i64 highest_bit(i64 value) {
  i64 position = -1;
  for (u64 rest = static_cast<u64>(value); rest; rest >>= 1) ++position;
  return position;
}

constexpr i64 lowest_bit(i64 value) { return highest_bit(value & -value); }

// The value as a signed 64-bit (is_64 != 0) or 32-bit number.
constexpr i64 sign_extend(i64 value, i64 is_64) { return is_64 ? value : static_cast<i32>(value); }

// DecodeBitMasks of the Arm manual, wmask only.
constexpr i64 bitmask(i64 is_64, i64 n, i64 immr, i64 imms) {
  const i64 size_log2 = highest_bit(n << 6 | (~imms & 63));
  const u32 size = 1u << static_cast<u32>(size_log2);
  const u32 levels = size - 1;
  const u32 ones = (static_cast<u32>(imms) & levels) + 1;
  const u32 rotate = static_cast<u32>(immr) & levels;
  u64 element = ~u64{0} >> (64 - ones);
  if (rotate) element = element >> rotate | element << (size - rotate);
  element &= ~u64{0} >> (64 - size);
  for (u32 width = size; width < 64; width *= 2) element |= element << width;
  return static_cast<i64>(is_64 ? element : element & 0xffffffffu);
}

// A single MOVZ can make the value.
constexpr bool is_movz_value(u64 value, i64 is_64) {
  for (u32 shift = 0; shift < (is_64 ? 64u : 32u); shift += 16) {
    if (!(value & ~(u64{0xffff} << shift))) return true;
  }
  return false;
}

// A single MOVZ or MOVN can make the value; then `mov` belongs to that instruction and not to ORR.
constexpr i64 is_move_wide(i64 value, i64 is_64) {
  const u64 mask = is_64 ? ~u64{0} : 0xffffffffu;
  const u64 wanted = static_cast<u64>(value);
  return is_movz_value(wanted & mask, is_64) || is_movz_value(~wanted & mask, is_64);
}

// MOVI's 64-bit form: every bit of imm8 becomes a byte.
constexpr i64 expand_bytes(i64 imm8) {
  u64 result = 0;
  for (u32 bit = 0; bit < 8; ++bit) {
    if (imm8 >> bit & 1) result |= u64{0xff} << (8 * bit);
  }
  return static_cast<i64>(result);
}

}  // namespace kvrm::isa
