// Finds for each routine of a program the known routine that it most likely is.
#pragma once

#include <vector>

#include "symbols/image.h"
#include "symbols/index.h"

namespace kvrm::symbols {

inline constexpr u32 kNoEntry = ~u32{0};

struct Match {
  u32 entry = kNoEntry;
  float content = 0;  // cosine of the tokens alone
  float score = 0;  // with what the surroundings say
  float margin = 0;  // to the best routine of another name
  float trust = 0;  // while matches support each other, 0 to 1
  float confidence = 0;  // an estimate of the probability that the name is right
  bool exact = false;  // the same normalized words
};

std::vector<Match> match(const Index& index, const Image& image);

}  // namespace kvrm::symbols
