#include "symbols/features.h"

#include <algorithm>
#include <array>

#include "isa/decode.h"
#include "symbols/branches.h"

namespace kvrm::symbols {
namespace {

using isa::Class;
using isa::Row;

constexpr u32 kImm12 = 0xfff << 10, kShiftAndImm12 = 0x1fff << 10, kImm16 = 0x1fffff << 5;
constexpr u32 kImm19 = 0x7ffff << 5, kAddressImmediate = 0x60ffffe0, kRegister = 31, kSize = u32{1} << 31;

bool is_unsigned_offset(u32 word) { return (word & 0x3b000000) == 0x39000000; }

// Of the common forms: the register at the bottom is read, not written.
bool is_store(Row row, u32 word) {
  return isa::facts(row).routing == Class::kLoadStore && (word & 0x3u << 22) == 0 && (word & 0x3f000000) != 0x08000000;
}

// Registers that hold a page's address or the thread pointer, to which a linker adds the low half of an address.
class LinkedRegisters {
 public:
  // Takes out of the word what the linker fills in, and follows what it does to registers.
  u32 strip(Row row, u32 word) {
    const u32 destination = word & kRegister, base = word >> 5 & kRegister;
    if (row == Row::ADR || row == Row::ADRP) {
      mark(destination, kPage);
      return word & ~kAddressImmediate;
    }
    if (row == Row::LDR_lit || row == Row::LDR_lit_v) {
      mark(destination, kNone);
      return word & ~kImm19;
    }
    if (row == Row::MRS) {
      mark(destination, kThread);
      return word;
    }
    const State state = states_[base];
    if (row == Row::ADD_imm && state != kNone) {
      mark(destination, state == kThread ? kThread : kNone);
      return word & ~kShiftAndImm12;
    }
    const bool linked = state == kPage && is_unsigned_offset(word);
    if (row == Row::BL || row == Row::BLR) {
      for (u32 i = 0; i <= 18; ++i) states_[i] = kNone;
    } else if (isa::facts(row).routing != Class::kBranch && !is_store(row, word)) {
      mark(destination, kNone);
    }
    return linked ? word & ~kImm12 : word;
  }

 private:
  enum State : u8 { kNone, kPage, kThread };
  void mark(u32 number, State state) {
    if (number != kRegister) states_[number] = state;
  }
  std::array<State, 32> states_{};
};

// The operands that are no registers, and not the offsets of a stack frame.
u32 constant_bits(Row row, u32 word) {
  switch (row) {
    case Row::ADD_imm:
    case Row::ADDS_imm:
    case Row::SUB_imm:
    case Row::SUBS_imm: return (word >> 5 & kRegister) == kRegister ? kSize : kSize | kShiftAndImm12;
    case Row::AND_imm:
    case Row::ORR_imm:
    case Row::EOR_imm:
    case Row::ANDS_imm: return kSize | kShiftAndImm12;
    case Row::MOVN:
    case Row::MOVZ:
    case Row::MOVK: return kSize | kImm16;
    case Row::SBFM:
    case Row::BFM:
    case Row::UBFM: return kSize | kShiftAndImm12;
    case Row::EXTR: return kSize | 0x3f << 10;
    case Row::B_cond: return 15;
    case Row::CSEL:
    case Row::CSINC:
    case Row::CSINV:
    case Row::CSNEG: return kSize | 15 << 12;
    case Row::CCMP_imm:
    case Row::CCMN_imm: return kSize | 31 << 16 | 15 << 12 | 15;
    case Row::CCMP_reg:
    case Row::CCMN_reg: return kSize | 15 << 12 | 15;
    case Row::TBZ:
    case Row::TBNZ: return kSize | 31 << 19;
    case Row::SVC:
    case Row::BRK: return 0xffff << 5;
    case Row::MRS:
    case Row::MSR_reg: return 0x7fff << 5;
    default: break;
  }
  if (row == Row::kNone) return ~u32{0};
  if (isa::facts(row).routing != Class::kLoadStore) return kSize;
  if ((word >> 5 & kRegister) == kRegister) return 3u << 30;
  if (is_unsigned_offset(word)) return 3u << 30 | kImm12;
  if ((word & 0x3b200000) == 0x38000000) return 3u << 30 | 0x1ff << 12;
  if ((word & 0x3a000000) == 0x28000000) return 3u << 30 | 0x7f << 15;
  return 3u << 30;
}

u32 mix(u64 a, u64 b, u64 c) {
  u64 hash = (a * 0x9e3779b97f4a7c15 + b) * 0xbf58476d1ce4e5b9;
  hash = ((hash ^ hash >> 29) + c) * 0x94d049bb133111eb;
  return static_cast<u32>(hash >> 32);
}

class Gathered {
 public:
  void add(TokenKind kind, u32 hash) { hashes_.push_back(static_cast<u32>(kind) << 30 | hash >> 2); }
  std::vector<Token> finish() {
    std::ranges::sort(hashes_);
    std::vector<Token> tokens;
    for (const u32 hash : hashes_) {
      if (tokens.empty() || tokens.back().hash != hash) tokens.push_back({hash, 0});
      ++tokens.back().count;
    }
    return tokens;
  }

 private:
  std::vector<u32> hashes_;
};

}  // namespace

std::vector<Op> normalize(std::span<const u32> words) {
  std::vector<Op> ops;
  std::vector<u32> number_of(words.size() + 1);
  std::vector<u32> from;  // of each op
  LinkedRegisters registers;
  for (u32 i = 0; i < words.size(); ++i) {
    const Row row = isa::decode(words[i]);
    number_of[i] = static_cast<u32>(ops.size());
    if (row == Row::HINT) continue;
    from.push_back(i);
    ops.push_back({row == Row::kNone ? words[i] : registers.strip(row, words[i]), row, 0});
  }
  number_of[words.size()] = static_cast<u32>(ops.size());
  for (u32 i = 0; i < ops.size(); ++i) {
    const DisplacementField field = displacement_field(ops[i].row);
    if (field.width == 0) continue;
    const i64 target = static_cast<i64>(from[i]) + field.of(ops[i].word);
    const bool inside = target >= 0 && target < static_cast<i64>(words.size()) && ops[i].row != Row::BL;
    // An object file's branch to another routine is one to itself until it is linked.
    if (inside && target != static_cast<i64>(from[i])) {
      ops[i].target = static_cast<i32>(number_of[static_cast<u64>(target)]) - static_cast<i32>(i);
    }
    ops[i].word &= ~field.bits();
  }
  return ops;
}

Features features_of(const Routine& routine) {
  const std::vector<Op> ops = normalize(routine.words);
  Features features;
  features.length = static_cast<u32>(ops.size());
  std::vector<u64> exact;
  for (const Op& op : ops) exact.push_back(static_cast<u64>(static_cast<u32>(op.target)) << 32 | op.word);
  std::vector<isa::Row> rows;
  for (const Op& op : ops) rows.push_back(op.row);
  features.rows = hash_of(rows.data(), rows.size() * sizeof(isa::Row));
  features.exact = hash_of(exact.data(), exact.size() * sizeof(u64));
  features.head = hash_of(exact.data(), std::min<std::size_t>(exact.size(), 16) * sizeof(u64));

  Gathered gathered;
  const auto row = [&](std::size_t i) { return i < ops.size() ? static_cast<u64>(ops[i].row) + 1 : 0; };
  const auto operand = [&](std::size_t i) {
    if (i >= ops.size()) return u64{0};
    return (static_cast<u64>(ops[i].row) + 1) << 32 | (ops[i].word & constant_bits(ops[i].row, ops[i].word));
  };
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (i + 3 <= ops.size() || i == 0) gathered.add(TokenKind::kRows, mix(row(i), row(i + 1), row(i + 2)));
    gathered.add(TokenKind::kOperands, mix(operand(i), 0, 1));
    gathered.add(TokenKind::kOperands, mix(operand(i), operand(i + 1), 2));
  }
  for (const u64 text : routine.strings) gathered.add(TokenKind::kText, mix(text, 0, 3));
  u32 bits = 0;
  for (u64 length = ops.size() * ops.size(); length > 1; length /= 2) ++bits;
  gathered.add(TokenKind::kShape, mix(bits, 0, 4));
  gathered.add(TokenKind::kShape,
               mix(std::min<std::size_t>(routine.calls.size() + routine.calls_outside.size(), 20), 0, 5));
  features.tokens = gathered.finish();
  return features;
}

}  // namespace kvrm::symbols
