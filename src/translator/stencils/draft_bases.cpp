// Which registers are addresses in the window: what a stencil asks, and what becomes of the answers.
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>

#include "memory/window.h"
#include "translator/likely.h"
#include "translator/stencils/draft.h"

namespace kvrm::translator::stencils {

Value* Draft::is_outside_window(Value* address) {
  Value* outside = builder_.CreateLoad(builder_.getInt64Ty(), at(context(), offsetof(Context, outside_window)));
  return builder_.CreateICmpNE(builder_.CreateAnd(address, outside), builder_.getInt64(0));
}

void Draft::go_on_if_in_window(Value* address) {
  BasicBlock* bail = block("bail");
  BasicBlock* on = block("on");
  builder_.CreateCondBr(is_outside_window(address), bail, on, unlikely(module_.getContext()));
  builder_.SetInsertPoint(bail);
  go_to(kBailName, entry(), budget());
  builder_.SetInsertPoint(on);
  go_to(kNextName, entry(), budget());
}

// The slot of the general register that was loaded whole; kNone: it is none. New instructions are the builder's.
u32 Draft::slot_of(Value* loaded) {
  const auto* load = llvm::dyn_cast<llvm::LoadInst>(loaded);
  Value* base = nullptr;
  Value* offset = nullptr;
  u64 constant = 0;
  if (!load || !load->getType()->isIntegerTy(64)) return kNone;
  if (!offset_of_word(const_cast<Value*>(load->getPointerOperand()), base, offset, constant)) return kNone;
  if (llvm::getUnderlyingObject(base) != state() || constant >= sizeof(Cpu::x)) return kNone;
  return expressions_.of(offset, leaves_).value_or(kNone);
}

// Whether every way to the next word asks.
bool Draft::always_asks(llvm::ArrayRef<llvm::CallInst*> checks) {
  std::set<const BasicBlock*> seen;
  for (const llvm::CallInst* check : checks) seen.insert(check->getParent());
  llvm::SmallVector<BasicBlock*> open;
  if (seen.insert(&function_->getEntryBlock()).second) open.push_back(&function_->getEntryBlock());
  while (!open.empty()) {
    BasicBlock* const block = open.pop_back_val();
    for (const Instruction& instruction : *block) {
      const auto* end = llvm::dyn_cast<llvm::CallInst>(&instruction);
      const llvm::Function* called = end ? end->getCalledFunction() : nullptr;
      if (called && called->getName() == "kvrm_end" && end->getArgOperand(0)->getName() == kNextName) return false;
    }
    for (BasicBlock* next : llvm::successors(block))
      if (seen.insert(next).second) open.push_back(next);
  }
  return true;
}

// Whether an address is outside the window: that of its base, if guard space covers the rest.
u32 Draft::lower_window_checks(bool unchecked) {
  const llvm::DataLayout& layout = module_.getDataLayout();
  const std::vector<llvm::CallInst*> checks = calls_of(*function_, "kvrm_outside_window");
  std::vector<u32> slots;
  const bool always = always_asks(checks);
  for (llvm::CallInst* check : checks) {
    Value* address = check->getArgOperand(0);
    const auto is_short = [&](Value* value) {
      return is_of_word(value, leaves_) && llvm::ComputeNumSignBits(value, layout) > 33;
    };
    auto* sum = llvm::dyn_cast<llvm::BinaryOperator>(address);
    if (sum && sum->getOpcode() == Instruction::Add) {
      if (is_short(sum->getOperand(1))) {
        address = sum->getOperand(0);
      } else if (is_short(sum->getOperand(0))) {
        address = sum->getOperand(1);
      }
    }
    builder_.SetInsertPoint(check);
    static_assert(memory::Window::kGuardBytes >= u64{1} << 32);
    slots.push_back(slot_of(address));
    Value* outside = unchecked ? builder_.getFalse() : is_outside_window(address);
    check->replaceAllUsesWith(outside);
    check->eraseFromParent();
  }
  const bool is_one = !slots.empty() && llvm::all_equal(slots);
  return is_one && always ? slots.front() : kNone;
}

// A register plus a short number of the word stays near where it was.
Written Draft::written_by(llvm::StoreInst& store, u32 slot, llvm::ArrayRef<llvm::LoadInst*> early_reads) {
  Written result{slot, kNone, kNone};
  Value* from = store.getValueOperand();
  Value* distance = nullptr;
  auto* const sum = llvm::dyn_cast<llvm::BinaryOperator>(from);
  builder_.SetInsertPoint(&store);
  if (sum && (sum->getOpcode() == Instruction::Add || sum->getOpcode() == Instruction::Sub) &&
      is_of_word(sum->getOperand(1), leaves_)) {
    from = sum->getOperand(0);
    distance = sum->getOperand(1);
    if (llvm::ComputeNumSignBits(distance, module_.getDataLayout()) <= 33) return result;
    if (sum->getOpcode() == Instruction::Sub) distance = builder_.CreateNeg(distance);
  }
  auto* const load = llvm::dyn_cast<llvm::LoadInst>(from);
  if (!load || !load->getType()->isIntegerTy(64) || !llvm::is_contained(early_reads, load)) return result;
  const auto expression = distance ? expressions_.of(distance, leaves_) : std::nullopt;
  if (distance && !expression) return result;
  result.source = read_slots_.at(load->getPointerOperand());
  result.distance = expression.value_or(kNone);
  return result;
}

void Draft::describe_writes(Registers& registers) {
  const std::vector<llvm::LoadInst*> early_reads = reads_before_writes();
  std::vector<llvm::CallInst*> ends = calls_of(*function_, "kvrm_end");
  std::erase_if(ends, [](const llvm::CallInst* end) { return end->getArgOperand(0)->getName() != kNextName; });
  registers.goes_on = !ends.empty();
  const llvm::DominatorTree tree(*function_);
  std::vector<llvm::StoreInst*> stores;
  for (Instruction& instruction : llvm::instructions(*function_))
    if (auto* const store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) stores.push_back(store);
  for (llvm::StoreInst* store : stores) {
    const auto slot = slots_.find(store->getPointerOperand());
    if (slot == slots_.end()) {
      if (writes_fixed_slot(*store)) registers.effects.push_back({kNone, kNone, kNone});
    } else if (!beyond_slots_.contains(slot->first)) {
      const bool is_certain = llvm::all_of(ends, [&](llvm::CallInst* end) { return tree.dominates(store, end); });
      registers.effects.push_back(is_certain ? written_by(*store, slot->second, early_reads)
                                             : Written{slot->second, kNone, kNone});
    }
  }
}

}  // namespace kvrm::translator::stencils
