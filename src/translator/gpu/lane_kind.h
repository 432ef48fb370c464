// The lanes of a GPU that a region is for.
#pragma once

namespace kvrm::translator {

struct LaneKind {
  bool alone = false;          // each has a warp to itself
  bool shares_memory = false;  // all have one memory, so accesses are atomic
  unsigned window_shift =
      0;   // each has a window of 1 << window_shift bytes (memory/freestanding/lane_memory.h); 0: none
  auto operator<=>(const LaneKind&) const = default;
};

}  // namespace kvrm::translator
