// From a word to its row: a walk down a small table, then an exact check.
#pragma once

#include "base/types.h"
#include "isa/a64_decoder.h"
#include "isa/a64_rows.h"

namespace kvrm::isa {

constexpr const RowFacts& facts(Row row) { return kRowFacts[static_cast<u32>(row)]; }

// The word belongs to the row: its fixed bits are there and the row's condition does not refuse it.
constexpr bool accepts(Row row, u32 word) {
  const RowFacts& row_facts = facts(row);
  if ((word & row_facts.mask) != row_facts.bits) return false;
  for (u32 i = 0; i < row_facts.exclusions; ++i) {
    const Exclusion& exclusion = kExclusions[row_facts.first_exclusion + i];
    if ((word & exclusion.mask) == exclusion.bits) return false;
  }
  return true;
}

constexpr Row decode(u32 word) {
  constexpr u32 kLeaf = 1u << 31;
  u32 node = kDecoderNodes[0];
  while (!(node & kLeaf)) {
    const u32 shift = node & 31;
    const u32 bits = node >> 5 & 15;
    node = kDecoderNodes[(node >> 9) + (word >> shift & ((1u << bits) - 1))];
  }
  const u32 first = (node & ~kLeaf) >> 8;
  for (u32 i = 0; i < (node & 255); ++i) {
    const Row row = static_cast<Row>(kDecoderCandidates[first + i]);
    if (accepts(row, word)) return row;
  }
  return Row::kNone;
}

}  // namespace kvrm::isa
