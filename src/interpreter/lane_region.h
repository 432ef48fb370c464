// Translated code that the loop for very many lanes comes upon. Freestanding.
#pragma once

#include "base/cpu.h"

namespace kvrm::interpreter {

// A region takes the place of the word at its head: that word's entry has the handler kHandleRegion and the region's
// number. It may run only in the window it was made for, all of whose code it knows.
struct LaneRegion {
  u64 code;     // RegionEnd code(u32 lane, u32 budget, u32 way_in), the lane being its ResidentLane in shared memory
  u64 start;    // of the window
  u32 words;    // of the window
  u32 entry;    // of the head, among all decoded words
  u32 from, until;  // its code lies there, in words of the window
  u32 way_in;   // which of its heads this is
  u32 most;     // instructions at a time, as some may take long; or kNoLimit
  static constexpr u32 kNoLimit = ~u32{0};
};

// What is counted of each word of the images, part by part: lanes found there at the end of a turn, lanes that went on
// there when they had left a region, and lanes that left one because it could not do the word's access.
enum class Noted : u32 { kFound, kLeft, kMissed };
inline constexpr u32 kNotedParts = 3;

// Why it was left. What the budget has lost has retired. With a trap the instruction at pc is not done; without one,
// and with the whole budget left, the region did not begin.
struct RegionEnd {
  Trap trap;
  u32 left;
};

}  // namespace kvrm::interpreter
