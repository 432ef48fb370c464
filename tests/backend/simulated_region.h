// A region on simulated warps: translated code, or words that are run one by one, with a region's memory and by a
// region's rules (interpreter/freestanding/lane_region.h). Plain data.
#pragma once

#include <vector>

#include "base/types.h"

namespace kvrm::backend::test {

struct SimulatedRegion {
  u64 entry_pc;            // guest address of the first word
  std::vector<u32> words;  // those that follow each other from there
  u64 code = 0;            // as LaneRegionCompiler gives it; 0: the words are run
  u64 from = ~u64{0}, until = 0;  // where the code lies, if it is given
  u32 entry_point = 0;                 // which of its entries this is
  // By all lanes.
  mutable u64 retired = 0;      // instructions
  mutable u64 calls = 0;
  mutable u64 ends[64] = {};    // calls that ended with each trap
  mutable u64 unbegun = 0;      // calls that retired nothing and had no trap
};

}  // namespace kvrm::backend::test
