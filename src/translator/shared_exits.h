// One end for all ways out of a region.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

namespace kvrm::translator {

// A way out stores what the region has changed of a lane's state and ends with a call of this function.
inline constexpr const char* kLeave = "kvrm_leave";

// Those calls.
llvm::SmallVector<llvm::CallInst*> ends_of(llvm::Function& function);

// In large regions of a GPU the ways out are most of the code, and they lie between what runs all the time. Afterwards
// they bring their values to one end, which stores them.
void share_exits(llvm::Function& function);

}  // namespace kvrm::translator
