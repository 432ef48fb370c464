// What prefetch policies have in common. A policy sees the loads of one lane, in their order, and says which address it
// expects; it never decides what a load gives, so a wrong answer costs time and nothing else. Freestanding: a GPU's
// kernel and the host's evaluation run the same text.
//
// A site is a static load, by its pc. A choice is a policy and how far ahead of the load it prefetches.
#pragma once

#include "base/types.h"

namespace kvrm::prefetch {

inline constexpr u32 kLineShift = 6;
inline constexpr u64 kLineBytes = u64{1} << kLineShift;
constexpr u64 line_of(u64 address) { return address >> kLineShift; }

struct Load {
  u64 pc;
  u64 address;
  u64 value = 0;  // what it loaded, zero-extended; 0 if that is not known
  u32 size = 8;  // bytes
};

enum class Policy : u32 { kNextLine, kStride, kTemporal, kIndirect, kNone };
inline constexpr u32 kPolicies = 4;  // without kNone
// A distance is a power of two: lines (next line), occurrences of the load (stride, indirect), misses (temporal).
inline constexpr u32 kLevels = 8;
constexpr u32 distance_of(u32 level) { return 1u << level; }

struct Choice {
  Policy policy = Policy::kNone;
  u32 level = 0;
  friend constexpr bool operator==(const Choice&, const Choice&) = default;
};

// Spreads a key over a table of 1 << bits slots.
constexpr u32 slot_of(u64 key, u32 bits) { return static_cast<u32>((key * 0x9e3779b97f4a7c15u) >> (64 - bits)); }

}  // namespace kvrm::prefetch
