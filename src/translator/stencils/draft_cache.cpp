// One general register is cached in a host register between words.
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>

#include "translator/stencils/draft.h"

namespace kvrm::translator::stencils {

// Reads of general registers that no write of one may come before.
std::vector<llvm::LoadInst*> Draft::reads_before_writes() {
  std::set<const BasicBlock*> after;  // blocks that may run after a write
  llvm::SmallVector<BasicBlock*> open;
  const auto reach = [&](BasicBlock* block) {
    for (BasicBlock* next : llvm::successors(block))
      if (after.insert(next).second) open.push_back(next);
  };
  const auto writes = [&](const Instruction& instruction) {
    return llvm::isa<llvm::StoreInst>(instruction) && slots_.contains(instruction.getOperand(1));
  };
  for (BasicBlock& block : *function_)
    if (llvm::any_of(block, writes)) reach(&block);
  while (!open.empty()) reach(open.pop_back_val());
  std::vector<llvm::LoadInst*> reads;
  for (BasicBlock& block : *function_) {
    if (after.contains(&block)) continue;
    for (Instruction& instruction : block) {
      if (writes(instruction)) break;
      auto* const load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
      if (!load || !load->getType()->isIntegerTy() || load->getType()->getIntegerBitWidth() > 64 ||
          beyond_slots_.contains(load->getPointerOperand()))
        continue;
      if (read_slots_.contains(load->getPointerOperand())) reads.push_back(load);
    }
  }
  return reads;
}

// Whether a store writes a general register that does not depend on the word, and is not the zero register.
bool Draft::writes_fixed_slot(const llvm::StoreInst& store) {
  llvm::APInt offset(64, 0);
  const Value* base =
      store.getPointerOperand()->stripAndAccumulateConstantOffsets(module_.getDataLayout(), offset, true);
  offset += u64(interpreter::kStateBias);
  return base == state() && offset.ult(sizeof(Cpu::x)) && offset != kZeroSlot * sizeof(u64);
}

// The register that is written last is cached, if that is the same one on every way to the next word.
u32 Draft::cached_after(const Request& request) {
  std::vector<llvm::StoreInst*> stores;
  for (Instruction& instruction : llvm::instructions(*function_)) {
    auto* const store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
    if (!store) continue;
    if (writes_fixed_slot(*store)) return kNothingCached;
    const Value* pointer = store->getPointerOperand();
    if (slots_.contains(pointer) && !beyond_slots_.contains(pointer)) stores.push_back(store);
  }
  const auto goes_on = [](const llvm::CallInst* end) { return end->getArgOperand(0)->getName() == kNextName; };
  std::vector<llvm::CallInst*> ends = calls_of(*function_, "kvrm_end");
  std::erase_if(ends, [&](const llvm::CallInst* end) { return !goes_on(end); });
  if (ends.empty() || request.writes == Writes::kAny) return kNothingCached;
  if (stores.empty()) return kCacheStays;
  // The value of the last one is that of its register even if another one has the same.
  llvm::StoreInst* const last = stores.back();
  stores.pop_back();
  const llvm::DominatorTree tree(*function_);
  if (!llvm::all_of(stores, [&](const llvm::StoreInst* store) { return tree.dominates(store, last); }))
    return kNothingCached;
  for (llvm::CallInst* end : ends) {
    if (!tree.dominates(last, end)) return kNothingCached;
    end->setArgOperand(3, last->getValueOperand());
  }
  return slots_.at(last->getPointerOperand());
}

void Draft::cache_registers(const Request& request, Registers& registers) {
  for (llvm::LoadInst* load : reads_before_writes()) {
    const u32 slot = read_slots_.at(load->getPointerOperand());
    if (llvm::find(registers.read, slot) == registers.read.end()) registers.read.push_back(slot);
    if (slot != request.cached) continue;
    builder_.SetInsertPoint(load);
    load->replaceAllUsesWith(builder_.CreateTrunc(cached(), load->getType()));
    load->eraseFromParent();
  }
  registers.cached_after = cached_after(request);
  if (registers.cached_after != kNothingCached) return;
  for (llvm::CallInst* end : calls_of(*function_, "kvrm_end"))
    end->setArgOperand(3, llvm::PoisonValue::get(builder_.getInt64Ty()));
}

}  // namespace kvrm::translator::stencils
