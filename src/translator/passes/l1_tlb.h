// Accesses of a region on a GPU through one register at fixed offsets share one L1 TLB lookup.
#pragma once

#include <llvm/IR/Function.h>

namespace kvrm::translator {

// For regions in which every access calls kvrm_l1_page (lane_links.h).
void share_l1_lookups(llvm::Function& function);

}  // namespace kvrm::translator
