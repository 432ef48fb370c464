// The optimisation of a stitched region.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/Target/TargetMachine.h>

namespace kvrm::translator {

void optimise(llvm::Function& function, llvm::TargetMachine& target);

}  // namespace kvrm::translator
