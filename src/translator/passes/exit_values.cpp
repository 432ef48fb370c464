#include "translator/passes/exit_values.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/IntrinsicInst.h>

namespace kvrm::translator {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;

// A flag, or a value that only flags depend on. Guest registers stay: they depend on one another, and each exit would
// repeat everything computed before it.
bool is_for_flags(const Instruction& instruction) {
  if (instruction.getType()->isIntegerTy(1) || instruction.getType()->isIntegerTy(8)) return true;
  return llvm::none_of(instruction.users(),
                       [](const llvm::User* user) { return llvm::isa<llvm::StoreInst, llvm::CallBase>(user); });
}

// The exits that use it; none if anything else does.
llvm::SmallVector<BasicBlock*> exits_of(Instruction& instruction) {
  llvm::SmallSetVector<BasicBlock*, 8> exits;
  for (llvm::User* user : instruction.users()) {
    auto* other = llvm::cast<Instruction>(user);
    if (llvm::isa<llvm::PHINode>(other) || !is_exit(*other->getParent())) return {};
    exits.insert(other->getParent());
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
  // Flags that depend on flags may be repeated, too. The limit keeps a guest from making a region of unbounded size.
  std::size_t left = 4 * function.getInstructionCount();
  // From the last to the first, so that an erased instruction's operands follow.
  for (BasicBlock* block : llvm::post_order(&function)) {
    if (is_exit(*block)) continue;
    for (auto at = block->end(); at != block->begin();) {
      Instruction& instruction = *--at;
      if (!is_pure(instruction) || !is_for_flags(instruction)) continue;
      const auto exits = exits_of(instruction);
      if (exits.empty() || exits.size() > left) continue;
      left -= exits.size();
      ++at;
      move_into(instruction, exits);
    }
  }
}

}  // namespace kvrm::translator
