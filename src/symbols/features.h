// What a routine is compared by: tokens, each a hash of something that two builds of the same source are likely to
// share.
#pragma once

#include <span>
#include <vector>

#include "base/types.h"
#include "isa/a64_rows.h"
#include "symbols/image.h"

namespace kvrm::symbols {

// An instruction without what a linker fills in: targets of calls, addresses and their low halves. Hints are gone, so
// that code with and without BTI and PAC is the same.
struct Op {
  u32 word;
  isa::Row row;
  i32 target;  // of a branch within the routine: the distance in ops; otherwise 0
};
std::vector<Op> normalize(std::span<const u32> words);

// The kinds of tokens. Each is weighted apart.
enum class TokenKind : u8 { kRows, kOperands, kText, kShape };
inline constexpr u32 kTokenKinds = 4;

struct Token {
  u32 hash;  // the kind in the two upper bits
  u32 count;
  TokenKind kind() const { return static_cast<TokenKind>(hash >> 30); }
};

struct Features {
  std::vector<Token> tokens;  // sorted, each hash once
  u64 exact = 0;  // of all normalized words
  u64 head = 0;  // of the first 16
  u64 rows = 0;  // of the rows alone: registers and constants do not count
  u32 length = 0;  // in ops
};
Features features_of(const Routine& routine);

}  // namespace kvrm::symbols
