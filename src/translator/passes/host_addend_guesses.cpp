#include "translator/passes/host_addend_guesses.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/Support/xxhash.h>

#include <cstddef>

#include "translator/likely.h"
#include "translator/passes/tlb_lookups.h"

namespace kvrm::translator {

using llvm::BasicBlock;
using llvm::Value;
using memory::Tlb;
using memory::TlbEntry;

CriticalLoads::CriticalLoads(llvm::Function& function, const llvm::DominatorTree& tree) {
  const llvm::LoopInfo loops(tree);
  // Walks back from conditions to what they depend on. The compare of a lookup is one too, so addresses are included.
  // Floating point is not: tests of its values (NaN, tiny) are mostly predicted.
  std::vector<const Value*> waiting;
  std::unordered_set<const Value*> seen;
  for (BasicBlock& block : function) {
    const auto* branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
    if (branch && branch->isConditional() && loops.getLoopFor(&block)) waiting.push_back(branch->getCondition());
  }
  while (!waiting.empty()) {
    const auto* value = llvm::dyn_cast<llvm::Instruction>(waiting.back());
    waiting.pop_back();
    if (!value || value->getType()->isFPOrFPVectorTy() || !seen.insert(value).second) continue;
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(value)) {
      const bool is_guest = llvm::isa<llvm::IntToPtrInst>(load->getPointerOperand()->stripInBoundsOffsets());
      if (is_guest && loops.getLoopFor(load->getParent())) blocks_.insert(load->getParent());
    } else {
      for (const llvm::Use& operand : value->operands()) waiting.push_back(operand.get());
    }
  }
}

void guess_host_addends(llvm::Function& function, const std::vector<BasicBlock*>& blocks) {
  llvm::IRBuilder<> builder(function.getContext());
  llvm::MDNode* const mostly = likely(function.getContext());
  // Each access has its own guess, as far as there are enough.
  u64 number = llvm::xxh3_64bits(function.getName());
  for (BasicBlock* block : blocks) {
    const auto lookup = lookup_in(*block);
    if (!lookup) continue;
    BasicBlock* check = BasicBlock::Create(function.getContext(), "check", &function, lookup->hit);
    BasicBlock* other = BasicBlock::Create(function.getContext(), "other", &function);
    block->getTerminator()->replaceSuccessorWith(lookup->hit, check);
    builder.SetInsertPoint(check);
    const u64 word = offsetof(Tlb, guesses) + number++ % Tlb::kGuesses * sizeof(u64);
    Value* slot = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), lookup->cache, word);
    Value* guess = builder.CreateLoad(builder.getInt64Ty(), slot);
    const auto addend = [&] {
      return load_entry_word(builder, lookup->cache, lookup->index, offsetof(TlbEntry, host_addend));
    };
    builder.CreateCondBr(builder.CreateICmpEQ(addend(), guess), lookup->hit, other, mostly);
    builder.SetInsertPoint(other);
    Value* found = addend();  // loaded again, so that nothing else waits for it
    builder.CreateStore(found, slot);
    builder.CreateBr(lookup->hit);
    builder.SetInsertPoint(lookup->hit, lookup->hit->begin());
    llvm::PHINode* either = builder.CreatePHI(builder.getInt64Ty(), 2);
    either->addIncoming(guess, check);
    either->addIncoming(found, other);
    lookup->addend->replaceAllUsesWith(either);
    lookup->addend->eraseFromParent();
  }
}

}  // namespace kvrm::translator
