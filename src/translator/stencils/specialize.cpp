#include "translator/stencils/specialize.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/JumpThreading.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Vectorize/SLPVectorizer.h>
#include <llvm/Transforms/Vectorize/VectorCombine.h>

#include <cstddef>
#include <set>

#include "interpreter/entry.h"
#include "memory/window.h"
#include "translator/likely.h"

namespace kvrm::translator::stencils {
namespace {

using interpreter::Context;
using interpreter::Entry;
using llvm::BasicBlock;
using llvm::Instruction;
using llvm::Value;

constexpr llvm::CallingConv::ID kConvention =
    KVRM_HANDLER_KEEPS_NOTHING ? llvm::CallingConv::PreserveNone : llvm::CallingConv::C;
constexpr u64 kInPage = (interpreter::kWordsPerPage - 1) * 4;
constexpr u64 kEntryBytes = sizeof(Entry);

// Passes on one function.
class Passes {
 public:
  explicit Passes(llvm::TargetMachine& target) : builder_(&target) {
    builder_.registerModuleAnalyses(modules_);
    builder_.registerCGSCCAnalyses(graphs_);
    builder_.registerFunctionAnalyses(functions_);
    builder_.registerLoopAnalyses(loops_);
    builder_.crossRegisterProxies(loops_, functions_, graphs_, modules_);
  }
  void run(llvm::Function& function) {
    llvm::FunctionPassManager passes;
    for (int i = 0; i < 2; ++i) {
      passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
      passes.addPass(llvm::EarlyCSEPass());
      passes.addPass(llvm::SimplifyCFGPass());
      passes.addPass(llvm::InstCombinePass());
      passes.addPass(llvm::JumpThreadingPass());
      passes.addPass(llvm::SimplifyCFGPass());
    }
    passes.run(function, functions_);
    functions_.clear();
  }
  // Operations on elements become operations on vectors, as far as the target has them.
  void vectorize(llvm::Function& function) {
    llvm::FunctionPassManager passes;
    passes.addPass(llvm::SLPVectorizerPass());
    passes.addPass(llvm::VectorCombinePass());
    passes.addPass(llvm::EarlyCSEPass());
    passes.addPass(llvm::InstCombinePass());
    passes.run(function, functions_);
    functions_.clear();
  }

 private:
  llvm::PassBuilder builder_;
  llvm::LoopAnalysisManager loops_;
  llvm::FunctionAnalysisManager functions_;
  llvm::CGSCCAnalysisManager graphs_;
  llvm::ModuleAnalysisManager modules_;
};

std::vector<llvm::CallInst*> calls_of(llvm::Function& function, llvm::StringRef name) {
  std::vector<llvm::CallInst*> calls;
  for (Instruction& instruction : llvm::instructions(function)) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (call && call->getCalledFunction() && call->getCalledFunction()->getName() == name) calls.push_back(call);
  }
  return calls;
}

// The function while it is made: the arguments of a handler, and the word.
class Draft {
 public:
  Draft(llvm::Module& module, llvm::TargetMachine& target, Expressions& expressions)
      : module_(module), target_(target), expressions_(expressions), builder_(module.getContext()) {
    llvm::Type* pointer = builder_.getPtrTy();
    llvm::Type* number = builder_.getInt64Ty();
    next_ = llvm::StructType::get(pointer, number);
    handler_ = llvm::FunctionType::get(next_, {pointer, pointer, pointer, number}, false);
    auto* type = llvm::FunctionType::get(next_, {pointer, pointer, pointer, number, number, number}, false);
    function_ = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, "draft", module);
    function_->setDoesNotThrow();
    leaves_ = {{function_->getArg(4), Operation::kOperands}, {function_->getArg(5), Operation::kPc}};
    builder_.SetInsertPoint(BasicBlock::Create(module.getContext(), "entry", function_));
  }
  ~Draft() {
    if (function_) function_->eraseFromParent();
  }

  Value* state() { return function_->getArg(interpreter::kStateArgument); }
  Value* cpu() { return at(state(), u64(-interpreter::kStateBias)); }
  Value* entry() { return function_->getArg(interpreter::kEntryArgument); }
  Value* context() { return function_->getArg(interpreter::kContextArgument); }
  Value* budget() { return function_->getArg(interpreter::kBudgetArgument); }
  Value* operands() { return function_->getArg(4); }
  Value* pc() { return function_->getArg(5); }
  llvm::IRBuilder<>& builder() { return builder_; }
  llvm::Function& function() { return *function_; }

  bool row(llvm::Function& meaning);
  void end_row(isa::Flow flow);
  void lower_window_checks();
  bool branch(const Request& request);
  bool simplify_writes(Writes writes, std::vector<u32>* slots);
  llvm::Function* finish(const std::string& name, bool opaque);

  void go_to(Value* callee, Value* entry, Value* budget);
  void go_to(const char* name, Value* entry, Value* budget) {
    auto callee = module_.getOrInsertFunction(name, handler_);
    llvm::cast<llvm::Function>(callee.getCallee())->setCallingConv(kConvention);
    go_to(callee.getCallee(), entry, budget);
  }
  void run_entry(Value* entry, Value* budget) {
    go_to(builder_.CreateLoad(builder_.getPtrTy(), at(entry, offsetof(Entry, run))), entry, budget);
  }
  Value* entries() { return builder_.CreateLoad(builder_.getPtrTy(), at(context(), offsetof(Context, entries))); }
  // The entry of an address in the current page.
  Value* entry_in_page(Value* address) {
    Value* offset = builder_.CreateMul(builder_.CreateAnd(address, kInPage), builder_.getInt64(kEntryBytes / 4));
    return builder_.CreateGEP(builder_.getInt8Ty(), entries(), offset);
  }

 private:
  Value* at(Value* base, u64 offset) { return builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), base, offset); }
  Value* at(Value* base, Value* offset) { return builder_.CreateGEP(builder_.getInt8Ty(), base, offset); }
  BasicBlock* block(const char* name) { return BasicBlock::Create(module_.getContext(), name, function_); }
  void end_in_tail_calls(llvm::Function& made);
  void expand_copies();
  bool bail_at(Instruction* read);
  bool move_pc(llvm::AllocaInst* home);
  bool split_off_next(Value*& distance);
  void branch_near(Value* target, Value* distance);
  void branch_far(Value* target);
  void pause_or_run(Value* entry, Value* budget);
  void fold_offsets();
  bool offset_of_word(Value* pointer, Value*& base, Value*& offset, u64& constant);
  bool may_write_slot(const llvm::StoreInst& store) const;
  Value* hole(Value* value, Instruction* before, bool opaque);
  void fill_holes(bool opaque);

  llvm::Module& module_;
  llvm::TargetMachine& target_;
  Expressions& expressions_;
  llvm::IRBuilder<> builder_;
  llvm::StructType* next_;
  llvm::FunctionType* handler_;
  llvm::Function* function_;
  Leaves leaves_;
  llvm::AllocaInst* pc_home_ = nullptr;
  std::set<const Value*> beyond_slots_;  // pointers to vector registers that depend on the word
  std::map<const Value*, u32> slots_;  // pointers to general registers that depend on the word: their expressions
};

// Ends stay apart: the passes would merge returns. finish() makes tail calls of them.
void Draft::go_to(Value* callee, Value* entry, Value* budget) {
  auto end = module_.getOrInsertFunction("kvrm_end", builder_.getVoidTy(), builder_.getPtrTy(), builder_.getPtrTy(),
                                         builder_.getInt64Ty());
  builder_.CreateCall(end, {callee, entry, budget});
  builder_.CreateUnreachable();
}

void Draft::end_in_tail_calls(llvm::Function& made) {
  for (llvm::CallInst* end : calls_of(made, "kvrm_end")) {
    builder_.SetInsertPoint(end);
    llvm::CallInst* call = builder_.CreateCall(handler_, end->getArgOperand(0),
                                               {end->getArgOperand(1), made.getArg(interpreter::kStateArgument),
                                                made.getArg(interpreter::kContextArgument), end->getArgOperand(2)});
    call->setCallingConv(kConvention);
    if (KVRM_TAIL_CALLS) call->setTailCallKind(llvm::CallInst::TCK_MustTail);
    builder_.CreateRet(call);
    end->getParent()->getTerminator()->eraseFromParent();
    end->eraseFromParent();
  }
}

// Inlines the row's function; if it traps, the interpreter runs the word.
bool Draft::row(llvm::Function& meaning) {
  pc_home_ = builder_.CreateAlloca(builder_.getInt64Ty());
  builder_.CreateStore(pc(), pc_home_);
  Value* tlb = builder_.CreateLoad(builder_.getPtrTy(), at(context(), offsetof(Context, translations)));
  Value* window = builder_.CreateLoad(builder_.getPtrTy(), at(context(), offsetof(Context, window)));
  llvm::CallInst* call = builder_.CreateCall(&meaning, {cpu(), tlb, window, operands()});
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
  expand_copies();
  const bool is_good = move_pc(pc_home_);
  builder_.restoreIP(end);
  return is_good;
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

// Whether an address is outside the window: that of its base, if guard space covers the rest.
void Draft::lower_window_checks() {
  const llvm::DataLayout& layout = module_.getDataLayout();
  for (llvm::CallInst* check : calls_of(*function_, "kvrm_outside_window")) {
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
    static_assert(memory::Window::kBytes == u64{1} << 39 && memory::Window::kGuardBytes >= u64{1} << 32);
    check->replaceAllUsesWith(builder_.CreateICmpNE(builder_.CreateLShr(address, 39), builder_.getInt64(0)));
    check->eraseFromParent();
  }
}

// What follows the row; for a branch a mark that branch() replaces when the target is simplified.
void Draft::end_row(isa::Flow flow) {
  if (flow == isa::Flow::kNext) {
    go_to(kNextName, entry(), budget());
    return;
  }
  auto mark = module_.getOrInsertFunction("kvrm_mark", builder_.getVoidTy(), builder_.getInt64Ty());
  Value* target = builder_.CreateLoad(builder_.getInt64Ty(), pc_home_);
  builder_.CreateCall(mark, {builder_.CreateSub(target, pc())});
  builder_.CreateUnreachable();
}

// A branch whose target is the next word is as good as one that is not taken.
bool Draft::branch(const Request& request) {
  const std::vector<llvm::CallInst*> marks = calls_of(*function_, "kvrm_mark");
  for (llvm::CallInst* mark : marks) {
    Value* distance = mark->getArgOperand(0);
    BasicBlock* here = mark->getParent();
    here->getTerminator()->eraseFromParent();
    mark->eraseFromParent();
    builder_.SetInsertPoint(here);
    if (request.flow == isa::Flow::kConditional && !split_off_next(distance)) return false;
    if (request.form == kNear && !is_of_word(distance, leaves_)) return false;
    Value* target = builder_.CreateAdd(pc(), distance);
    request.form == kNear ? branch_near(target, distance) : branch_far(target);
  }
  return request.flow == isa::Flow::kNext || !marks.empty();
}

// Goes on to the next word unless the branch is taken; then `distance` is that of the target.
bool Draft::split_off_next(Value*& distance) {
  const auto is_next = [](Value* value) {
    const auto* number = llvm::dyn_cast<llvm::ConstantInt>(value);
    return number && number->equalsInt(4);
  };
  auto* choice = llvm::dyn_cast<llvm::SelectInst>(distance);
  if (!choice) return llvm::isa<llvm::Constant>(distance) || is_of_word(distance, leaves_);  // AL and NV
  const bool taken_if = !is_next(choice->getTrueValue());
  if (!is_next(taken_if ? choice->getFalseValue() : choice->getTrueValue())) return false;
  BasicBlock* next = block("next");
  BasicBlock* taken = block("taken");
  builder_.CreateCondBr(choice->getCondition(), taken_if ? taken : next, taken_if ? next : taken);
  builder_.SetInsertPoint(next);
  go_to(kNextName, entry(), budget());
  builder_.SetInsertPoint(taken);
  distance = taken_if ? choice->getTrueValue() : choice->getFalseValue();
  return true;
}

void Draft::pause_or_run(Value* entry, Value* budget) {
  Value* left = builder_.CreateSub(budget, builder_.CreatePtrToInt(entry, builder_.getInt64Ty()));
  BasicBlock* pause = block("pause");
  BasicBlock* run = block("run");
  builder_.CreateCondBr(builder_.CreateICmpSLT(left, builder_.getInt64(u64(interpreter::kCheckInterval))), pause, run,
                        unlikely(module_.getContext()));
  builder_.SetInsertPoint(pause);
  go_to("kvrm_stencil_pause", entry, budget);
  builder_.SetInsertPoint(run);
  run_entry(entry, budget);
}

// To a word of the same page: as far as the target is from the next word, as much changes the budget's bias.
void Draft::branch_near(Value* target, Value* distance) {
  Value* entry = entry_in_page(target);
  Value* in_entries = builder_.CreateNSWMul(distance, builder_.getInt64(kEntryBytes / 4));
  Value* bias = builder_.CreateNSWSub(in_entries, builder_.getInt64(kEntryBytes));
  pause_or_run(entry, builder_.CreateAdd(budget(), bias));
}

// As find_entry(), inline.
void Draft::branch_far(Value* target) {
  Value* here = builder_.CreatePtrToInt(entry_in_page(pc()), builder_.getInt64Ty());
  Value* left = builder_.CreateSub(builder_.CreateSub(budget(), here), builder_.getInt64(kEntryBytes));
  static_assert(sizeof(Context::CachedPage) == 16 && memory::kPageShift > 4);
  Value* number = builder_.CreateAnd(builder_.CreateLShr(target, memory::kPageShift - 4),
                                     u64{Context::kCachedPages - 1} * sizeof(Context::CachedPage));
  Value* cached = at(at(context(), number), offsetof(Context, pages));
  Value* page = builder_.CreateAnd(target, ~kInPage);
  Value* address = builder_.CreateLoad(builder_.getInt64Ty(), at(cached, offsetof(Context::CachedPage, address)));
  BasicBlock* found = block("found");
  BasicBlock* search = block("search");
  builder_.CreateCondBr(builder_.CreateICmpEQ(address, page), found, search, likely(module_.getContext()));
  builder_.SetInsertPoint(search);
  builder_.CreateStore(target, at(cpu(), offsetof(Cpu, pc)));
  go_to("kvrm_region_go", entry(), left);
  builder_.SetInsertPoint(found);
  Value* entries = builder_.CreateLoad(builder_.getPtrTy(), at(cached, offsetof(Context::CachedPage, entries)));
  builder_.CreateStore(page, at(context(), offsetof(Context, page_address)));
  builder_.CreateStore(entries, at(context(), offsetof(Context, entries)));
  Value* entry =
      at(entries, builder_.CreateMul(builder_.CreateAnd(target, kInPage), builder_.getInt64(kEntryBytes / 4)));
  pause_or_run(entry, builder_.CreateAdd(left, builder_.CreatePtrToInt(entry, builder_.getInt64Ty())));
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
    const auto* store = llvm::dyn_cast<llvm::StoreInst>(access);
    if (!store || llvm::getUnderlyingObject(base) != state()) continue;
    if (constant >= sizeof(Cpu::x)) beyond_slots_.insert(pointer);
    const llvm::KnownBits bits = llvm::computeKnownBits(offset, module_.getDataLayout());
    if (bits.getMaxValue().ugt(255 * 8) || store->getValueOperand()->getType() != builder_.getInt64Ty()) continue;
    if (const auto expression = expressions_.of(offset, leaves_)) slots_[pointer] = *expression;
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
bool Draft::simplify_writes(Writes writes, std::vector<u32>* slots) {
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
    written.insert(slot->second);
    others.push_back(store);
  }
  if (slots) slots->assign(written.begin(), written.end());
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
  return builder_.CreateCall(llvm::InlineAsm::get(type, text, "=r,i", false), {symbol(kHolePrefix)});
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

// The handler: the same body without the word.
llvm::Function* Draft::finish(const std::string& name, bool opaque) {
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
    map[function_->getArg(i)] =
        i < 4 ? static_cast<Value*>(made->getArg(i)) : llvm::PoisonValue::get(function_->getArg(i)->getType());
  }
  llvm::SmallVector<llvm::ReturnInst*> returns;
  llvm::CloneFunctionInto(made, function_, map, llvm::CloneFunctionChangeType::LocalChangesOnly, returns);
  made->setCallingConv(kConvention);
  end_in_tail_calls(*made);
  Passes(target_).run(*made);
  return made;
}

}  // namespace

llvm::Function* Specializer::make(const Request& request, std::vector<u32>* slots) {
  Draft draft(module_, target_, expressions_);
  if (!draft.row(*request.meaning)) return nullptr;
  draft.end_row(request.flow);
  Passes(target_).run(draft.function());
  draft.lower_window_checks();
  if (!draft.branch(request)) return nullptr;
  Passes(target_).run(draft.function());
  Passes(target_).vectorize(draft.function());
  if (!draft.simplify_writes(request.writes, slots)) return nullptr;
  return draft.finish(request.name, request.opaque);
}

llvm::Function* Specializer::make_plain(const std::string& name) {
  Draft draft(module_, target_, expressions_);
  llvm::IRBuilder<>& builder = draft.builder();
  Value* entry = draft.entry_in_page(draft.pc());
  Value* number = builder.CreateLShr(builder.CreateAnd(draft.pc(), kInPage), 2);
  Value* offset = builder.CreateAdd(builder.CreateMul(number, builder.getInt64(sizeof(interpreter::Handler))),
                                    builder.getInt64(offsetof(interpreter::DecodedPage, plain)));
  Value* plain = builder.CreateGEP(builder.getInt8Ty(), draft.entries(), offset);
  draft.go_to(builder.CreateLoad(builder.getPtrTy(), plain), entry, draft.budget());
  return draft.finish(name, false);
}

llvm::Function* Specializer::make_go_on(const std::string& name) {
  Draft draft(module_, target_, expressions_);
  Value* entry = draft.entry_in_page(draft.pc());
  Value* next = draft.builder().CreateConstGEP1_64(draft.builder().getInt8Ty(), entry, kEntryBytes);
  draft.run_entry(next, draft.budget());
  return draft.finish(name, false);
}

}  // namespace kvrm::translator::stencils
