// Calls of functions that regions seldom call.
#pragma once

#include <llvm/IR/Function.h>

namespace kvrm::translator {

// The slow ways of floating point keep registers (host/kept_calls.h), so nothing on the fast way has to be in memory.
void keep_registers_at_calls(llvm::Function& function);

}  // namespace kvrm::translator
