// Places that accesses of a region are for, and what the inline path of memory::Paged has become there.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

#include <optional>

#include "memory/paged.h"

namespace kvrm::translator {

// A value and a constant distance, which is none where it is very large: guests choose what is added to a register, and
// sums of distances must stay numbers.
struct Place {
  llvm::Value* base;
  i64 offset;
};
Place place_of(llvm::Value* address);

// `block` compares a tag and goes to `hit`, which reads the distance, or to `miss`.
struct LookUp {
  llvm::BasicBlock* block;
  llvm::BasicBlock* hit;
  llvm::BasicBlock* miss;
  llvm::LoadInst* distance;
  llvm::Value* address;
  llvm::Value* cache;
  llvm::Value* index;  // of the entry, in bytes
  u64 tag_offset;
  llvm::Value* base;
  i64 first, last;  // bytes accessed, counted from the base
};

std::optional<LookUp> look_up_in(llvm::BasicBlock& block);

// The index of an address's entry in the cache, in bytes, and a word of such an entry.
llvm::Value* entry_index(llvm::IRBuilder<>& builder, llvm::Value* address);
llvm::Value* load_entry_word(llvm::IRBuilder<>& builder, llvm::Value* cache, llvm::Value* index, u64 offset);

}  // namespace kvrm::translator
