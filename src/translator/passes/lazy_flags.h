// Flags that only exits of a region need are computed there, not where the guest sets them.
#pragma once

#include <llvm/IR/Function.h>

namespace kvrm::translator {

// `cpu` is the lane's state: until an exit writes it, it holds the values of the entry.
void make_flags_at_exits(llvm::Function& function, const llvm::Value& cpu);

}  // namespace kvrm::translator
