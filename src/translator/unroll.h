// Unrolls short loops of a plan.
#pragma once

#include "translator/plan.h"

namespace kvrm::translator {

// Unrolls innermost loops of at most loop_words. Only the first copy's header checks the budget.
struct UnrollLimits {
  u32 loop_words = 24;
  u32 words = 96;  // of all copies together
  u32 copies = 8;
};
void unroll_loops(Plan& plan, const UnrollLimits& limits);

}  // namespace kvrm::translator
