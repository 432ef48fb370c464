// Flags that only ways out of a region need are made there, not where the guest sets them.
#pragma once

#include <llvm/IR/Function.h>

namespace kvrm::translator {

// `cpu` is the lane's state: until a way out writes it, it holds what it held at the entry.
void make_flags_at_exits(llvm::Function& function, const llvm::Value& cpu);

}  // namespace kvrm::translator
