// Branch weights for LLVM.
#pragma once

#include <llvm/IR/MDBuilder.h>

namespace kvrm::translator {

// The condition mostly holds, or hardly ever.
inline llvm::MDNode* likely(llvm::LLVMContext& context) {
  return llvm::MDBuilder(context).createBranchWeights(2000, 1);
}
inline llvm::MDNode* unlikely(llvm::LLVMContext& context) {
  return llvm::MDBuilder(context).createBranchWeights(1, 2000);
}

}  // namespace kvrm::translator
