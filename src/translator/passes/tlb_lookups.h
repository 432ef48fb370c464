// The addresses of a region's accesses, and the TLB lookups that the inline path of memory::Paged has become.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

#include <optional>

#include "memory/freestanding/paged.h"

namespace kvrm::translator {

// A value and a constant offset. Very large offsets are no offsets: guests choose them, and their sums must not
// overflow.
struct BaseOffset {
  llvm::Value* base;
  i64 offset;
};
BaseOffset base_offset_of(llvm::Value* address);

// `block` compares a tag and goes to `hit`, which reads the host addend, or to `miss`.
struct Lookup {
  llvm::BasicBlock* block;
  llvm::BasicBlock* hit;
  llvm::BasicBlock* miss;
  llvm::LoadInst* addend;
  llvm::Value* address;
  llvm::Value* cache;
  llvm::Value* index;  // of the entry, in bytes
  u64 tag_offset;
  llvm::Value* base;
  i64 first, last;  // bytes accessed, counted from the base
};

std::optional<Lookup> lookup_in(llvm::BasicBlock& block);

// The byte offset of an address's entry in the TLB, and a word of such an entry.
llvm::Value* entry_index(llvm::IRBuilder<>& builder, llvm::Value* address);
llvm::Value* load_entry_word(llvm::IRBuilder<>& builder, llvm::Value* cache, llvm::Value* index, u64 offset);

}  // namespace kvrm::translator
