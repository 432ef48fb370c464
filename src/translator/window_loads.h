// What LLVM cannot see of loads through the window (translator/freestanding/window_links.h).
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/PatternMatch.h>

#include "base/types.h"

namespace kvrm::translator {

// Loads of fewer bytes than a register has leave zeros above, so nothing has to clear them.
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

}  // namespace kvrm::translator
