// Where a loop asks for budget, and asks something else at its end.
#pragma once

#include <llvm/IR/Function.h>

namespace kvrm::translator {

// A block that does nothing but to leave the region, if there is not enough budget for an iteration.
bool is_budget_check(const llvm::BasicBlock& header);

// Each of the tests is a block that branches to a budget check, or elsewhere if something else is wrong. Those at the
// end of a loop also make the check, so that one branch leads from one iteration to the next.
void join_budget_checks(llvm::Function& function, llvm::ArrayRef<llvm::BasicBlock*> tests);

}  // namespace kvrm::translator
