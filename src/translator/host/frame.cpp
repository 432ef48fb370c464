#include "translator/host/frame.h"

#include <llvm/IR/Module.h>

#include <algorithm>
#include <cstddef>

#include "base/cpu.h"
#include "interpreter/entry.h"
#include "memory/freestanding/page.h"
#include "semantics/float_format.h"
#include "translator/freestanding/links.h"
#include "translator/likely.h"

namespace kvrm::translator {
namespace {

using interpreter::Context;
using interpreter::Entry;
using llvm::Value;

Value* at(llvm::IRBuilder<>& builder, Value* base, u64 offset) {
  return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), base, offset);
}

constexpr llvm::CallingConv::ID kConvention =
    KVRM_HANDLER_KEEPS_NOTHING ? llvm::CallingConv::PreserveNone : llvm::CallingConv::C;

}  // namespace

u64 HostFrame::budget_per_instruction() const { return interpreter::kBudgetPerInstruction; }

// The handler after an exit may run a page of straight-line code before it checks the budget.
u64 HostFrame::least_budget(u32 words) const {
  static_assert(PlanLimits{}.words * interpreter::kBudgetPerInstruction == interpreter::kUsualRegion);
  const u64 region = std::max(words * budget_per_instruction(), static_cast<u64>(interpreter::kUsualRegion));
  return region + static_cast<u64>(interpreter::kStraightLine);
}

llvm::FunctionType* HostFrame::handler_type(llvm::IRBuilder<>& builder) const {
  llvm::Type* next = llvm::StructType::get(builder.getPtrTy(), builder.getInt64Ty());
  return llvm::FunctionType::get(
      next, {builder.getPtrTy(), builder.getPtrTy(), builder.getPtrTy(), builder.getInt64Ty(), builder.getPtrTy()},
      false);
}

llvm::Function* HostFrame::handler(const char* name) {
  auto* found =
      llvm::cast<llvm::Function>(module_->getOrInsertFunction(name, function_->getFunctionType()).getCallee());
  found->setCallingConv(kConvention);
  return found;
}

FrameStart HostFrame::begin(llvm::Module& module, llvm::IRBuilder<>& builder, const std::string& name,
                            const Plan& plan) {
  module_ = &module;
  entry_pc_ = plan.blocks.front().address;
  uses_window_ = plan.uses_window;
  function_ = llvm::Function::Create(handler_type(builder), llvm::GlobalValue::ExternalLinkage, name, module);
  function_->setCallingConv(kConvention);
  function_->setDoesNotThrow();
  function_->addFnAttr("target-cpu", cpu_name_);
  function_->addFnAttr("target-features", features_);
  function_->addParamAttr(interpreter::kStateArgument, llvm::Attribute::NoAlias);
  function_->addParamAttr(interpreter::kStateArgument, llvm::Attribute::NoUndef);
  builder.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function_));

  // The code is for one address; its page may be mapped at others.
  Value* page = builder.CreateLoad(
      builder.getInt64Ty(), at(builder, argument(interpreter::kContextArgument), offsetof(Context, page_address)));
  require(builder, builder.CreateICmpEQ(page, builder.getInt64(entry_pc_ & ~(memory::kPageSize - 1))),
          "kvrm_region_elsewhere");
  if (plan.default_fp_mode) {
    Value* fpcr = builder.CreateLoad(builder.getInt32Ty(), home(builder, offsetof(Cpu, fpcr)));
    Value* fpsr = builder.CreateLoad(builder.getInt32Ty(), home(builder, offsetof(Cpu, fpsr)));
    Value* exact = builder.CreateAnd(builder.CreateNot(fpsr), u64{semantics::kInexact});
    require(builder, builder.CreateICmpEQ(builder.CreateOr(fpcr, exact), builder.getInt32(0)),
            "kvrm_region_other_fp_mode");
  }
  Value* address = builder.CreatePtrToInt(argument(interpreter::kEntryArgument), builder.getInt64Ty());
  return {function_, builder.CreateSub(argument(interpreter::kBudgetArgument), address)};
}

u64 HostFrame::links_size() const { return sizeof(Links); }

llvm::Argument* HostFrame::argument(interpreter::HandlerArgument which) const { return function_->getArg(which); }

Value* HostFrame::home(llvm::IRBuilder<>& builder, u64 offset) {
  return at(builder, argument(interpreter::kStateArgument), offset - static_cast<u64>(interpreter::kStateBias));
}

void HostFrame::require(llvm::IRBuilder<>& builder, Value* condition, const char* otherwise) {
  auto* good = llvm::BasicBlock::Create(module_->getContext(), "good", function_);
  auto* bad = llvm::BasicBlock::Create(module_->getContext(), "bad", function_);
  builder.CreateCondBr(condition, good, bad, likely(module_->getContext()));
  builder.SetInsertPoint(bad);
  go_on(builder, handler(otherwise), argument(interpreter::kEntryArgument), argument(interpreter::kBudgetArgument));
  builder.SetInsertPoint(good);
}

void HostFrame::fill_links(llvm::IRBuilder<>& builder, Value* links, u32 /*number*/) {
  Value* context = argument(interpreter::kContextArgument);
  Value* cache = builder.CreateLoad(builder.getPtrTy(), at(builder, context, offsetof(Context, translations)));
  Value* mmu = builder.CreateLoad(builder.getPtrTy(), at(builder, context, offsetof(Context, mmu)));
  builder.CreateStore(cache, at(builder, links, offsetof(Links, translations)));
  builder.CreateStore(mmu, at(builder, links, offsetof(Links, mmu)));
  builder.CreateStore(argument(interpreter::kWindowArgument), at(builder, links, offsetof(Links, window)));
}

// Where lanes have no window, nothing reads that argument: it need not stay in a register.
void HostFrame::go_on(llvm::IRBuilder<>& builder, Value* handler, Value* entry, Value* last) {
  Value* window = uses_window_ ? static_cast<Value*>(argument(interpreter::kWindowArgument))
                               : llvm::ConstantPointerNull::get(builder.getPtrTy());
  llvm::CallInst* call = builder.CreateCall(
      handler_type(builder), handler,
      {entry, argument(interpreter::kStateArgument), argument(interpreter::kContextArgument), last, window});
  call->setCallingConv(kConvention);
  if (KVRM_TAIL_CALLS) call->setTailCallKind(llvm::CallInst::TCK_MustTail);
  builder.CreateRet(call);
}

void HostFrame::set_pc(llvm::IRBuilder<>& builder, Value* pc) {
  builder.CreateStore(pc, home(builder, offsetof(Cpu, pc)));
}

void HostFrame::go_on_at(llvm::IRBuilder<>& builder, Value* entry, Value* budget) {
  Value* address = builder.CreatePtrToInt(entry, builder.getInt64Ty());
  Value* run = builder.CreateLoad(builder.getPtrTy(), at(builder, entry, offsetof(Entry, run)));
  go_on(builder, run, entry, builder.CreateAdd(address, budget));
}

// As find_entry(), inline: the processor predicts each exit by itself. With a constant pc most of this folds.
void HostFrame::go_on_in_page(llvm::IRBuilder<>& builder, Value* pc, Value* budget) {
  Value* context = argument(interpreter::kContextArgument);
  Value* number = builder.CreateAnd(builder.CreateLShr(pc, memory::kPageShift), u64{Context::kCachedPages - 1});
  Value* known = builder.CreateInBoundsGEP(builder.getInt8Ty(), at(builder, context, offsetof(Context, pages)),
                                           builder.CreateMul(number, builder.getInt64(sizeof(Context::CachedPage))));
  Value* address = builder.CreateLoad(builder.getInt64Ty(), at(builder, known, offsetof(Context::CachedPage, address)));
  constexpr u64 kInPage = (interpreter::kWordsPerPage - 1) * 4;
  Value* page = builder.CreateAnd(pc, ~kInPage);
  Value* found = builder.CreateICmpEQ(address, page);

  auto* here = llvm::BasicBlock::Create(module_->getContext(), "here", function_);
  auto* search = llvm::BasicBlock::Create(module_->getContext(), "search", function_);
  builder.CreateCondBr(found, here, search, likely(module_->getContext()));
  builder.SetInsertPoint(search);
  set_pc(builder, pc);
  go_on(builder, handler("kvrm_region_go"), argument(interpreter::kEntryArgument), budget);

  builder.SetInsertPoint(here);
  Value* entries = builder.CreateLoad(builder.getPtrTy(), at(builder, known, offsetof(Context::CachedPage, entries)));
  builder.CreateStore(page, at(builder, context, offsetof(Context, page_address)));
  builder.CreateStore(entries, at(builder, context, offsetof(Context, entries)));
  Value* index = builder.CreateAnd(pc, kInPage);
  static_assert(sizeof(Entry) == 16);
  go_on_at(builder, builder.CreateInBoundsGEP(builder.getInt8Ty(), entries, builder.CreateShl(index, 2)), budget);
}

// Within the entry's page the target's entry is at a constant offset.
void HostFrame::leave_to(llvm::IRBuilder<>& builder, u64 pc, Value* budget) {
  if ((pc ^ entry_pc_) >= memory::kPageSize) {
    go_on_in_page(builder, builder.getInt64(pc), budget);
    return;
  }
  const i64 offset = static_cast<i64>(pc - entry_pc_) / 4 * static_cast<i64>(sizeof(Entry));
  go_on_at(builder,
           builder.CreateGEP(builder.getInt8Ty(), argument(interpreter::kEntryArgument),
                             builder.getInt64(static_cast<u64>(offset))),
           budget);
}

void HostFrame::leave_to_register(llvm::IRBuilder<>& builder, Value* pc, Value* budget) {
  go_on_in_page(builder, pc, budget);
}

void HostFrame::pause(llvm::IRBuilder<>& builder, u64 pc, Value* budget) {
  set_pc(builder, builder.getInt64(pc));
  go_on(builder, handler("kvrm_region_pause"), argument(interpreter::kEntryArgument), budget);
}

void HostFrame::trap(llvm::IRBuilder<>& builder, u64 pc, Value* budget, Value* trap) {
  builder.CreateStore(trap, at(builder, argument(interpreter::kContextArgument), offsetof(Context, trap)));
  set_pc(builder, builder.getInt64(pc));
  go_on(builder, handler("kvrm_region_trap"), argument(interpreter::kEntryArgument), budget);
}

}  // namespace kvrm::translator
