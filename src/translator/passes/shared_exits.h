// One epilogue for all exits of a region.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

namespace kvrm::translator {

// An exit stores what the region has changed of a lane's state and ends with a call of this function.
inline constexpr const char* kLeave = "kvrm_leave";

// Those calls.
llvm::SmallVector<llvm::CallInst*> ends_of(llvm::Function& function);

// In large regions of a GPU the exits are most of the code, between the code that runs all the time. Afterwards they
// pass their values to one epilogue, which stores them.
void share_exits(llvm::Function& function);

}  // namespace kvrm::translator
