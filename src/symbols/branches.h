// Branches whose words say where they go.
#pragma once

#include "base/types.h"
#include "isa/a64_rows.h"

namespace kvrm::symbols {

constexpr i64 signed_field(u32 word, u32 low, u32 width) {
  return static_cast<i64>(static_cast<i32>(word << (32 - width - low)) >> (32 - width));
}

// Where the displacement of a branch is in its word; a width of 0: the row is no such branch.
struct DisplacementField {
  u32 low = 0, width = 0;
  constexpr i64 of(u32 word) const { return signed_field(word, low, width); }  // in words
  constexpr u32 bits() const { return width == 0 ? 0 : ((u32{1} << width) - 1) << low; }
};

constexpr DisplacementField displacement_field(isa::Row row) {
  switch (row) {
    case isa::Row::B:
    case isa::Row::BL: return {0, 26};
    case isa::Row::B_cond:
    case isa::Row::CBZ:
    case isa::Row::CBNZ: return {5, 19};
    case isa::Row::TBZ:
    case isa::Row::TBNZ: return {5, 14};
    default: return {};
  }
}

// What ADR adds to its pc, and ADRP to its pc's page in pages.
constexpr i64 address_immediate(u32 word) { return signed_field(word, 5, 19) * 4 + static_cast<i64>(word >> 29 & 3); }

}  // namespace kvrm::symbols
