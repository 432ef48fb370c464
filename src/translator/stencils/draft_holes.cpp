// Whatever depends on the word alone becomes a hole.
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "translator/host_idioms.h"
#include "translator/passes/numbers.h"
#include "translator/stencils/draft.h"

namespace kvrm::translator::stencils {

// The same value of the word, computed elsewhere.
Value* Draft::compute_before(Value* value, Instruction* before) {
  auto* const computed = llvm::dyn_cast<Instruction>(value);
  if (!computed) return value;
  Instruction* const copy = computed->clone();
  for (llvm::Use& operand : copy->operands()) {
    if (!llvm::isa<llvm::Function>(operand)) operand = compute_before(operand, before);
  }
  copy->insertBefore(before);
  return copy;
}

// If a branch on the word chooses between two values of the word, that is one value of the word.
bool Draft::select_word_value(llvm::PHINode& phi) {
  if (phi.getNumIncomingValues() != 2 || !phi.getType()->isIntegerTy()) return false;
  if (!is_of_word_or_constant(phi.getIncomingValue(0)) || !is_of_word_or_constant(phi.getIncomingValue(1)))
    return false;
  BasicBlock* const merged = phi.getParent();
  const auto fork_of = [&](BasicBlock* from) {
    const auto* branch = llvm::dyn_cast<llvm::BranchInst>(from->getTerminator());
    return branch && branch->isConditional() ? from : from->getSinglePredecessor();
  };
  BasicBlock* const fork = fork_of(phi.getIncomingBlock(0));
  if (!fork || fork != fork_of(phi.getIncomingBlock(1))) return false;
  auto* const branch = llvm::dyn_cast<llvm::BranchInst>(fork->getTerminator());
  if (!branch || !branch->isConditional() || !is_of_word(branch->getCondition(), leaves_)) return false;
  const auto value_if = [&](u32 successor) -> Value* {
    BasicBlock* const to = branch->getSuccessor(successor);
    const int index = phi.getBasicBlockIndex(to == merged ? fork : to);
    return index < 0 ? nullptr : compute_before(phi.getIncomingValue(static_cast<unsigned>(index)), branch);
  };
  Value* const yes = value_if(0);
  Value* const no = value_if(1);
  if (!yes || !no) return false;
  builder_.SetInsertPoint(branch);
  phi.replaceAllUsesWith(builder_.CreateSelect(branch->getCondition(), yes, no));
  phi.eraseFromParent();
  return true;
}

void Draft::select_word_values() {
  for (bool again = true; again;) {
    again = false;
    for (BasicBlock& block : *function_) {
      for (llvm::PHINode& phi : llvm::make_early_inc_range(block.phis())) again |= select_word_value(phi);
    }
  }
}

// A pointer as a base and an offset that is known from the word, the constant included.
bool Draft::offset_of_word(Value* pointer, Value*& base, Value*& offset, u64& constant) {
  const llvm::DataLayout& layout = module_.getDataLayout();
  base = pointer;
  offset = nullptr;
  constant = 0;
  while (auto* step = llvm::dyn_cast<llvm::GetElementPtrInst>(base)) {
    llvm::MapVector<Value*, llvm::APInt> variables;
    llvm::APInt added(64, 0);
    if (!llvm::cast<llvm::GEPOperator>(step)->collectOffset(layout, 64, variables, added)) return false;
    for (const auto& [variable, scale] : variables) {
      if (!is_of_word(variable, leaves_)) return false;
      Value* wide = builder_.CreateSExtOrTrunc(variable, builder_.getInt64Ty());
      Value* scaled = builder_.CreateMul(wide, builder_.getInt64(scale.getZExtValue()));
      offset = offset ? builder_.CreateAdd(offset, scaled) : scaled;
    }
    constant += added.getZExtValue();
    base = step->getPointerOperand();
  }
  if (base == state()) {  // a hole is an offset in the state, and no less than zero
    base = cpu();
    constant += u64(interpreter::kStateBias);
  }
  if (offset) offset = builder_.CreateAdd(offset, builder_.getInt64(constant));
  return offset != nullptr;
}

// Whole offsets become holes: `cpu.x[op.Rn]` is one operand of an instruction.
void Draft::fold_offsets() {
  std::vector<Instruction*> accesses;
  for (Instruction& instruction : llvm::instructions(*function_)) {
    if (llvm::isa<llvm::LoadInst, llvm::StoreInst>(instruction)) accesses.push_back(&instruction);
  }
  for (Instruction* access : accesses) {
    const unsigned index = llvm::isa<llvm::StoreInst>(access) ? 1 : 0;
    builder_.SetInsertPoint(access);
    Value* base = nullptr;
    Value* offset = nullptr;
    u64 constant = 0;
    if (!offset_of_word(access->getOperand(index), base, offset, constant)) continue;
    Value* pointer = at(base, offset);
    access->setOperand(index, pointer);
    // A slot of x: the array begins the state, and its slots have 8 bytes.
    static_assert(offsetof(Cpu, x) == 0);
    if (llvm::getUnderlyingObject(base) != state()) continue;
    const auto* store = llvm::dyn_cast<llvm::StoreInst>(access);
    if (constant >= sizeof(Cpu::x)) beyond_slots_.insert(pointer);
    const llvm::KnownBits bits = llvm::computeKnownBits(offset, module_.getDataLayout());
    if (bits.getMaxValue().ugt(255 * 8)) continue;
    if (store && store->getValueOperand()->getType() != builder_.getInt64Ty()) continue;
    if (const auto expression = expressions_.of(offset, leaves_)) (store ? slots_ : read_slots_)[pointer] = *expression;
  }
}

// Whether a store into the state that is not known as one of a general register may be one.
bool Draft::may_write_slot(const llvm::StoreInst& store) const {
  const Value* pointer = store.getPointerOperand();
  if (llvm::getUnderlyingObject(pointer, 0) != function_->getArg(interpreter::kStateArgument)) return false;
  if (beyond_slots_.contains(pointer)) return false;
  llvm::APInt offset(64, 0);
  return pointer->stripAndAccumulateConstantOffsets(module_.getDataLayout(), offset, true) !=
         function_->getArg(interpreter::kStateArgument);
}

// write() of semantics/registers.h writes a slot and then makes slot 31 zero.
bool Draft::simplify_writes(Writes writes, Registers& registers) {
  fold_offsets();
  std::set<u32> written;
  std::vector<Instruction*> zeros, others;
  for (Instruction& instruction : llvm::instructions(*function_)) {
    auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
    if (!store) continue;
    llvm::APInt offset(64, 0);
    const llvm::DataLayout& layout = module_.getDataLayout();
    const Value* base = store->getPointerOperand()->stripAndAccumulateConstantOffsets(layout, offset, true);
    const auto* value = llvm::dyn_cast<llvm::ConstantInt>(store->getValueOperand());
    offset += u64(interpreter::kStateBias);
    if (base == state() && offset == kZeroSlot * sizeof(u64) && value && value->isZero()) zeros.push_back(store);
    const auto slot = slots_.find(store->getPointerOperand());
    if (slot == slots_.end()) {
      if (may_write_slot(*store)) return false;
      continue;
    }
    if (beyond_slots_.contains(slot->first)) continue;
    written.insert(slot->second);
    others.push_back(store);
  }
  registers.written.assign(written.begin(), written.end());
  if (writes == Writes::kOnlyZero && written.size() != 1) return false;
  if (writes == Writes::kAny) return true;
  for (Instruction* store : zeros) store->eraseFromParent();
  if (writes == Writes::kOnlyZero)
    for (Instruction* store : others) store->eraseFromParent();
  return true;
}

// A constant that the linker fills in, or an instruction that loads it.
Value* Draft::hole(Value* value, Instruction* before, bool opaque) {
  const u32 bits = value->getType()->getIntegerBitWidth();
  const u32 expression = *expressions_.of(value, leaves_);
  const auto symbol = [&](const char* prefix) {
    auto* global = llvm::cast<llvm::GlobalVariable>(
        module_.getOrInsertGlobal(prefix + std::to_string(expression), builder_.getInt8Ty()));
    global->setDSOLocal(true);
    return global;
  };
  builder_.SetInsertPoint(before);
  llvm::Type* wide = builder_.getInt64Ty();
  if (bits == 1) {
    Value* as_byte =
        builder_.CreateTrunc(llvm::ConstantExpr::getPtrToInt(symbol(kHolePrefix), wide), builder_.getInt8Ty());
    return builder_.CreateICmpNE(as_byte, builder_.getInt8(0));
  }
  const llvm::DataLayout& layout = module_.getDataLayout();
  const llvm::KnownBits known = llvm::computeKnownBits(value, layout);
  if (bits < 32 || known.getMaxValue().ult(u64{1} << 31)) {
    return builder_.CreateTrunc(llvm::ConstantExpr::getPtrToInt(symbol(kHolePrefix), wide), value->getType());
  }
  const bool is_short = bits == 64 && llvm::ComputeNumSignBits(value, layout) > 33;
  if (is_short && !opaque) {
    return llvm::ConstantExpr::getAdd(llvm::ConstantExpr::getPtrToInt(symbol(kBiasedPrefix), wide),
                                      builder_.getInt64(u64(-kBias)));
  }
  const char* text = bits == 32 ? "movl $1, $0" : is_short ? "movq $1, $0" : "movabsq $1, $0";
  auto* type = llvm::FunctionType::get(value->getType(), {builder_.getPtrTy()}, false);
  llvm::CallInst* const call =
      builder_.CreateCall(llvm::InlineAsm::get(type, text, "=r,i", false), {symbol(kHolePrefix)});
  call->setDoesNotAccessMemory();
  call->setDoesNotThrow();
  return call;
}

// An addition has an immediate operand where a subtraction takes a register for the hole.
void Draft::add_negatives() {
  for (Instruction& instruction : llvm::instructions(*function_)) {
    if (instruction.getOpcode() != Instruction::Sub || !instruction.getType()->isIntegerTy(64)) continue;
    Value* const taken = instruction.getOperand(1);
    if (!is_of_word(taken, leaves_) || is_of_word(&instruction, leaves_)) continue;
    if (llvm::ComputeNumSignBits(taken, module_.getDataLayout()) <= 33) continue;
    builder_.SetInsertPoint(&instruction);
    Value* const sum = builder_.CreateAdd(instruction.getOperand(0), builder_.CreateNeg(taken));
    instruction.replaceAllUsesWith(sum);
  }
}

void Draft::fill_holes(bool opaque) {
  std::vector<llvm::Use*> uses;
  for (Instruction& instruction : llvm::instructions(*function_)) {
    if (is_of_word(&instruction, leaves_)) continue;
    for (llvm::Use& use : instruction.operands()) {
      if (is_of_word(use.get(), leaves_)) uses.push_back(&use);
    }
  }
  for (llvm::Use* use : uses) {
    auto* user = llvm::cast<Instruction>(use->getUser());
    auto* phi = llvm::dyn_cast<llvm::PHINode>(user);
    use->set(hole(use->get(), phi ? phi->getIncomingBlock(*use)->getTerminator() : user, opaque));
  }
}

// A guest that selects instead of branching has its reasons. The back end must not branch where the condition is
// loaded, nor make one load of two at a selected address, which would wait for the condition; volatile loads it leaves
// alone.
void Draft::keep_selects(llvm::Function& made) {
  for (Instruction& instruction : llvm::instructions(made)) {
    auto* const choice = llvm::dyn_cast<llvm::SelectInst>(&instruction);
    if (!choice) continue;
    choice->setMetadata(llvm::LLVMContext::MD_unpredictable, llvm::MDNode::get(module_.getContext(), {}));
    auto* const load = llvm::dyn_cast<llvm::LoadInst>(choice->getTrueValue());
    if (load && llvm::isa<llvm::LoadInst>(choice->getFalseValue())) load->setVolatile(true);
  }
}

// The handler: the same body without the word.
llvm::Function* Draft::finish(const std::string& name, bool opaque) {
  add_negatives();
  fill_holes(opaque);
  llvm::Function* made = llvm::Function::Create(handler_, llvm::GlobalValue::ExternalLinkage, name, module_);
  made->setCallingConv(kConvention);
  made->setDoesNotThrow();
  for (const auto attribute : {llvm::Attribute::OptimizeForSize, llvm::Attribute::NoRedZone})
    made->addFnAttr(attribute);
  made->addFnAttr("target-cpu", "x86-64-v3");
  made->addFnAttr("no-jump-tables", "true");
  llvm::ValueToValueMapTy map;
  for (u32 i = 0; i < function_->arg_size(); ++i) {
    map[function_->getArg(i)] = i < kWordArgument ? static_cast<Value*>(made->getArg(i))
                                                  : llvm::PoisonValue::get(function_->getArg(i)->getType());
  }
  llvm::SmallVector<llvm::ReturnInst*> returns;
  llvm::CloneFunctionInto(made, function_, map, llvm::CloneFunctionChangeType::LocalChangesOnly, returns);
  made->setCallingConv(kConvention);
  end_in_tail_calls(*made);
  Passes(target_).run(*made);
  convert_numbers_where_used(*made);
  keep_selects(*made);
  // The offset of a slot is a hole, so LLVM takes the address for a value worth keeping.
  for (Instruction& instruction : llvm::instructions(*made)) {
    if (llvm::isa<llvm::LoadInst>(instruction)) compute_address_before(instruction, 0);
    if (llvm::isa<llvm::StoreInst>(instruction)) compute_address_before(instruction, 1);
  }
  store_signs_as_bits(*made);
  return made;
}

}  // namespace kvrm::translator::stencils
