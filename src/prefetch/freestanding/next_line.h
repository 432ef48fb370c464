// Next line: the line that is so many lines after the load's. It keeps nothing. Freestanding.
#pragma once

#include "prefetch/freestanding/policy.h"

namespace kvrm::prefetch {

class NextLine {
 public:
  static constexpr u64 predict(const Load& load, u32 level) {
    return (line_of(load.address) + distance_of(level)) << kLineShift;
  }
};

}  // namespace kvrm::prefetch
