// The row's function in a stencil.
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "translator/likely.h"
#include "translator/stencils/draft.h"

namespace kvrm::translator::stencils {

std::vector<llvm::CallInst*> calls_of(llvm::Function& function, llvm::StringRef name) {
  std::vector<llvm::CallInst*> calls;
  for (Instruction& instruction : llvm::instructions(function)) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (call && call->getCalledFunction() && call->getCalledFunction()->getName() == name) calls.push_back(call);
  }
  return calls;
}

// Ends stay apart: the passes would merge returns. finish() makes tail calls of them.
void Draft::go_to(Value* callee, Value* entry, Value* budget, Value* cached) {
  auto end = module_.getOrInsertFunction("kvrm_end", builder_.getVoidTy(), builder_.getPtrTy(), builder_.getPtrTy(),
                                         builder_.getInt64Ty(), builder_.getInt64Ty());
  builder_.CreateCall(end, {callee, entry, budget, cached ? cached : llvm::PoisonValue::get(builder_.getInt64Ty())});
  builder_.CreateUnreachable();
}

void Draft::end_in_tail_calls(llvm::Function& made) {
  for (llvm::CallInst* end : calls_of(made, "kvrm_end")) {
    builder_.SetInsertPoint(end);
    llvm::CallInst* call = builder_.CreateCall(
        handler_, end->getArgOperand(0),
        {end->getArgOperand(1), made.getArg(interpreter::kStateArgument), made.getArg(interpreter::kContextArgument),
         end->getArgOperand(2), made.getArg(interpreter::kWindowArgument), end->getArgOperand(3)});
    call->setCallingConv(kConvention);
    if (KVRM_TAIL_CALLS) call->setTailCallKind(llvm::CallInst::TCK_MustTail);
    builder_.CreateRet(call);
    end->getParent()->getTerminator()->eraseFromParent();
    end->eraseFromParent();
  }
}

// Inlines the row's function; if it traps, the interpreter runs the word.
bool Draft::row(llvm::Function& meaning) {
  if (!pc_home_) pc_home_ = builder_.CreateAlloca(builder_.getInt64Ty());
  builder_.CreateStore(pc(), pc_home_);
  Value* tlb = builder_.CreateLoad(builder_.getPtrTy(), at(context(), offsetof(Context, translations)));
  llvm::CallInst* call = builder_.CreateCall(&meaning, {cpu(), tlb, window(), operands()});
  Value* trapped = builder_.CreateICmpNE(call, builder_.getInt32(0));
  BasicBlock* bail = block("bail");
  BasicBlock* on = block("on");
  builder_.CreateCondBr(trapped, bail, on, unlikely(module_.getContext()));
  builder_.SetInsertPoint(bail);
  go_to(kBailName, entry(), budget());
  builder_.SetInsertPoint(on);
  llvm::InlineFunctionInfo info;
  if (!llvm::InlineFunction(*call, info).isSuccess()) return false;
  const auto end = builder_.saveIP();
  read_zeros();
  expand_copies();
  const bool is_good = move_pc(pc_home_);
  builder_.restoreIP(end);
  return is_good;
}

// The zero register is zero before the row writes something.
void Draft::read_zeros() {
  std::vector<Instruction*> zeros;
  for (Instruction& instruction : function_->getEntryBlock()) {
    if (instruction.mayWriteToMemory() && instruction.getOperand(1) != pc_home_) break;
    llvm::APInt offset(64, 0);
    auto* const load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    if (!load || !load->getType()->isIntegerTy(64)) continue;
    const Value* base =
        load->getPointerOperand()->stripAndAccumulateConstantOffsets(module_.getDataLayout(), offset, true);
    if (base == state() && offset + u64(interpreter::kStateBias) == kZeroSlot * sizeof(u64)) zeros.push_back(load);
  }
  for (Instruction* zero : zeros) {
    zero->replaceAllUsesWith(builder_.getInt64(0));
    zero->eraseFromParent();
  }
}

// Small copies are one load and one store: offsets of these can be holes.
void Draft::expand_copies() {
  std::vector<llvm::MemCpyInst*> copies;
  for (Instruction& instruction : llvm::instructions(*function_)) {
    if (auto* copy = llvm::dyn_cast<llvm::MemCpyInst>(&instruction)) copies.push_back(copy);
  }
  for (llvm::MemCpyInst* copy : copies) {
    const auto* size = llvm::dyn_cast<llvm::ConstantInt>(copy->getLength());
    if (!size || size->getZExtValue() > 64) continue;
    builder_.SetInsertPoint(copy);
    auto* type = llvm::FixedVectorType::get(builder_.getInt8Ty(), static_cast<unsigned>(size->getZExtValue()));
    Value* bytes = builder_.CreateAlignedLoad(type, copy->getRawSource(), copy->getSourceAlign());
    builder_.CreateAlignedStore(bytes, copy->getRawDest(), copy->getDestAlign());
    copy->eraseFromParent();
  }
}

// Whether the interpreter may have to run the word. It would begin a pair with the first word, even if that has run.
bool Draft::may_bail() {
  for (llvm::CallInst* end : calls_of(*function_, "kvrm_end")) {
    if (end->getArgOperand(0)->getName() == kBailName) return true;
  }
  return false;
}

// The second word of a pair reads what the first has stored into the flags. Stores into the register slots between them
// have offsets that depend on the word, so LLVM cannot know that they leave the flags alone.
void Draft::forward_flags() {
  const llvm::DataLayout& layout = module_.getDataLayout();
  std::map<u64, Value*> stored;  // by offset in the state
  for (Instruction& instruction : llvm::make_early_inc_range(function_->getEntryBlock())) {
    auto* const store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
    auto* const load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    if (!store && !load) continue;
    llvm::APInt offset(64, 0);
    const Value* base = (store ? store->getPointerOperand() : load->getPointerOperand())
                            ->stripAndAccumulateConstantOffsets(layout, offset, true);
    const u64 at = offset.getZExtValue() + u64(interpreter::kStateBias);
    if (base != state() || at < sizeof(Cpu::x)) continue;
    if (store) {
      stored[at] = store->getValueOperand();
      continue;
    }
    const auto found = stored.find(at);
    if (found == stored.end() || found->second->getType() != load->getType()) continue;
    load->replaceAllUsesWith(found->second);
    load->eraseFromParent();
  }
}

bool Draft::stores_flag(const Instruction& instruction) {
  const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
  if (!store || !store->getValueOperand()->getType()->isIntegerTy(8)) return false;
  llvm::APInt offset(64, 0);
  const Value* base =
      store->getPointerOperand()->stripAndAccumulateConstantOffsets(module_.getDataLayout(), offset, true);
  const u64 at = offset.getZExtValue() + u64(interpreter::kStateBias);
  return base == state() && at - offsetof(Cpu, n) <= offsetof(Cpu, v) - offsetof(Cpu, n);
}

// Elements become vectors, but not the four flags: they are made one by one.
void Draft::vectorize() {
  const auto keep_apart = [&](bool apart) {
    for (Instruction& instruction : llvm::instructions(*function_))
      if (stores_flag(instruction)) llvm::cast<llvm::StoreInst>(instruction).setVolatile(apart);
  };
  keep_apart(true);
  Passes(target_).vectorize(*function_);
  keep_apart(false);
}

// The clock is the interpreter's. False if something has changed before it is read.
bool Draft::bail_at(Instruction* read) {
  llvm::SmallVector<BasicBlock*> before{read->getParent()};
  std::set<BasicBlock*> seen(before.begin(), before.end());
  while (!before.empty()) {
    BasicBlock* block = before.pop_back_val();
    for (Instruction& instruction : *block) {
      if (&instruction == read) break;
      const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
      if (instruction.mayWriteToMemory() && (!store || store->getPointerOperand() != pc_home_)) return false;
    }
    for (BasicBlock* one : llvm::predecessors(block))
      if (seen.insert(one).second) before.push_back(one);
  }
  BasicBlock* here = read->getParent();
  llvm::SplitBlock(here, read);
  here->getTerminator()->eraseFromParent();
  builder_.SetInsertPoint(here);
  go_to(kBailName, entry(), budget());
  return true;
}

// The pc is no part of the state here. Rows that hand out the state are not for stencils.
bool Draft::move_pc(llvm::AllocaInst* home) {
  const llvm::DataLayout& layout = module_.getDataLayout();
  std::vector<Instruction*> clock_reads;
  for (Instruction& instruction : llvm::instructions(*function_)) {
    if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
      for (Value* argument : call->args()) {
        if (argument->getType()->isPointerTy() && llvm::getUnderlyingObject(argument) == state()) return false;
      }
      continue;
    }
    const unsigned index = llvm::isa<llvm::StoreInst>(instruction) ? 1 : 0;
    if (!llvm::isa<llvm::StoreInst, llvm::LoadInst>(instruction)) continue;
    llvm::APInt offset(64, 0);
    const Value* base = instruction.getOperand(index)->stripAndAccumulateConstantOffsets(layout, offset, true);
    if (base != state()) continue;
    offset += u64(interpreter::kStateBias);
    if (offset == offsetof(Cpu, clock_ns)) clock_reads.push_back(&instruction);
    if (offset == offsetof(Cpu, pc)) instruction.setOperand(index, home);
  }
  for (Instruction* read : clock_reads)
    if (!bail_at(read)) return false;
  return true;
}

}  // namespace kvrm::translator::stencils
