#include "translator/passes/loop_checks.h"

#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/Transforms/Utils/SSAUpdater.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include <utility>
#include <vector>

#include "base/types.h"
#include "translator/likely.h"
#include "translator/passes/exit_values.h"

namespace kvrm::translator {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::Value;

// The check is repeated.
constexpr u32 kMostInstructions = 8;

// The branch of a check, and whether its first successor is the one that stays in the region.
const llvm::BranchInst* check_of(const BasicBlock& header) {
  const auto* branch = llvm::dyn_cast<llvm::BranchInst>(header.getTerminator());
  if (!branch || !branch->isConditional() || header.hasNPredecessors(1)) return nullptr;
  return is_exit(*branch->getSuccessor(0)) != is_exit(*branch->getSuccessor(1)) ? branch : nullptr;
}
u32 staying(const llvm::BranchInst& check) { return is_exit(*check.getSuccessor(0)) ? 1 : 0; }

// What a loop's header has computed is now computed by one of its latches as well: `after` is on the edge between that
// latch and the block behind the header, and has the values of the next iteration.
void merge(Instruction& old, Value& next, BasicBlock& after) {
  std::vector<llvm::Use*> uses;
  for (llvm::Use& use : old.uses()) {
    const auto* user = llvm::cast<Instruction>(use.getUser());
    if (user->getParent() != old.getParent() || llvm::isa<llvm::PHINode>(user)) uses.push_back(&use);
  }
  llvm::SSAUpdater updater;
  updater.Initialize(old.getType(), old.getName());
  updater.AddAvailableValue(old.getParent(), &old);
  updater.AddAvailableValue(&after, &next);
  for (llvm::Use* use : uses) updater.RewriteUse(*use);
}

void join(BasicBlock& test) {
  llvm::LLVMContext& context = test.getContext();
  auto* const tested = llvm::cast<llvm::BranchInst>(test.getTerminator());
  BasicBlock& header = *tested->getSuccessor(0);
  const auto& check = llvm::cast<llvm::BranchInst>(*header.getTerminator());
  BasicBlock& on = *check.getSuccessor(staying(check));
  // The values of the next iteration, as they are at the end of the test.
  llvm::ValueToValueMapTy map;
  for (Instruction& instruction : header) {
    if (instruction.isTerminator()) break;
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction)) {
      map[phi] = phi->getIncomingValueForBlock(&test);
      continue;
    }
    Instruction* copy = instruction.clone();
    copy->insertBefore(tested);
    llvm::RemapInstruction(copy, map, llvm::RF_NoModuleLevelChanges | llvm::RF_IgnoreMissingLocals);
    map[&instruction] = copy;
  }
  const auto next_of = [&](Value* value) -> Value* {
    const auto found = map.find(value);
    return found != map.end() ? static_cast<Value*>(found->second) : value;
  };
  // The header finds out again what is wrong, if it is the budget.
  BasicBlock* const rare = test.splitBasicBlock(tested, "rare");
  BasicBlock* const after = BasicBlock::Create(context, "after", test.getParent());
  llvm::IRBuilder<> builder(test.getTerminator());
  Value* stays = next_of(check.getCondition());
  if (staying(check) != 0) stays = builder.CreateNot(stays);
  builder.CreateCondBr(builder.CreateAnd(tested->getCondition(), stays), after, rare, likely(context));
  test.getTerminator()->eraseFromParent();
  builder.SetInsertPoint(after);
  std::vector<std::pair<Instruction*, llvm::PHINode*>> values;
  for (Instruction& instruction : header) {
    if (instruction.isTerminator()) break;
    llvm::PHINode* next = builder.CreatePHI(instruction.getType(), 1);
    next->addIncoming(next_of(&instruction), &test);
    values.emplace_back(&instruction, next);
  }
  builder.CreateBr(&on);
  for (const auto& [old, next] : values) map[old] = next;
  for (llvm::PHINode& phi : on.phis()) phi.addIncoming(next_of(phi.getIncomingValueForBlock(&header)), after);
  for (const auto& [old, next] : values) merge(*old, *next, *after);
}

}  // namespace

bool is_budget_check(const BasicBlock& header) {
  if (!check_of(header)) return false;
  u32 count = 0;
  for (const Instruction& instruction : header) {
    if (llvm::isa<llvm::PHINode>(instruction) || instruction.isTerminator()) continue;
    if (!is_pure(instruction) || ++count > kMostInstructions) return false;
  }
  return true;
}

void join_budget_checks(llvm::Function& function, llvm::ArrayRef<BasicBlock*> tests) {
  const llvm::DominatorTree tree(function);
  std::vector<BasicBlock*> latches;
  for (BasicBlock* test : tests) {
    const BasicBlock* header = test->getTerminator()->getSuccessor(0);
    const auto* check = check_of(*header);
    if (check && tree.dominates(header, test) && check->getSuccessor(staying(*check))->hasNPredecessors(1))
      latches.push_back(test);
  }
  for (BasicBlock* latch : latches) join(*latch);
}

}  // namespace kvrm::translator
