// Ranges of iterations that machine code of the host does: their accesses are checked before, all at once.
#pragma once

#include "accelerate/freestanding/rounds.h"

namespace kvrm::accelerate {

// Where the tables' first entries are, if what may be loaded from them is in pages side by side and no entry crosses
// into another page; otherwise no iterations.
template <class Memory>
u64 Step<Memory>::tables_within(u8** at, u64 count) {
  for (const Table& table : loop_.tables) {
    const Access& access = loop_.accesses[table.access];
    const u64 base = values_[table.base];
    u64 low_bits = base;  // of any entry's address
    const Node& index = loop_.nodes[table.index];
    const bool is_scaled = index.op == Op::kShiftLeft && loop_.nodes[index.b].op == Op::kConstant;
    if (!is_scaled || (u64{1} << loop_.nodes[index.b].value % 64) % access.size != 0) low_bits |= access.size - 1;
    if (low_bits % access.size != 0) return 0;
    const u64 entries = u64{table.span} / access.size + 1;
    if (contiguous(base, access.size, access.size, false, entries) < entries) return 0;
    at[table.access] = memory_.readable(base);
  }
  return count;
}

// Whether the order of the iterations does not matter: no store meets another access of any of them, but for a load of
// the same bytes before it in its own.
template <class Memory>
bool Step<Memory>::are_independent(u8* const* at, u64 count) const {
  struct Range {
    u64 low, size;
  };
  const auto range = [&](u32 number) {
    const Access& access = loop_.accesses[number];
    const u64 low = reinterpret_cast<u64>(at[number]);
    for (const Table& table : loop_.tables) {
      if (table.access == number) return Range{low, u64{table.span} + access.size};
    }
    const u64 span = steps_[access.address] * (count - 1);
    const bool falls = static_cast<i64>(span) < 0;
    return Range{falls ? low + span : low, (falls ? 0 - span : span) + access.size};
  };
  for (u32 s = 0; s < loop_.accesses.count; ++s) {
    const Access& store = loop_.accesses[s];
    if (!store.is_store) continue;
    const u64 step = steps_[store.address], by = static_cast<i64>(step) < 0 ? 0 - step : step;
    if (by < store.size) return false;
    for (u32 l = 0; l < loop_.accesses.count; ++l) {
      const Access& load = loop_.accesses[l];
      if (load.is_store) continue;
      const bool is_same =
          is_affine(load.address) && at[l] == at[s] && steps_[load.address] == step && load.size == store.size && l < s;
      const Range one = range(l), other = range(s);
      if (!is_same && overlap(one.low, one.size, other.low, other.size)) return false;
    }
  }
  return stores_are_apart();
}

// A round must follow, so it leaves an iteration.
template <class Memory>
u64 Step<Memory>::native_ranges(u64 most) {
  u8* at[kMostNative];
  u64 folded[kMostNative + 1] = {};
  u64 count = most < kMostIterations ? most : kMostIterations;
  for (u32 i = 0; i < loop_.accesses.count; ++i) {
    const Access& access = loop_.accesses[i];
    if (!is_affine(access.address)) continue;
    const u64 address = values_[access.address];
    count = contiguous(address, steps_[access.address], access.size, access.is_store, count);
    if (count < kWholeRanges) return 0;
    at[i] = access.is_store ? memory_.writable(address) : const_cast<u8*>(memory_.readable(address));
  }
  count = ends_in_pages(tables_within(at, count));
  if (count < kWholeRanges || !are_independent(at, count)) return 0;
  --count;
  for (u32 i = 0; i < loop_.carried.count; ++i) folded[i] = after_[i];
  loop_.native(at, values_, steps_, folded, count);
  for (u32 i = 0; i < loop_.carried.count; ++i) {
    if (loop_.carried[i].carry == Carry::kReduction) after_[i] = folded[i];
  }
  instructions_ += folded[loop_.carried.count];
  advance(count);
  return count;
}

}  // namespace kvrm::accelerate
