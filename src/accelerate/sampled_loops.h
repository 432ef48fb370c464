// The proposer where lanes are sampled rather than traced: innermost loops around sampled words, from the code alone.
#pragma once

#include <span>
#include <vector>

#include "base/types.h"

namespace kvrm::accelerate {

struct SampledLoop {
  u32 head = 0, branch = 0;  // words
  u64 samples = 0;           // of its words
};

// Loops of up to 64 words in a page that hold sampled words and no other loop, the hottest first. `start` is where the
// code lies, `samples` has a number for each word.
std::vector<SampledLoop> sampled_loops(std::span<const u32> words, u64 start, std::span<const u64> samples);

}  // namespace kvrm::accelerate
