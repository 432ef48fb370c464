// From a word to its row, in two steps: its class, then a walk down the class's own table and an exact check.
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

namespace detail {

inline constexpr u32 kLeaf = 1u << 31;

// Down a tree to what its leaf holds.
constexpr u32 walk(const u32* nodes, u32 node, u32 word) {
  while (!(node & kLeaf)) {
    const u32 shift = node & 31;
    const u32 bits = node >> 5 & 15;
    node = nodes[(node >> 9) + (word >> shift & ((1u << bits) - 1))];
  }
  return node & ~kLeaf;
}

}  // namespace detail

// The class of a word; every word has one (routing.py).
constexpr Class routing_class(u32 word) { return static_cast<Class>(detail::walk(kClassNodes, kClassNodes[0], word)); }

// The row of a word among those of a class. A word that was sent to the wrong class is no instruction there.
constexpr Row decode_as(Class routing, u32 word) {
  const u32 leaf = detail::walk(kDecoderNodes, kDecoderNodes[static_cast<u32>(routing)], word);
  for (u32 i = 0; i < (leaf & 255); ++i) {
    const Row row = static_cast<Row>(kDecoderCandidates[(leaf >> 8) + i]);
    if (accepts(row, word)) return row;
  }
  return Row::kNone;
}

constexpr Row decode(u32 word) { return decode_as(routing_class(word), word); }

}  // namespace kvrm::isa
