// A stencil while it is made: the row's function, then what follows it, then holes for what depends on the word.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Passes/PassBuilder.h>

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "interpreter/entry.h"
#include "translator/stencils/specialize.h"

namespace kvrm::translator::stencils {

using interpreter::Context;
using interpreter::Entry;
using llvm::BasicBlock;
using llvm::Instruction;
using llvm::Value;

inline constexpr llvm::CallingConv::ID kConvention =
    KVRM_HANDLER_KEEPS_NOTHING ? llvm::CallingConv::PreserveNone : llvm::CallingConv::C;
inline constexpr u64 kInPage = (interpreter::kWordsPerPage - 1) * 4;
inline constexpr u64 kEntryBytes = sizeof(Entry);

// Of a stencil's function; those before are a handler's.
inline constexpr u32 kCachedArgument = interpreter::kWindowArgument + 1, kWordArgument = kCachedArgument + 1;

// Passes on one function.
class Passes {
 public:
  explicit Passes(llvm::TargetMachine& target);
  void run(llvm::Function& function);
  // Operations on elements become operations on vectors, as far as the target has them.
  void vectorize(llvm::Function& function);

 private:
  llvm::PassBuilder builder_;
  llvm::LoopAnalysisManager loops_;
  llvm::FunctionAnalysisManager functions_;
  llvm::CGSCCAnalysisManager graphs_;
  llvm::ModuleAnalysisManager modules_;
};

std::vector<llvm::CallInst*> calls_of(llvm::Function& function, llvm::StringRef name);

// The function while it is made: the arguments of a handler, and the word.
class Draft {
 public:
  Draft(llvm::Module& module, llvm::TargetMachine& target, Expressions& expressions)
      : module_(module), target_(target), expressions_(expressions), builder_(module.getContext()) {
    llvm::Type* pointer = builder_.getPtrTy();
    llvm::Type* number = builder_.getInt64Ty();
    next_ = llvm::StructType::get(pointer, number);
    // A handler's arguments, and the cached register. Code outside of stencils ignores it.
    std::vector<llvm::Type*> arguments{pointer, pointer, pointer, number, pointer, number};
    handler_ = llvm::FunctionType::get(next_, arguments, false);
    arguments.insert(arguments.end(), {number, number, number, number});
    auto* type = llvm::FunctionType::get(next_, arguments, false);
    function_ = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, "draft", module);
    function_->setDoesNotThrow();
    leaves_ = {{function_->getArg(kWordArgument), Operation::kOperands},
               {function_->getArg(kWordArgument + 1), Operation::kPc},
               {function_->getArg(kWordArgument + 2), Operation::kNextOperands},
               {function_->getArg(kWordArgument + 3), Operation::kNextPc}};
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
  Value* window() { return function_->getArg(interpreter::kWindowArgument); }
  Value* cached() { return function_->getArg(kCachedArgument); }
  // Of the word, or of the second one of a pair.
  Value* operands() { return function_->getArg(kWordArgument + (is_second_ ? 2 : 0)); }
  Value* pc() { return function_->getArg(kWordArgument + (is_second_ ? 3 : 1)); }
  llvm::IRBuilder<>& builder() { return builder_; }
  llvm::Function& function() { return *function_; }

  bool row(llvm::Function& meaning);
  bool second_row(llvm::Function& meaning) {
    is_second_ = true;
    return row(meaning);
  }
  bool may_bail();
  void forward_flags();
  void end_row(isa::Flow flow);
  void vectorize();
  // Returns the slot of the register that is asked for, kNone: none. `unchecked`: that register is known to be in the
  // window.
  u32 lower_window_checks(bool unchecked);
  void go_on_if_in_window(Value* address);
  void select_word_values();
  bool branch(const Request& request);
  bool simplify_writes(Writes writes, Registers& registers);
  void describe_writes(Registers& registers);
  void cache_registers(const Request& request, Registers& registers);
  llvm::Function* finish(const std::string& name, bool opaque);

  // `cached`: null: nothing.
  void go_to(Value* callee, Value* entry, Value* budget, Value* cached = nullptr);
  void go_to(const char* name, Value* entry, Value* budget, Value* cached = nullptr) {
    auto callee = module_.getOrInsertFunction(name, handler_);
    llvm::cast<llvm::Function>(callee.getCallee())->setCallingConv(kConvention);
    go_to(callee.getCallee(), entry, budget, cached);
  }
  void run_entry(Value* entry, Value* budget) {
    go_to(builder_.CreateLoad(builder_.getPtrTy(), at(entry, offsetof(Entry, run))), entry, budget);
  }
  Value* entries() { return builder_.CreateLoad(builder_.getPtrTy(), at(context(), offsetof(Context, entries))); }
  // Of an address' entry among those of its page.
  Value* offset_in_page(Value* address) {
    return builder_.CreateMul(builder_.CreateAnd(address, kInPage), builder_.getInt64(kEntryBytes / 4));
  }
  // The entry of an address in the current page.
  Value* entry_in_page(Value* address) { return at(entries(), offset_in_page(address)); }
  // A value that is known to fit into a displacement.
  Value* as_short(Value* value) {
    return builder_.CreateSExt(builder_.CreateTrunc(value, builder_.getIntNTy(31)), builder_.getInt64Ty());
  }

 private:
  Value* at(Value* base, u64 offset) { return builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), base, offset); }
  Value* at(Value* base, Value* offset) { return builder_.CreateGEP(builder_.getInt8Ty(), base, offset); }
  BasicBlock* block(const char* name) { return BasicBlock::Create(module_.getContext(), name, function_); }
  void end_in_tail_calls(llvm::Function& made);
  void keep_selects(llvm::Function& made);
  bool stores_flag(const Instruction& instruction);
  void read_zeros();
  void expand_copies();
  bool bail_at(Instruction* read);
  bool move_pc(llvm::AllocaInst* home);
  bool split_off_next(Value*& distance, Form form);
  void branch_near(Value* target, Value* distance);
  bool branch_forward(Value* target, Value* distance);
  Value* biased_for(Value* distance);
  void branch_far(Value* target);
  void pause_or_run(Value* entry, Value* budget);
  void fold_offsets();
  bool is_of_word_or_constant(const Value* value) const {
    return llvm::isa<llvm::ConstantInt>(value) || is_of_word(value, leaves_);
  }
  Value* is_outside_window(Value* address);
  u32 slot_of(Value* loaded);
  bool always_asks(llvm::ArrayRef<llvm::CallInst*> checks);
  Written written_by(llvm::StoreInst& store, u32 slot, llvm::ArrayRef<llvm::LoadInst*> early_reads);
  bool select_word_value(llvm::PHINode& phi);
  Value* compute_before(Value* value, Instruction* before);
  bool offset_of_word(Value* pointer, Value*& base, Value*& offset, u64& constant);
  bool may_write_slot(const llvm::StoreInst& store) const;
  std::vector<llvm::LoadInst*> reads_before_writes();
  bool writes_fixed_slot(const llvm::StoreInst& store);
  u32 cached_after(const Request& request);
  Value* hole(Value* value, Instruction* before, bool opaque);
  void add_negatives();
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
  bool is_second_ = false;
  std::set<const Value*> beyond_slots_;  // pointers to vector registers that depend on the word
  // Pointers to general registers that depend on the word: their expressions. Where whole registers are written, and
  // where they are read.
  std::map<const Value*, u32> slots_, read_slots_;
};

}  // namespace kvrm::translator::stencils
