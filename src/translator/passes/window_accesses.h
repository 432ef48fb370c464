// What makes accesses to windows cheap (translator/freestanding/window_links.h).
#pragma once

#include <llvm/IR/Function.h>

namespace kvrm::translator {

// Whether it is for a lane with a window.
bool accesses_window(const llvm::Function& function);

// Asks whether the base of an address is outside the window instead of the address: guard space covers the offset. Then
// the questions of all accesses through one base are equal, and merge.
void check_window_bases(llvm::Function& function);
// Replaces these questions by compares.
void lower_window_checks(llvm::Function& function);

// Accesses a value that only vector registers use there. The rows do not say which registers they use.
void access_in_vector_registers(llvm::Function& function);

// Loads, and the store after them, leave to one exit with the state before the first of them. The interpreter then runs
// all of them again: a load changes nothing, and a store that faults has not happened.
void share_landings(llvm::Function& function);

}  // namespace kvrm::translator
