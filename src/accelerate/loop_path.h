// The paths through an iteration's IR that lead back to the loop's head, as expressions.
#pragma once

#include <llvm/IR/Function.h>

#include <optional>
#include <string>

#include "accelerate/iteration.h"
#include "base/cpu.h"

namespace kvrm::accelerate {

// Where the function leaves, beside the state: how many words the iteration had.
inline constexpr u64 kLengthAt = (sizeof(Cpu) + 7) / 8 * 8;

// The function returns where control goes. None, and why, if no path leads to `head`, or if one has operations that are
// no nodes. Sets `words` where all iterations have as many.
std::optional<Iteration> path_to(llvm::Function& function, u64 head, std::string& refusal);

}  // namespace kvrm::accelerate
