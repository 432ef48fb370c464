// The parts of Cpu that a region holds in values, each loaded and stored as one.
#pragma once

#include <llvm/IR/Instructions.h>
#include <llvm/IR/Type.h>

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
  // Finds what the users of a local state touch. What is rarely used is not worth a value: its users get the real
  // state. False if something is done with the state that is no plain access at a known place.
  // usual_float: FPCR is known to be zero, and inexact to be sticky.
  bool scan(llvm::AllocaInst& state, llvm::Value& cpu, bool usual_float);

  const std::vector<Slot>& touched() const { return touched_; }
  static llvm::Type* type_of(const Slot& slot, llvm::LLVMContext& context);

 private:
  bool visit(llvm::Value& pointer, u64 offset);
  void assume_usual_float();
  static bool stays_in_memory(u64 offset);
  void touch(u64 offset, u64 size, bool written);

  std::vector<Slot> touched_;
  std::vector<std::pair<llvm::GetElementPtrInst*, u64>> in_memory_;
  std::vector<llvm::LoadInst*> fpsr_loads_;
};

}  // namespace kvrm::translator
