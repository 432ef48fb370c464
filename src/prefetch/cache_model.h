// A cache as a model has it: sets of lines, the least recently used one leaves.
#pragma once

#include <algorithm>
#include <vector>

#include "prefetch/freestanding/policy.h"

namespace kvrm::prefetch {

class CacheModel {
 public:
  struct Line {
    u64 line = ~u64{0};
    u64 ready = 0;  // when it has arrived, in cycles
    bool unused = false;  // it was prefetched, and nothing needed it yet
  };

  CacheModel(u64 bytes, u32 ways) : ways_(ways), sets_(bytes / kLineBytes / ways), lines_(sets_ * ways) {}

  // The line, now the most recently used; null: it is not there.
  Line* find(u64 line) {
    Line* const set = set_of(line);
    for (u32 i = 0; i < ways_; ++i) {
      if (set[i].line != line) continue;
      std::rotate(set, set + i, set + i + 1);
      return set;
    }
    return nullptr;
  }
  // Brings in a line that is not there.
  void insert(u64 line, u64 ready, bool unused) {
    Line* const set = set_of(line);
    std::move_backward(set, set + ways_ - 1, set + ways_);
    set[0] = {line, ready, unused};
  }
  // What was prefetched so far counts as loaded.
  void forget_unused() {
    for (Line& line : lines_) line.unused = false;
  }

 private:
  Line* set_of(u64 line) { return &lines_[line % sets_ * ways_]; }

  u32 ways_;
  u64 sets_;
  std::vector<Line> lines_;
};

}  // namespace kvrm::prefetch
