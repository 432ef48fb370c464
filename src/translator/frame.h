// The seam between the stitcher, which is the same for every target, and how a target's code is entered and left.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <string>

#include "base/types.h"
#include "translator/plan.h"

namespace kvrm::translator {

// Budgets are counted in credit: kCreditPerInstruction for each instruction that may still retire.
struct FrameStart {
  llvm::Function* function;
  llvm::Value* cpu;     // the lane's state, which nobody else touches while the region runs
  llvm::Value* budget;  // i64
};

class Frame {
 public:
  virtual ~Frame() = default;

  virtual u64 credit_per_instruction() const = 0;
  // The budget below which no round of the region may begin; `words` is what the region holds.
  virtual u64 least_budget(u32 words) const = 0;

  // The function, and at its entry whatever must hold before the region may run.
  virtual FrameStart begin(llvm::Module& module, llvm::IRBuilder<>& builder, const std::string& name,
                           const Plan& plan) = 0;
  virtual void fill_links(llvm::IRBuilder<>& builder, llvm::Value* links) = 0;

  // The ways out. The state is complete but for pc; each ends its block.
  virtual void leave_to(llvm::IRBuilder<>& builder, u64 pc, llvm::Value* budget) = 0;
  virtual void leave_to_register(llvm::IRBuilder<>& builder, llvm::Value* pc, llvm::Value* budget) = 0;
  virtual void pause(llvm::IRBuilder<>& builder, u64 pc, llvm::Value* budget) = 0;
  virtual void trap(llvm::IRBuilder<>& builder, u64 pc, llvm::Value* budget, llvm::Value* trap) = 0;
};

}  // namespace kvrm::translator
