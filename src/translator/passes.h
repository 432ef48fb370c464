// The optimisation of a stitched region.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/Target/TargetMachine.h>

namespace kvrm::translator {

// `private_memory`: look-ups of pages are those of memory::Paged, and may be shared.
void optimise(llvm::Function& function, llvm::TargetMachine& target, bool private_memory = true);

}  // namespace kvrm::translator
