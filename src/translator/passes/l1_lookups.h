// Lookups in the L1 TLB, as regions of lone lanes that forget make them: before every access, with a branch.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

#include <optional>

#include "base/types.h"
#include "translator/passes/tlb_lookups.h"

namespace kvrm::translator {

// A block that calls kvrm_l1_page (lane_links.h) for an access and goes to `hit`, which uses the sum of page and
// address, or to `miss`.
struct L1Lookup {
  static constexpr u32 kPage = 0, kDiffers = 1;  // fields of the result

  llvm::CallInst* call;
  llvm::Value* differs;  // as it is compared
  llvm::Value* page;
  llvm::BasicBlock *hit, *miss;
  BaseOffset at;
  i64 size;
  u64 forbidden;

  llvm::BasicBlock* block() const { return call->getParent(); }
  llvm::Value* pages() const { return call->getArgOperand(0); }
  llvm::Value* address() const { return call->getArgOperand(1); }
  llvm::Value* window() const { return call->getArgOperand(4); }
  // Of an address, for its place in the window; 0: the region uses none.
  u64 window_mask() const { return llvm::cast<llvm::ConstantInt>(call->getArgOperand(5))->getZExtValue(); }
  i64 end() const { return at.offset + size; }
};

// Whether it calls kvrm_l1_page, and whether anything in the module may.
bool is_l1_lookup(const llvm::Instruction& instruction);
bool makes_l1_lookups(const llvm::Function& function);

// The lookup with which a block ends.
std::optional<L1Lookup> l1_lookup_in(llvm::BasicBlock& block);

// Afterwards there are only loads and compares.
void inline_l1_lookups(llvm::Function& function);

}  // namespace kvrm::translator
