#include "translator/passes/number_compares.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include "base/types.h"

namespace kvrm::translator {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::PHINode;
using llvm::Value;

constexpr std::size_t kMostSteps = 8;

// What a condition is computed from in its block: phis, and steps in their order.
struct Condition {
  llvm::SmallSetVector<PHINode*, 4> phis;
  llvm::SmallSetVector<Instruction*, 8> steps;
};

bool collect(Value* value, const BasicBlock& block, Condition& condition) {
  auto* const step = llvm::dyn_cast<Instruction>(value);
  if (!step || step->getParent() != &block) return true;
  if (auto* const phi = llvm::dyn_cast<PHINode>(step)) return condition.phis.insert(phi), true;
  if (!llvm::isa<llvm::BinaryOperator, llvm::CmpInst, llvm::CastInst, llvm::SelectInst>(step) || step->isIntDivRem())
    return false;
  if (condition.steps.contains(step)) return true;
  for (Value* const operand : step->operands())
    if (!collect(operand, block, condition)) return false;
  return condition.steps.insert(step), condition.steps.size() <= kMostSteps;
}

bool is_number_compare(const Value* value) {
  if (const auto* const cast = llvm::dyn_cast<llvm::CastInst>(value)) return is_number_compare(cast->getOperand(0));
  return llvm::isa<llvm::FCmpInst>(value);
}

bool decides_by_numbers(const BasicBlock& block, const Condition& condition) {
  for (const BasicBlock* const from : llvm::predecessors(&block))
    if (from->getSingleSuccessor() != &block) return false;
  return llvm::any_of(condition.phis, [](const PHINode* phi) {
    return llvm::any_of(phi->incoming_values(), [](const llvm::Use& use) { return is_number_compare(use.get()); });
  });
}

// The condition as it is on the way from one block.
Value* computed_in(BasicBlock& from, Value* condition, const Condition& parts) {
  llvm::ValueToValueMapTy values;
  for (PHINode* const phi : parts.phis) values[phi] = phi->getIncomingValueForBlock(&from);
  for (Instruction* const step : parts.steps) {
    Instruction* const copy = step->clone();
    copy->insertBefore(from.getTerminator());
    llvm::RemapInstruction(copy, values, llvm::RF_NoModuleLevelChanges | llvm::RF_IgnoreMissingLocals);
    values[step] = copy;
  }
  return values[condition];
}

void decide_before(BasicBlock& block) {
  auto* const branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
  if (!branch || !branch->isConditional() || !block.hasNPredecessors(2)) return;
  Condition parts;
  auto* const condition = llvm::dyn_cast<Instruction>(branch->getCondition());
  if (!condition || condition->getParent() != &block || llvm::isa<PHINode>(condition)) return;
  if (!collect(condition, block, parts) || !decides_by_numbers(block, parts)) return;
  llvm::IRBuilder<> builder(&block, block.begin());
  PHINode* const decided = builder.CreatePHI(condition->getType(), 2);
  for (BasicBlock* const from : llvm::predecessors(&block))
    decided->addIncoming(computed_in(*from, condition, parts), from);
  branch->setCondition(decided);
}

}  // namespace

void decide_where_compared(llvm::Function& function) {
  for (BasicBlock& block : function) decide_before(block);
}

}  // namespace kvrm::translator
