#include "translator/passes/kept_calls.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <string>
#include <vector>

#include "base/types.h"

namespace kvrm::translator {
namespace {

constexpr u32 kArgumentRegisters = 6;

bool is_word(const llvm::Type* type) { return type->isIntegerTy() && type->getIntegerBitWidth() <= 64; }

// How many registers the result takes; 0: it is not one of these functions.
u32 result_registers(const llvm::CallInst& call) {
  const llvm::Function* const called = call.getCalledFunction();
  if (!called || !called->getName().contains("semantics") || !called->getName().contains("float_")) return 0;
  if (called->isVarArg() || called->arg_size() > kArgumentRegisters) return 0;
  if (!llvm::all_of(called->args(), [](const llvm::Argument& one) { return is_word(one.getType()); })) return 0;
  const llvm::Type* const result = called->getReturnType();
  if (is_word(result)) return 1;
  const auto* const both = llvm::dyn_cast<llvm::StructType>(result);
  return both && both->getNumElements() == 2 && llvm::all_of(both->elements(), is_word) ? 2 : 0;
}

void keep_registers(llvm::CallInst& call, const char* prefix) {
  llvm::Function& called = *call.getCalledFunction();
  llvm::Module& module = *call.getModule();
  const std::string name = prefix + called.getName().str();
  llvm::Function* kept = module.getFunction(name);
  if (!kept) {
    kept = llvm::Function::Create(called.getFunctionType(), llvm::GlobalValue::ExternalLinkage, name, module);
    kept->copyAttributesFrom(&called);
    kept->setCallingConv(llvm::CallingConv::PreserveAll);
  }
  call.setCalledFunction(kept);
  call.setCallingConv(llvm::CallingConv::PreserveAll);
}

bool has_wide_vectors(const llvm::Function& function) {
  return llvm::any_of(llvm::instructions(function), [](const llvm::Instruction& instruction) {
    return instruction.getType()->isVectorTy() && instruction.getType()->getPrimitiveSizeInBits() > 128;
  });
}

}  // namespace

void keep_registers_at_calls(llvm::Function& function) {
  if (has_wide_vectors(function)) return;
  std::vector<llvm::CallInst*> calls;
  for (llvm::Instruction& instruction : llvm::instructions(function))
    if (auto* const call = llvm::dyn_cast<llvm::CallInst>(&instruction)) calls.push_back(call);
  for (llvm::CallInst* const call : calls) {
    const u32 registers = result_registers(*call);
    if (registers != 0) keep_registers(*call, registers == 1 ? "kvrm_keeps_" : "kvrm_keeps_but_rdx_");
  }
}

}  // namespace kvrm::translator
