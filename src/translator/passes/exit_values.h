// Values that only exits need.
#pragma once

#include <llvm/IR/Function.h>

namespace kvrm::translator {

bool is_exit(const llvm::BasicBlock& block);

// Whether it may be computed again elsewhere.
bool is_pure(const llvm::Instruction& instruction);

// Moves the computation of flags that only exits need into each of these: its operands are guest registers, which exits
// hold anyway.
void compute_in_exits(llvm::Function& function);

}  // namespace kvrm::translator
