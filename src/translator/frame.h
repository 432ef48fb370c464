// The seam between the stitcher, which is the same for every target, and how a target's code is entered and left.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <string>

#include "base/types.h"
#include "translator/plan.h"

namespace kvrm::translator {

// Budgets are biased: each instruction that may still retire counts budget_per_instruction().
struct FrameStart {
  llvm::Function* function;
  llvm::Value* budget;  // of any integer type
  llvm::Value* entry_point = nullptr;  // 32 bits: which entry point of the plan the lane is at; null if there is one
};

class Frame {
 public:
  virtual ~Frame() = default;

  virtual u64 budget_per_instruction() const = 0;
  // The budget below which no iteration of a loop may start; `words` is what the region holds.
  virtual u64 least_budget(u32 words) const = 0;

  // Creates the function. Its entry block checks what must hold before the region may run.
  virtual FrameStart begin(llvm::Module& module, llvm::IRBuilder<>& builder, const std::string& name,
                           const Plan& plan) = 0;
  // What rows get beside the state: links_count() structs of this size, of which a word uses one.
  virtual u64 links_size() const = 0;
  virtual u32 links_count() const { return 1; }
  virtual u32 links_of(const PlanBlock& /*block*/, u32 /*index*/) { return 0; }
  virtual void fill_links(llvm::IRBuilder<>& builder, llvm::Value* links, u32 number) = 0;
  // Where a part of the state is while no region runs.
  virtual llvm::Value* home(llvm::IRBuilder<>& builder, u64 offset) = 0;

  // Exits. The state is complete but for pc; each ends its block.
  virtual void leave_to(llvm::IRBuilder<>& builder, u64 pc, llvm::Value* budget) = 0;
  virtual void leave_to_register(llvm::IRBuilder<>& builder, llvm::Value* pc, llvm::Value* budget) = 0;
  virtual void pause(llvm::IRBuilder<>& builder, u64 pc, llvm::Value* budget) = 0;
  virtual void trap(llvm::IRBuilder<>& builder, u64 pc, llvm::Value* budget, llvm::Value* trap) = 0;
};

}  // namespace kvrm::translator
