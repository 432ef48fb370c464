// Accesses of a region on a GPU are checked without a branch each.
#pragma once

#include <llvm/IR/Function.h>

namespace kvrm::translator {

// For regions in which every access calls kvrm_l1_page (lane_links.h) and leaves on a miss, before these calls are
// inlined.
void make_segments(llvm::Function& function);

}  // namespace kvrm::translator
