// The innermost loops in the code of an image: branches back to an earlier word of their routine.
#pragma once

#include <vector>

#include "symbols/image.h"

namespace kvrm::symbols {

struct StaticLoop {
  u32 routine = 0;
  u64 address = 0;  // in an object file: of no meaning
  std::vector<u32> words;
};

// Loops of at most so many words that have no other branch back inside.
std::vector<StaticLoop> innermost_loops(const Image& image, u64 most_words);

}  // namespace kvrm::symbols
