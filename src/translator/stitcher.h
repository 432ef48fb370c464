// From a plan to an LLVM function: the rows' functions with constant operands, inlined; the state in values. The text
// is the same for every target; a Frame says how a region is entered and left.
#pragma once

#include <llvm/IR/Function.h>

#include <memory>
#include <string>

#include "translator/frame.h"
#include "translator/library.h"
#include "translator/plan.h"

namespace kvrm::translator {

// The region as a function in the library's module, not yet optimised. Null if a row does not lend itself to it.
llvm::Function* stitch(Library& library, Frame& frame, const Plan& plan, const std::string& name);

// Behind the first passes, which put the state into values: stores of values that are in the state already go away.
void drop_unchanged(llvm::Function& function);

// Moves a finished function into a module of its own, with declarations or copies of what it refers to.
std::unique_ptr<llvm::Module> extract(Library& library, llvm::Function* function);

}  // namespace kvrm::translator
