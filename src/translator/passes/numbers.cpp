#include "translator/passes/numbers.h"

#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/PatternMatch.h>

#include <utility>
#include <vector>

#include "base/types.h"

namespace kvrm::translator {
namespace {

using llvm::PHINode;
using llvm::Value;

// What its bits may be as a number; null: nothing.
llvm::Type* number_type_of(const llvm::Type& type) {
  if (type.isIntegerTy(64)) return llvm::Type::getDoubleTy(type.getContext());
  return type.isIntegerTy(32) ? llvm::Type::getFloatTy(type.getContext()) : nullptr;
}

// The number whose bits these are; null: it is none.
Value* number_of(Value* bits, const llvm::Type* number) {
  auto* const cast = llvm::dyn_cast<llvm::BitCastInst>(bits);
  return cast && cast->getOperand(0)->getType() == number ? cast->getOperand(0) : nullptr;
}

bool is_used_as(const PHINode& bits, const llvm::Type* number) {
  return llvm::any_of(bits.users(), [&](const llvm::User* user) {
    return (llvm::isa<llvm::BitCastInst>(user) && user->getType() == number) ||
           (llvm::isa<llvm::InsertElementInst>(user) && user->getOperand(1) == &bits);
  });
}

bool is_number(PHINode& bits) {
  const llvm::Type* const number = number_type_of(*bits.getType());
  if (!number || !is_used_as(bits, number)) return false;
  bool is_computed = false;
  for (u32 i = 0; i < bits.getNumIncomingValues(); ++i) {
    Value* const value = bits.getIncomingValue(i);
    if (value == bits.getIncomingBlock(i)->getTerminator()) return false;  // nothing fits between it and the edge
    is_computed |= number_of(value, number) != nullptr;
  }
  return is_computed;
}

void make_number(PHINode& bits) {
  llvm::Type* const type = number_type_of(*bits.getType());
  llvm::IRBuilder<> builder(&bits);
  PHINode* const number = builder.CreatePHI(type, bits.getNumIncomingValues());
  for (u32 i = 0; i < bits.getNumIncomingValues(); ++i) {
    llvm::BasicBlock* const from = bits.getIncomingBlock(i);
    const int before = number->getBasicBlockIndex(from);  // a switch may lead here twice
    Value* value = before < 0 ? number_of(bits.getIncomingValue(i), type)
                              : number->getIncomingValue(static_cast<unsigned>(before));
    if (!value) {
      builder.SetInsertPoint(from->getTerminator());
      value = builder.CreateBitCast(bits.getIncomingValue(i), type);
    }
    number->addIncoming(value, from);
  }
  builder.SetInsertPoint(bits.getParent(), bits.getParent()->getFirstInsertionPt());
  bits.replaceAllUsesWith(builder.CreateBitCast(number, bits.getType()));
  bits.eraseFromParent();
}

// Of sum | flags, where the flags are zero on some ways: the sum on those. Null: it is not such a sum.
PHINode* flags_of(llvm::BinaryOperator& sum, const llvm::DominatorTree& tree) {
  if (sum.getOpcode() != llvm::Instruction::Or || !sum.getType()->isIntegerTy(32)) return nullptr;
  for (const u32 operand : {1u, 0u}) {
    auto* const flags = llvm::dyn_cast<PHINode>(sum.getOperand(operand));
    if (!flags) continue;
    const auto is_zero = [](const llvm::Use& value) { return match(value.get(), llvm::PatternMatch::m_Zero()); };
    if (llvm::none_of(flags->incoming_values(), is_zero)) continue;
    const auto* const before = llvm::dyn_cast<llvm::Instruction>(sum.getOperand(1 - operand));
    const auto is_there = [&](const llvm::BasicBlock* from) { return tree.dominates(before, from->getTerminator()); };
    if (before && !llvm::all_of(flags->blocks(), is_there)) continue;
    if (operand == 0) sum.swapOperands();
    return flags;
  }
  return nullptr;
}

// Whether only a slow way needs this of a number: its bits, or these without the sign.
bool is_for_slow_ways(const llvm::Instruction& instruction) {
  using namespace llvm::PatternMatch;
  const Value* bits = nullptr;
  if (match(&instruction, m_And(m_Value(bits), m_ConstantInt()))) {
    const auto* const cast = llvm::dyn_cast<llvm::BitCastInst>(bits);
    return cast && is_for_slow_ways(*cast);
  }
  return llvm::isa<llvm::BitCastInst>(instruction) && instruction.getType()->isIntegerTy() &&
         instruction.getOperand(0)->getType()->isFloatingPointTy();
}

// Each other block that uses it gets its own. A copy of a mask is a new user of its bits.
void copy_where_used(llvm::Instruction& conversion) {
  std::vector<llvm::Use*> elsewhere;
  for (llvm::Use& use : conversion.uses()) {
    const auto* const user = llvm::cast<llvm::Instruction>(use.getUser());
    if (user->getParent() != conversion.getParent() && !llvm::isa<PHINode>(user)) elsewhere.push_back(&use);
  }
  for (llvm::Use* const use : elsewhere) {
    llvm::Instruction* const copy = conversion.clone();
    copy->insertBefore(llvm::cast<llvm::Instruction>(use->getUser()));
    use->set(copy);
  }
  if (conversion.use_empty()) conversion.eraseFromParent();
}

// Whether only the store needs what it adds, and nothing in its block before it looks at the place.
bool may_store_before(const llvm::StoreInst& store, const llvm::LoadInst& load, const PHINode& flags) {
  const auto* const place = llvm::dyn_cast<llvm::GetElementPtrInst>(store.getPointerOperand());
  if (!place || !place->hasAllConstantIndices() || !llvm::isa<llvm::Argument>(place->getPointerOperand())) return false;
  if (load.getPointerOperand() != place || flags.getParent() != store.getParent()) return false;
  for (u32 i = 0; i < flags.getNumIncomingValues(); ++i) {
    const bool is_zero = match(flags.getIncomingValue(i), llvm::PatternMatch::m_Zero());
    if (!is_zero && flags.getIncomingBlock(i)->getSingleSuccessor() != store.getParent()) return false;
  }
  for (const llvm::Instruction& instruction : *store.getParent()) {
    if (&instruction == &store) return true;
    if (llvm::isa<llvm::CallBase>(instruction)) return false;
    const auto* const other = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    if (other && other != &load && other->getPointerOperand() == place) return false;
  }
  return false;
}

}  // namespace

void store_flags_where_made(llvm::Function& function) {
  using namespace llvm::PatternMatch;
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    auto* const store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
    Value* one = nullptr;
    Value* other = nullptr;
    if (!store || !match(store->getValueOperand(), m_Or(m_Value(one), m_Value(other)))) continue;
    if (llvm::isa<PHINode>(one)) std::swap(one, other);
    auto* const load = llvm::dyn_cast<llvm::LoadInst>(one);
    auto* const flags = llvm::dyn_cast<PHINode>(other);
    if (!load || !flags || !may_store_before(*store, *load, *flags)) continue;
    auto* const place = llvm::cast<llvm::GetElementPtrInst>(store->getPointerOperand());
    for (u32 i = 0; i < flags->getNumIncomingValues(); ++i) {
      if (match(flags->getIncomingValue(i), m_Zero())) continue;
      llvm::IRBuilder<> builder(flags->getIncomingBlock(i)->getTerminator());
      Value* const here = builder.Insert(place->clone());
      Value* const sum = builder.CreateOr(builder.CreateLoad(flags->getType(), here), flags->getIncomingValue(i));
      builder.CreateStore(sum, here);
    }
    store->eraseFromParent();
  }
}

void add_flags_where_made(llvm::Function& function) {
  const llvm::DominatorTree tree(function);
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    auto* const sum = llvm::dyn_cast<llvm::BinaryOperator>(&instruction);
    PHINode* const flags = sum ? flags_of(*sum, tree) : nullptr;
    if (!flags) continue;
    Value* const before = sum->getOperand(0);
    llvm::IRBuilder<> builder(flags);
    PHINode* const after = builder.CreatePHI(flags->getType(), flags->getNumIncomingValues());
    for (u32 i = 0; i < flags->getNumIncomingValues(); ++i) {
      llvm::BasicBlock* const from = flags->getIncomingBlock(i);
      const int again = after->getBasicBlockIndex(from);
      builder.SetInsertPoint(from->getTerminator());
      after->addIncoming(again < 0 ? builder.CreateOr(before, flags->getIncomingValue(i))
                                   : after->getIncomingValue(static_cast<u32>(again)),
                         from);
    }
    sum->replaceAllUsesWith(after);
    sum->eraseFromParent();
    if (flags->use_empty()) flags->eraseFromParent();
  }
}

void convert_numbers_where_used(llvm::Function& function) {
  std::vector<llvm::Instruction*> masks, casts;  // masks use casts
  for (llvm::Instruction& instruction : llvm::instructions(function))
    if (is_for_slow_ways(instruction))
      (llvm::isa<llvm::BitCastInst>(instruction) ? casts : masks).push_back(&instruction);
  for (llvm::Instruction* const mask : masks) copy_where_used(*mask);
  for (llvm::Instruction* const cast : casts) copy_where_used(*cast);
}

void keep_numbers_in_vector_registers(llvm::Function& function) {
  for (bool again = true; again;) {  // a number may be one because it meets another
    again = false;
    for (llvm::BasicBlock& block : function) {
      for (PHINode& phi : llvm::make_early_inc_range(block.phis())) {
        if (!is_number(phi)) continue;
        make_number(phi);
        again = true;
      }
    }
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
      if (!llvm::isa<llvm::BitCastInst>(instruction)) continue;
      Value* const number = number_of(instruction.getOperand(0), instruction.getType());
      if (!number) continue;
      instruction.replaceAllUsesWith(number);
      instruction.eraseFromParent();
    }
  }
}

}  // namespace kvrm::translator
