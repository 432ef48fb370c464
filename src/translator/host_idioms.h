// What LLVM does not see by itself when it makes x86-64 code.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/PatternMatch.h>

#include "base/types.h"

namespace kvrm::translator {

// Loads through the window (translator/freestanding/window_links.h) of fewer bytes than a register has leave zeros
// above, so nothing has to clear them.
inline void drop_load_masks(llvm::Function& function) {
  using namespace llvm::PatternMatch;
  for (llvm::BasicBlock& block : function) {
    auto* const access = llvm::dyn_cast<llvm::CallBrInst>(block.getTerminator());
    const auto* assembly = access ? llvm::dyn_cast<llvm::InlineAsm>(access->getCalledOperand()) : nullptr;
    if (!assembly || !access->getType()->isIntegerTy(64)) continue;
    const llvm::StringRef text = assembly->getAsmString();
    const u64 loaded = text.starts_with("1: movzbl ")   ? 0xff
                       : text.starts_with("1: movzwl ") ? 0xffff
                       : text.starts_with("1: movl ")   ? 0xffffffff
                                                        : ~u64{0};
    for (llvm::User* const user : llvm::make_early_inc_range(access->users())) {
      const llvm::APInt* mask = nullptr;
      if (match(user, m_And(m_Specific(access), m_APInt(mask))) && (~mask->getZExtValue() & loaded) == 0)
        user->replaceAllUsesWith(access);
    }
  }
}

// Gives an instruction a copy of the address it uses, if that is computed in another block.
inline llvm::GetElementPtrInst* compute_address_before(llvm::Instruction& user, unsigned operand) {
  auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(user.getOperand(operand));
  if (!address || address->getParent() == user.getParent()) return address;
  llvm::Instruction* copy = address->clone();
  copy->insertBefore(&user);
  user.setOperand(operand, copy);
  return llvm::cast<llvm::GetElementPtrInst>(copy);
}

// A TLB lookup reads two words of an entry, in two blocks; accesses to a window share addresses. Within a block the
// address folds into the load; across blocks it would take a register.
inline void compute_addresses_where_used(llvm::Function& function) {
  const auto bring = [](llvm::Instruction* user, unsigned operand) {
    while (true) {
      const auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(user->getOperand(operand));
      if (!address || (address->hasAllConstantIndices() && llvm::isa<llvm::Argument>(address->getPointerOperand())))
        return;
      user = compute_address_before(*user, operand);
      operand = 0;
    }
  };
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (llvm::isa<llvm::LoadInst>(instruction)) bring(&instruction, 0);
    if (auto* access = llvm::dyn_cast<llvm::CallBrInst>(&instruction)) {
      for (unsigned i = 0; i < access->arg_size(); ++i) bring(access, i);
    }
  }
}

// The back end makes a shift of "less than zero" in a byte, but an instruction that stores the processor's sign flag of
// the same stored as one bit.
inline void store_signs_as_bits(llvm::Function& function) {
  using namespace llvm::PatternMatch;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      auto* const store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
      llvm::Value* number = nullptr;
      llvm::Value* count = nullptr;
      if (!store || !store->getValueOperand()->getType()->isIntegerTy(8)) continue;
      if (!match(store->getValueOperand(), m_Trunc(m_LShr(m_Value(number), m_Value(count))))) continue;
      if (!match(count, m_SpecificInt(number->getType()->getScalarSizeInBits() - 1))) continue;
      llvm::IRBuilder<> builder(store);
      store->setOperand(0, builder.CreateICmpSLT(number, llvm::Constant::getNullValue(number->getType())));
    }
  }
}

}  // namespace kvrm::translator
