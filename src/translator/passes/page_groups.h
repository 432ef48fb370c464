// Accesses through one register at fixed offsets share one TLB lookup.
#pragma once

#include <llvm/IR/Function.h>

namespace kvrm::translator {

void share_lookups(llvm::Function& function);

}  // namespace kvrm::translator
