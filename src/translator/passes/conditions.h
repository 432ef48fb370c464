// Conditions of a region as compares of operands.
#pragma once

#include <llvm/IR/Function.h>

namespace kvrm::translator {

// The architecture's conditions test flags: "less than" is "N differs from V", "higher" is "C and not Z". If the flags
// come from one subtraction, the condition is one compare of its operands, and mostly only exits need the flags then.
void compare_operands(llvm::Function& function);

}  // namespace kvrm::translator
