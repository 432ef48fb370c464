#include "isa/disassembler/disassemble.h"

#include <array>
#include <charconv>
#include <string_view>

#include "isa/a64_asm_table.h"
#include "isa/decode.h"

namespace kvrm::isa {
namespace {

constexpr std::string_view text_at(u32 offset, u32 length) { return {kAsmText + offset, length}; }

template <typename Number>
void append_number(std::string& out, Number value, int base = 10) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, base).ptr;
  out.append(digits.data(), end);
}

// printf's %#016llx, which LLVM uses for MOVI's 64-bit immediates: zero has no 0x, the padding counts the 0x.
void append_wide_hex(std::string& out, u64 value) {
  std::string digits;
  append_number(digits, value, 16);
  const std::size_t width = value ? 14 : 16;
  if (value) out += "0x";
  if (digits.size() < width) out.append(width - digits.size(), '0');
  out += digits;
}

void append_general(std::string& out, u32 number, bool is_64, bool stack) {
  if (number == 31) {
    out += stack ? (is_64 ? "sp" : "wsp") : (is_64 ? "xzr" : "wzr");
    return;
  }
  out += is_64 ? 'x' : 'w';
  append_number(out, number);
}

// VFPExpandImm of the Arm manual: a sign, 16 to 31 sixteenths, an exponent of -3 to 4. Every such value has
// at most seven decimals, so fixed-point arithmetic prints it exactly.
void append_float(std::string& out, u32 imm8) {
  const u32 exponent = (imm8 >> 4 & 7) ^ 4;  // 0 is a factor of 1/8, 7 of 16
  const u64 in_128ths = u64{16 + (imm8 & 15)} << exponent;
  if (imm8 & 0x80) out += '-';
  append_number(out, in_128ths >> 7);
  out += '.';
  const u64 decimals = (in_128ths & 127) * 100'000'000 / 128;
  for (u64 digit = 10'000'000; digit; digit /= 10) out += static_cast<char>('0' + decimals / digit % 10);
}

void append_name(std::string& out, u32 list, i64 key) {
  const AsmName* name = find_name(list, key);
  out += name ? text_at(name->offset, name->length) : "?";
}

void append_piece(std::string& out, const AsmPiece& piece, u32 word) {
  if (piece.kind == AsmPiece::kText) {
    out += text_at(piece.first, piece.second);
    return;
  }
  const i64 value = evaluate(piece.first, word);
  const u32 number = static_cast<u32>(value) & 31;
  switch (piece.kind) {
    case AsmPiece::kText:
    case AsmPiece::kSkipUnless: break;
    case AsmPiece::kDecimal: append_number(out, value); break;
    case AsmPiece::kHex:
      out += "0x";
      append_number(out, static_cast<u64>(value), 16);
      break;
    case AsmPiece::kWideHex: append_wide_hex(out, static_cast<u64>(value)); break;
    case AsmPiece::kFloat: append_float(out, static_cast<u32>(value)); break;
    case AsmPiece::kName: append_name(out, piece.second, value); break;
    case AsmPiece::kGeneral:
    case AsmPiece::kGeneralOrSp:
      append_general(out, number, evaluate(piece.second, word) != 0, piece.kind == AsmPiece::kGeneralOrSp);
      break;
    case AsmPiece::kVector:
      out += 'v';
      append_number(out, number);
      break;
    case AsmPiece::kScalar:
      out += "bhsdq"[evaluate(piece.second, word)];
      append_number(out, number);
      break;
  }
}

const AsmLine& choose_line(const AsmRange& lines, u32 word) {
  u32 line = lines.first;
  const u32 last = lines.first + lines.count - 1u;  // has no condition
  while (line < last && !evaluate(kAsmLines[line].condition, word)) ++line;
  return kAsmLines[line];
}

}  // namespace

std::string disassemble(u32 word, [[maybe_unused]] u64 address) {
  std::string out;
  const Row row = decode(word);
  if (row == Row::kNone) {
    out = ".inst 0x";
    for (int shift = 28; shift >= 0; shift -= 4) out += "0123456789abcdef"[word >> shift & 15];
    return out;
  }
  const AsmLine& line = choose_line(kAsmRows[static_cast<u32>(row)], word);
  for (u32 i = 0; i < line.pieces; ++i) {
    const AsmPiece& piece = kAsmPieces[line.first_piece + i];
    if (piece.kind == AsmPiece::kSkipUnless) {
      if (!evaluate(piece.first, word)) i += piece.second;
    } else {
      append_piece(out, piece, word);
    }
  }
  return out;
}

}  // namespace kvrm::isa
