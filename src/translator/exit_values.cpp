#include "translator/exit_values.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/IntrinsicInst.h>

namespace kvrm::translator {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;

// The ways out that use it, none if anybody else does.
llvm::SmallVector<BasicBlock*> exits_of(const Instruction& instruction) {
  llvm::SmallSetVector<BasicBlock*, 8> exits;
  for (const llvm::User* user : instruction.users()) {
    const auto* other = llvm::cast<Instruction>(user);
    if (llvm::isa<llvm::PHINode>(other) || !is_exit(*other->getParent())) return {};
    exits.insert(const_cast<BasicBlock*>(other->getParent()));
  }
  return {exits.begin(), exits.end()};
}

void move_into(Instruction& instruction, llvm::ArrayRef<BasicBlock*> exits) {
  for (BasicBlock* exit : exits) {
    Instruction* copy = instruction.clone();
    copy->insertInto(exit, exit->getFirstInsertionPt());
    instruction.replaceUsesWithIf(
        copy, [&](const llvm::Use& use) { return llvm::cast<Instruction>(use.getUser())->getParent() == exit; });
  }
  instruction.eraseFromParent();
}

}  // namespace

bool is_exit(const BasicBlock& block) { return llvm::succ_empty(&block); }

bool is_pure(const Instruction& instruction) {
  return llvm::isa<llvm::BinaryOperator, llvm::ICmpInst, llvm::CastInst, llvm::SelectInst, llvm::ExtractValueInst,
                   llvm::WithOverflowInst, llvm::FreezeInst>(instruction) &&
         !instruction.isIntDivRem();
}

void compute_in_exits(llvm::Function& function) {
  // From the last to the first: what has gone takes its operands with it.
  for (BasicBlock* block : llvm::post_order(&function)) {
    if (is_exit(*block)) continue;
    for (auto at = block->end(); at != block->begin();) {
      Instruction& instruction = *--at;
      if (!is_pure(instruction)) continue;
      const auto exits = exits_of(instruction);
      if (exits.empty()) continue;
      ++at;
      move_into(instruction, exits);
    }
  }
}

}  // namespace kvrm::translator
