// What makes floating point cheap: the results of hardware take the frequent way, all else is out of the way.
#pragma once

#include <llvm/IR/Function.h>

namespace kvrm::translator {

// The rows know numbers as bit patterns. Where the result of hardware meets that of a function (semantics/float.h),
// LLVM sees integers meet, and each result would go through a general register on its way to the next operation.
void keep_numbers_in_vector_registers(llvm::Function& function);

// The flags of a result are none where hardware serves: they are added to the state's where they are made.
void add_flags_where_made(llvm::Function& function);

// The same where flags are in memory: the frequent way neither adds nor stores.
void store_flags_where_made(llvm::Function& function);

// What only slow ways need of a number, its bits in a general register, is made there.
void convert_numbers_where_used(llvm::Function& function);

}  // namespace kvrm::translator
