// From a plan to an LLVM function: inlines the rows' functions with constant operands and keeps the state in SSA
// values. The same for every target; a Frame says how a region is entered and left.
#pragma once

#include <llvm/IR/Function.h>

#include <memory>
#include <string>

#include "translator/frame.h"
#include "translator/library.h"
#include "translator/plan.h"

namespace kvrm::translator {

// The region as a function in the library's module, not yet optimized. Null if a row cannot be inlined or its state
// cannot be kept in values.
llvm::Function* stitch(Library& library, Frame& frame, const Plan& plan, const std::string& name);

// After SROA has put the state into values: removes stores of values that the state already holds.
void drop_unchanged(llvm::Function& function);

// Moves a finished function into a new module, with declarations or copies of what it refers to.
std::unique_ptr<llvm::Module> extract(Library& library, llvm::Function* function);

}  // namespace kvrm::translator
