#include "translator/gpu/frame.h"

#include <llvm/IR/Module.h>

#include <algorithm>
#include <cstddef>

#include "base/cpu.h"
#include "isa/decode.h"
#include "semantics/float_format.h"
#include "translator/freestanding/lane_links.h"
#include "translator/likely.h"
#include "translator/passes/shared_exits.h"

namespace kvrm::translator {
namespace {

using llvm::Value;

// In a region the vector registers are part of the state.
using Resident = RegionLane;
using ResidentCpu = decltype(Resident::cpu);

u32 base_of(u32 word) { return word >> 5 & 31; }

}  // namespace

GpuFrame::GpuFrame(const Plan& plan, LaneKind kind, unsigned space, u32 most_to_inline)
    : kind_(kind),
      inlines_lookups_(kind.alone && plan.words <= most_to_inline),
      forgets_(kind.alone && !kind.shares_memory && !inlines_lookups_),
      space_(space) {
  std::array<std::pair<u32, u32>, 32> uses;  // how many, and of which register
  for (u32 i = 0; i < uses.size(); ++i) uses[i] = {0, i};
  for (const PlanBlock& block : plan.blocks) {
    for (u32 i = 0; i < block.words.size(); ++i) {
      if (isa::facts(block.rows[i]).routing == isa::Class::kLoadStore) ++uses[base_of(block.words[i])].first;
    }
  }
  std::ranges::sort(uses, std::ranges::greater{});
  for (u32 i = 0; i < kBases; ++i) bases_[i] = uses[i].second;
}

FrameStart GpuFrame::begin(llvm::Module& module, llvm::IRBuilder<>& builder, const std::string& name,
                           const Plan& plan) {
  llvm::LLVMContext& context = module.getContext();
  auto* end = llvm::StructType::get(builder.getInt32Ty(), builder.getInt32Ty());
  auto* number = builder.getInt32Ty();
  auto* type = llvm::FunctionType::get(end, {llvm::PointerType::get(context, space_), number, number}, false);
  function_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
  function_->setDoesNotThrow();
  function_->addParamAttr(0, llvm::Attribute::NoAlias);
  function_->addParamAttr(0, llvm::Attribute::NoUndef);
  function_->addParamAttr(0, llvm::Attribute::getWithAlignment(context, llvm::Align(8)));
  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function_));
  resident_ = space_ == 0 ? static_cast<Value*>(function_->getArg(0))
                          : builder.CreateAddrSpaceCast(function_->getArg(0), builder.getPtrTy());
  if (plan.default_fp_mode) require_default_fp_mode(builder);
  return {function_, function_->getArg(1), function_->getArg(2)};
}

// Otherwise the region does not start.
void GpuFrame::require_default_fp_mode(llvm::IRBuilder<>& builder) {
  Value* fpcr = builder.CreateLoad(builder.getInt32Ty(), at(builder, offsetof(Cpu, fpcr)));
  Value* fpsr = builder.CreateLoad(builder.getInt32Ty(), at(builder, offsetof(Cpu, fpsr)));
  Value* exact = builder.CreateAnd(builder.CreateNot(fpsr), u64{semantics::kInexact});
  auto* matches = llvm::BasicBlock::Create(builder.getContext(), "default_fp", function_);
  auto* differs = llvm::BasicBlock::Create(builder.getContext(), "other_fp", function_);
  builder.CreateCondBr(builder.CreateICmpEQ(builder.CreateOr(fpcr, exact), builder.getInt32(0)), matches, differs,
                       likely(builder.getContext()));
  builder.SetInsertPoint(differs);
  // The interpreter runs the instruction, in the same time slice.
  Value* pc = builder.CreateLoad(builder.getInt64Ty(), at(builder, offsetof(Cpu, pc)));
  leave(builder, pc, function_->getArg(1), builder.getInt32(static_cast<u32>(Trap::kFallback)));
  builder.SetInsertPoint(matches);
}

Value* GpuFrame::at(llvm::IRBuilder<>& builder, u64 offset) {
  return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), resident_, offset);
}

u64 GpuFrame::links_size() const { return sizeof(LaneLinks); }

u32 GpuFrame::links_of(const PlanBlock& block, u32 index) {
  if (forgets_) return std::ranges::find(block.l2_lookups, index) != block.l2_lookups.end() ? kL2Links : 0;
  return static_cast<u32>(std::ranges::find(bases_, base_of(block.words[index])) - bases_.begin());
}

void GpuFrame::fill_links(llvm::IRBuilder<>& builder, Value* links, u32 number) {
  const auto set = [&](u64 offset, Value* value) {
    builder.CreateStore(value, builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), links, offset));
  };
  set(offsetof(LaneLinks, pages), at(builder, offsetof(Resident, pages)));
  set(offsetof(LaneLinks, readable), builder.getInt64(memory::kNoLanePage));
  set(offsetof(LaneLinks, writable), builder.getInt64(memory::kNoLanePage));
  set(offsetof(LaneLinks, page), builder.getInt64(0));
  set(offsetof(LaneLinks, alone), builder.getInt64(kind_.alone));
  set(offsetof(LaneLinks, shares_memory), builder.getInt64(kind_.shares_memory));
  set(offsetof(LaneLinks, in_place), builder.getInt64(inlines_lookups_));
  set(offsetof(LaneLinks, forgets), builder.getInt64(forgets_));
  set(offsetof(LaneLinks, gives_up), builder.getInt64(forgets_ && number != kL2Links));
  const bool has_window = forgets_ && kind_.window_shift != 0;
  if (!window_) window_ = has_window ? load_window(builder) : builder.getInt64(0);
  set(offsetof(LaneLinks, window), window_);
  set(offsetof(LaneLinks, window_mask), builder.getInt64(has_window ? (u64{1} << kind_.window_shift) - 1 : 0));
}

Value* GpuFrame::load_window(llvm::IRBuilder<>& builder) {
  static_assert(sizeof(Resident) == offsetof(Resident, pages) + sizeof(memory::LaneTlb));
  constexpr u64 kWindow = memory::kAloneL1Gap + memory::kAloneL1Slots * sizeof(memory::LaneTlbEntry);
  return builder.CreateLoad(builder.getInt64Ty(), at(builder, sizeof(Resident) + kWindow));
}

// What lies before the vector registers has the same offset in both views.
Value* GpuFrame::home(llvm::IRBuilder<>& builder, u64 offset) {
  static_assert(offsetof(ResidentCpu, q) == offsetof(Cpu, q));
  constexpr u64 kVectors = offsetof(Cpu, q), kAfterVectors = offsetof(Cpu, tpidr_el0);
  static_assert(kAfterVectors == kVectors + sizeof(Cpu::q) &&
                offsetof(ResidentCpu, tpidr_el0) == kVectors + sizeof(u64));
  static_assert(sizeof(Cpu) - kAfterVectors == sizeof(ResidentCpu) - offsetof(ResidentCpu, tpidr_el0));
  if (offset < kVectors) return at(builder, offset);
  if (offset >= kAfterVectors) return at(builder, offset - kAfterVectors + offsetof(ResidentCpu, tpidr_el0));
  Value* vectors = builder.CreateLoad(builder.getPtrTy(), at(builder, kVectors));
  return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), vectors, offset - kVectors);
}

// Ends with a call until the region is optimized: the passes would merge all returns.
void GpuFrame::leave(llvm::IRBuilder<>& builder, Value* pc, Value* budget, Value* trap) {
  builder.CreateStore(pc, at(builder, offsetof(Cpu, pc)));
  llvm::Module& module = *function_->getParent();
  auto* type = llvm::FunctionType::get(builder.getVoidTy(), {builder.getInt32Ty(), builder.getInt32Ty()}, false);
  builder.CreateCall(module.getOrInsertFunction(kLeave, type), {trap ? trap : builder.getInt32(0), budget})
      ->setDoesNotReturn();
  builder.CreateUnreachable();
}

void GpuFrame::finish(llvm::Function& function) {
  share_exits(function);
  for (llvm::CallInst* call : ends_of(function)) {
    llvm::IRBuilder<> builder(call);
    Value* end = llvm::PoisonValue::get(function.getReturnType());
    end = builder.CreateInsertValue(end, call->getArgOperand(0), 0);
    end = builder.CreateInsertValue(end, call->getArgOperand(1), 1);
    builder.CreateRet(end);
    call->getNextNode()->eraseFromParent();
    call->eraseFromParent();
  }
}

void GpuFrame::leave_to(llvm::IRBuilder<>& builder, u64 pc, Value* budget) {
  leave(builder, builder.getInt64(pc), budget, nullptr);
}

void GpuFrame::leave_to_register(llvm::IRBuilder<>& builder, Value* pc, Value* budget) {
  leave(builder, pc, budget, nullptr);
}

void GpuFrame::pause(llvm::IRBuilder<>& builder, u64 pc, Value* budget) {
  leave(builder, builder.getInt64(pc), budget, nullptr);
}

void GpuFrame::trap(llvm::IRBuilder<>& builder, u64 pc, Value* budget, Value* trap) {
  leave(builder, builder.getInt64(pc), budget, trap);
}

}  // namespace kvrm::translator
