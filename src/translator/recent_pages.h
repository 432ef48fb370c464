// Accesses of a region on a GPU through one register at fixed offsets share one look at the recent pages.
#pragma once

#include <llvm/IR/Function.h>

namespace kvrm::translator {

// For regions in which every access asks kvrm_recent_page (lane_links.h). None does afterwards: what is left of it is
// in place.
void share_recent_pages(llvm::Function& function);

}  // namespace kvrm::translator
