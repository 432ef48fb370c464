// Accesses through one register at fixed offsets share one look-up of the page.
#pragma once

#include <llvm/IR/Function.h>

namespace kvrm::translator {

void share_look_ups(llvm::Function& function);

}  // namespace kvrm::translator
