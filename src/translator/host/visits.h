// How long lanes stay in regions, from traces. Entering and leaving a region costs what some instructions save: the
// registers it uses are loaded, those it changes are stored, and an exit finds its way. Where visits are shorter than
// that, the quick tier's code is faster.
#pragma once

#include <unordered_map>
#include <vector>

#include "base/types.h"

namespace kvrm::translator {

class Visits {
 public:
  // Instructions of a visit that pays for itself. Measured (docs/internals/experiments.md): flat programs are slower
  // with 8 and with 26.
  static constexpr u64 kWorthwhile = 16;

  // By entry pc: a lane enters the region; it does an instruction there.
  void enter(u64 region) {
    if (of_.size() >= kMostKnown) of_.clear();
    ++of_[region].visits;
    entered_.push_back(region);
  }
  void step(u64 region) {
    if (of_.size() >= kMostKnown) of_.clear();
    ++of_[region].steps;
  }

  // Regions entered since the last call whose visits are known to be short. A visit that a trace saw in part counts by
  // that part: steps by visits is the mean length all the same.
  std::vector<u64> take_short() {
    std::vector<u64> found;
    for (const u64 region : entered_) {
      const auto at = of_.find(region);
      if (at == of_.end() || at->second.visits < kEnough) continue;
      if (at->second.steps >= kWorthwhile * at->second.visits) continue;
      found.push_back(region);
      of_.erase(at);
    }
    entered_.clear();
    return found;
  }

 private:
  static constexpr u64 kEnough = 16;  // visits to judge by
  static constexpr std::size_t kMostKnown = std::size_t{1} << 14;
  struct Seen {
    u64 visits = 0, steps = 0;
  };
  std::unordered_map<u64, Seen> of_;
  std::vector<u64> entered_;
};

}  // namespace kvrm::translator
