// Conditions that a region asks for.
#pragma once

#include <llvm/IR/Function.h>

namespace kvrm::translator {

// The architecture asks about flags: "less than" is "N differs from V", "higher" is "C and not Z". Where they come from
// one subtraction, that is a question about its operands, one instruction on every machine, and mostly nobody but the
// ways out needs the flags then.
void compare_operands(llvm::Function& function);

}  // namespace kvrm::translator
