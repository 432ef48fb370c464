// The values of a function's IR as nodes: arithmetic on numbers and small vectors. What reaches memory or the state is
// the derived class's.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <map>
#include <span>
#include <string>
#include <vector>

#include "accelerate/node_builder.h"

namespace kvrm::accelerate {

// A value: its elements, or one. Those of 128 bits are two of 64.
struct Parts {
  std::vector<u16> nodes;
  u32 width = 64;  // of each
};

class LoopValues {
 public:
  const std::string& refusal() const { return refusal_; }

 protected:
  LoopValues() : build_(iteration_.nodes) {}
  LoopValues(const LoopValues&) = delete;
  LoopValues& operator=(const LoopValues&) = delete;
  virtual ~LoopValues() = default;
  virtual Parts load(llvm::LoadInst& load) = 0;
  virtual Parts call(llvm::CallInst& call) = 0;

  Parts fail(const std::string& why) {
    if (refusal_.empty()) refusal_ = why;
    return {{build_.constant(0, 64)}, 64};
  }
  static u32 element_bits(llvm::Type* type) {
    return static_cast<u32>(type->getScalarType()->getPrimitiveSizeInBits().getFixedValue());
  }
  static u32 element_count(llvm::Type* type) {
    auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    return vector ? vector->getNumElements() : 1;
  }
  static bool is_plain(llvm::Type* type) {
    return (type->isIntOrIntVectorTy() || type->isFPOrFPVectorTy()) && !llvm::isa<llvm::ScalableVectorType>(type);
  }
  Parts parts_of(llvm::Value* value);
  u16 node_of(llvm::Value* value);
  Parts compute(llvm::Instruction& instruction);
  Parts cast_bits(const Parts& parts, llvm::Type* type);

  Iteration iteration_;
  NodeBuilder build_;  // of its nodes
  std::map<llvm::Value*, Parts> values_;

 private:
  Parts constant_parts(llvm::Constant* constant);
  Parts element_wise(llvm::Instruction& instruction);
  u16 scalar(llvm::Instruction& instruction, std::span<const u16> operands);
  Parts shuffle(llvm::ShuffleVectorInst& shuffle);
  Parts wide(llvm::Instruction& instruction);
  Parts intrinsic(llvm::IntrinsicInst& call);
  Parts overflow(llvm::ExtractValueInst& part);

  std::string refusal_;
};

}  // namespace kvrm::accelerate
