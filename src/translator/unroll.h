// Short loops of a plan, several rounds of them one after the other.
#pragma once

#include "translator/plan.h"

namespace kvrm::translator {

// Repeats loops of at most so many words, that hold no other loop. A round is one as before; only the budget is looked
// at less often, and branches back are fewer.
struct UnrollLimits {
  u32 loop_words = 24;
  u32 words = 96;  // of all rounds together
  u32 rounds = 8;
};
void unroll_loops(Plan& plan, const UnrollLimits& limits);

}  // namespace kvrm::translator
