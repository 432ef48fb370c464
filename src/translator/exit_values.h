// Values that only ways out need.
#pragma once

#include <llvm/IR/Function.h>

namespace kvrm::translator {

bool is_exit(const llvm::BasicBlock& block);

// What may be computed again elsewhere.
bool is_pure(const llvm::Instruction& instruction);

// Computes flags that only ways out need in each of those, instead of before: their operands are guest registers, which
// are at hand there anyway.
void compute_in_exits(llvm::Function& function);

}  // namespace kvrm::translator
