#include "translator/page_guesses.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/Support/xxhash.h>

#include <cstddef>

#include "translator/likely.h"
#include "translator/look_ups.h"

namespace kvrm::translator {

using llvm::BasicBlock;
using llvm::Value;
using memory::Translation;
using memory::TranslationCache;

CriticalLoads::CriticalLoads(llvm::Function& function, const llvm::DominatorTree& tree) {
  const llvm::LoopInfo loops(tree);
  // From conditions back to what they are made of. The compare of a look-up is one too, so addresses are among them.
  // Floating point is not: what is asked about its values (is it a NaN, is it tiny) is mostly foreseen.
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

void guess_distances(llvm::Function& function, const std::vector<BasicBlock*>& blocks) {
  llvm::IRBuilder<> builder(function.getContext());
  llvm::MDNode* const mostly = likely(function.getContext());
  // Each access has a word of its own, so far as there are enough.
  u64 number = llvm::xxh3_64bits(function.getName());
  for (BasicBlock* block : blocks) {
    const auto look_up = look_up_in(*block);
    if (!look_up) continue;
    BasicBlock* check = BasicBlock::Create(function.getContext(), "check", &function, look_up->hit);
    BasicBlock* other = BasicBlock::Create(function.getContext(), "other", &function);
    block->getTerminator()->replaceSuccessorWith(look_up->hit, check);
    builder.SetInsertPoint(check);
    const u64 word = offsetof(TranslationCache, guesses) + number++ % TranslationCache::kGuesses * sizeof(u64);
    Value* place = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), look_up->cache, word);
    Value* guess = builder.CreateLoad(builder.getInt64Ty(), place);
    const auto distance = [&] {
      return load_entry_word(builder, look_up->cache, look_up->index, offsetof(Translation, distance));
    };
    builder.CreateCondBr(builder.CreateICmpEQ(distance(), guess), look_up->hit, other, mostly);
    builder.SetInsertPoint(other);
    Value* found = distance();  // loaded again: nothing else has to wait for it
    builder.CreateStore(found, place);
    builder.CreateBr(look_up->hit);
    builder.SetInsertPoint(look_up->hit, look_up->hit->begin());
    llvm::PHINode* either = builder.CreatePHI(builder.getInt64Ty(), 2);
    either->addIncoming(guess, check);
    either->addIncoming(found, other);
    look_up->distance->replaceAllUsesWith(either);
    look_up->distance->eraseFromParent();
  }
}

}  // namespace kvrm::translator
