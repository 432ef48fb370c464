// Branches on compares of numbers.
#pragma once

#include <llvm/IR/Function.h>

namespace kvrm::translator {

// After a compare of numbers the flags of hardware meet those of the slow function, and the branch asks the flags. Each
// of the two answers the branch by itself instead: hardware's is one compare.
void decide_where_compared(llvm::Function& function);

}  // namespace kvrm::translator
