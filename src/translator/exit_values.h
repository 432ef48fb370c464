// Values that only ways out need.
#pragma once

#include <llvm/IR/Function.h>

namespace kvrm::translator {

bool is_exit(const llvm::BasicBlock& block);

// What may be computed again elsewhere.
bool is_pure(const llvm::Instruction& instruction);

// Computes them in each way out that needs them, instead of before: mostly flags, whose operands are guest registers
// that are at hand there anyway.
void compute_in_exits(llvm::Function& function);

}  // namespace kvrm::translator
