// The parts of Cpu that a region holds in SSA values, each loaded and stored as one.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Type.h>

#include <functional>
#include <vector>

#include "base/types.h"

namespace kvrm::translator {

struct Slot {
  u64 offset;
  u64 size;
  bool read = false;
  bool written = false;
};

class Slots {
 public:
  // Finds what the users of a local state access. Rare parts stay in memory: their users get the real state, whose
  // parts `home` finds. False if a use is no plain access at a constant offset. default_fp_mode: FPCR is zero, and
  // inexact is sticky.
  bool scan(llvm::AllocaInst& state, const std::function<llvm::Value*(llvm::IRBuilder<>&, u64 offset)>& home,
            bool default_fp_mode);

  const std::vector<Slot>& touched() const { return touched_; }
  static llvm::Type* type_of(const Slot& slot, llvm::LLVMContext& context);

 private:
  bool visit(llvm::Value& pointer, u64 offset);
  void assume_default_fp_mode();
  static bool stays_in_memory(u64 offset);
  void touch(u64 offset, u64 size, bool written);

  std::vector<Slot> touched_;
  std::vector<std::pair<llvm::GetElementPtrInst*, u64>> in_memory_;
  std::vector<llvm::LoadInst*> fpsr_loads_;
};

}  // namespace kvrm::translator
