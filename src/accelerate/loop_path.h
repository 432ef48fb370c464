// The one path through an iteration's IR that leads back to the loop's head, as expressions.
#pragma once

#include <llvm/IR/Function.h>

#include <optional>
#include <string>

#include "accelerate/iteration.h"

namespace kvrm::accelerate {

// The function returns where control goes. None, and why, if no path or several lead to `head`, or if the path has
// operations that are no nodes.
std::optional<Iteration> path_to(llvm::Function& function, u64 head, std::string& refusal);

}  // namespace kvrm::accelerate
