// The lanes of a GPU that a region is for.
#pragma once

namespace kvrm::translator {

struct LaneKind {
  bool alone = false;   // each has its warp for itself
  bool common = false;  // all have one memory, so that accesses are atomic
  auto operator<=>(const LaneKind&) const = default;
};

}  // namespace kvrm::translator
