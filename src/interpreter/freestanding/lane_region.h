// Translated regions as the loop for many lanes sees them. Freestanding.
#pragma once

#include "base/cpu.h"

namespace kvrm::interpreter {

// A region replaces the word at its entry pc: that word's entry has the handler kHandleRegion and the region's number.
// It may run only in the window it was translated for.
struct LaneRegion {
  u64 code;  // RegionEnd code(u32 lane, u32 budget, u32 entry_point), the lane being its ResidentLane in shared memory
  u64 start;  // of the window
  u32 words;  // of the window
  u32 entry;  // index of the entry pc's word among all decoded words
  u32 from, until;  // the range of its code, in words of the window
  u32 entry_point;  // which of its entries this is
  u32 most;  // instructions at a time, as some may be slow; or kNoLimit
  static constexpr u32 kNoLimit = ~u32{0};
};

// Samples of each word of the images, a number for each kind. Counts: the interpreter came there when it had run for
// kSamplePeriod instructions, a region was left to there, a region left the word to the fallback, or a slice ended
// there. kSource: the entry word of the region that was left to there most recently, plus one.
enum class SampleKind : u32 { kInterpreted, kRegionExit, kRegionFallback, kSliceEnd, kSource };
inline constexpr u32 kSampleCounts = 4, kSampleKinds = 5;
inline constexpr u32 kSamplePeriod = 64;

// The result of a region. budget - left instructions retired. With a trap the instruction at pc is not done; without
// one, and with the whole budget left, the budget was too small to enter the region.
struct RegionEnd {
  Trap trap;
  u32 left;
};

}  // namespace kvrm::interpreter
