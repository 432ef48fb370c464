// The optimization of a stitched region.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/Target/TargetMachine.h>

namespace kvrm::translator {

// `private_memory`: TLB lookups are those of memory::Paged and may be shared.
void optimize(llvm::Function& function, llvm::TargetMachine& target, bool private_memory = true);

}  // namespace kvrm::translator
