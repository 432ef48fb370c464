#include "translator/stitcher.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include <algorithm>
#include <cstddef>

#include "base/cpu.h"
#include "translator/likely.h"
#include "translator/slots.h"

namespace kvrm::translator {
namespace {

using llvm::BasicBlock;
using llvm::Value;

constexpr u64 kWordBytes = 4;

class Stitch {
 public:
  Stitch(Library& library, Frame& frame, const Plan& plan)
      : library_(library), frame_(frame), plan_(plan), builder_(library.context()) {}

  llvm::Function* run(const std::string& name);

 private:
  llvm::ConstantInt* number(u64 value) { return builder_.getInt64(value); }
  Value* field(Value* state, u64 offset) {
    return builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), state, offset);
  }
  Value* budget() { return builder_.CreateLoad(budget_->getAllocatedType(), budget_); }
  Value* biased_budget(u64 value) { return llvm::ConstantInt::get(budget_->getAllocatedType(), value); }
  Value* budget_after(u32 words) {
    return builder_.CreateSub(budget(), biased_budget(words * frame_.budget_per_instruction()));
  }
  BasicBlock* new_block(const char* name) { return BasicBlock::Create(library_.context(), name, function_); }
  // Branches to `rare` if the condition holds and continues in a new block.
  void leave_if(Value* condition, BasicBlock* rare);

  bool block(u32 index);
  bool instruction(const PlanBlock& block, u32 index);
  Value* inlined_call(llvm::Function* row, Value* links, u64 operands);
  void trap_exit(Value* trap, u64 address, u32 index);
  BasicBlock* edge(const PlanBlock::Edge& edge);
  void branch(const PlanBlock& block);
  BasicBlock* indirect();
  bool bring_state();
  // Starts an exit of the region; bring_state() stores the state at its start.
  BasicBlock* new_exit(const char* name);

  Library& library_;
  Frame& frame_;
  const Plan& plan_;
  llvm::IRBuilder<> builder_;
  llvm::Function* function_ = nullptr;
  llvm::AllocaInst* state_ = nullptr;
  std::vector<llvm::AllocaInst*> links_;
  llvm::AllocaInst* budget_ = nullptr;
  llvm::Instruction* state_goes_in_ = nullptr;
  std::vector<BasicBlock*> blocks_;
  std::vector<BasicBlock*> exits_;
  BasicBlock* dispatch_ = nullptr;  // null until an indirect branch needs it
};

void Stitch::leave_if(Value* condition, BasicBlock* rare) {
  BasicBlock* on = new_block("on");
  builder_.CreateCondBr(condition, rare, on, unlikely(library_.context()));
  builder_.SetInsertPoint(on);
}

BasicBlock* Stitch::new_exit(const char* name) {
  BasicBlock* exit = new_block(name);
  exits_.push_back(exit);
  return exit;
}

// Calls a row's function and inlines it at once: with constant operands most of it folds while it is copied.
Value* Stitch::inlined_call(llvm::Function* row, Value* links, u64 operands) {
  llvm::CallInst* call = builder_.CreateCall(row, {state_, links, number(operands)});
  auto* result = llvm::cast<llvm::Instruction>(builder_.Insert(new llvm::FreezeInst(call)));
  llvm::Instruction* end = builder_.CreateUnreachable();
  llvm::InlineFunctionInfo info;
  if (!llvm::InlineFunction(*call, info).isSuccess()) return nullptr;
  Value* trap = result->getOperand(0);
  result->eraseFromParent();
  builder_.SetInsertPoint(end);
  BasicBlock* last = end->getParent();
  end->eraseFromParent();
  builder_.SetInsertPoint(last);
  return trap;
}

bool Stitch::instruction(const PlanBlock& block, u32 index) {
  const u32 word = block.words[index];
  const u64 address = block.address + index * kWordBytes;
  const isa::Row row = block.rows[index];
  llvm::Function* meaning = library_.row(row);
  if (!meaning) return false;
  builder_.CreateStore(number(address), field(state_, offsetof(Cpu, pc)));
  Value* trap = inlined_call(meaning, links_[frame_.links_of(block, index)], pack_row_operands(row, word));
  if (!trap) return false;
  trap_exit(trap, address, index);
  return true;
}

// Leaves the region if the row trapped. If a phi merges the row's paths, paths without a trap skip the check.
void Stitch::trap_exit(Value* trap, u64 address, u32 index) {
  const auto is_none = [](Value* value) {
    const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value);
    return constant && constant->isZero();
  };
  if (is_none(trap)) return;
  BasicBlock* on = builder_.GetInsertBlock();
  auto* phi = llvm::dyn_cast<llvm::PHINode>(trap);
  llvm::SmallVector<BasicBlock*> rare;
  if (phi && phi->getParent() == on) {
    for (u32 i = 0; i < phi->getNumIncomingValues(); ++i) {
      if (!is_none(phi->getIncomingValue(i))) rare.push_back(phi->getIncomingBlock(i));
    }
  }
  BasicBlock* exit = new_exit("trap");
  llvm::MDNode* const hardly = unlikely(library_.context());
  if (rare.empty() || rare.size() == phi->getNumIncomingValues()) {
    BasicBlock* next = new_block("on");
    builder_.CreateCondBr(builder_.CreateICmpNE(trap, builder_.getInt32(0)), exit, next, hardly);
    on = next;
  } else {
    auto* end = builder_.CreateUnreachable();  // SplitBlockPredecessors needs a terminator
    BasicBlock* check = llvm::SplitBlockPredecessors(on, rare, ".trap");
    end->eraseFromParent();
    trap = phi->getIncomingValueForBlock(check);
    phi->setIncomingValueForBlock(check, builder_.getInt32(0));
    check->getTerminator()->eraseFromParent();
    builder_.SetInsertPoint(check);
    builder_.CreateCondBr(builder_.CreateICmpNE(trap, builder_.getInt32(0)), exit, on, hardly);
  }
  builder_.SetInsertPoint(exit);
  frame_.trap(builder_, address, budget_after(index), trap);
  builder_.SetInsertPoint(on);
}

// Where an edge leads: a block, or a new exit.
BasicBlock* Stitch::edge(const PlanBlock::Edge& edge) {
  if (edge.block) return blocks_[*edge.block];
  BasicBlock* exit = new_exit("leave");
  const llvm::IRBuilderBase::InsertPointGuard guard(builder_);
  builder_.SetInsertPoint(exit);
  frame_.leave_to(builder_, edge.target, budget());
  return exit;
}

// The row has written pc. It leads to one of the block's edges or out of the region.
void Stitch::branch(const PlanBlock& block) {
  builder_.CreateStore(budget_after(static_cast<u32>(block.words.size())), budget_);
  if (block.edges.size() == 1 && !block.has_indirect_branch) {
    builder_.CreateBr(edge(block.edges[0]));
    return;
  }
  Value* pc = builder_.CreateLoad(builder_.getInt64Ty(), field(state_, offsetof(Cpu, pc)));
  if (!block.has_indirect_branch) {
    builder_.CreateCondBr(builder_.CreateICmpEQ(pc, number(block.edges[1].target)), edge(block.edges[1]),
                          edge(block.edges[0]));
    return;
  }
  if (block.edges.empty()) {
    builder_.CreateBr(indirect());
  } else {
    auto* where = builder_.CreateSwitch(pc, indirect(), static_cast<unsigned>(block.edges.size()));
    for (const PlanBlock::Edge& to : block.edges) where->addCase(number(to.target), edge(to));
  }
}

// Where an indirect branch leads whose target is none of its block's edges: to an entry point, by a switch that all of
// the region's branches share, or out of the region.
BasicBlock* Stitch::indirect() {
  if (dispatch_ && plan_.dispatches) return dispatch_;
  const llvm::IRBuilderBase::InsertPointGuard guard(builder_);
  BasicBlock* exit = new_exit("indirect");
  dispatch_ = exit;
  const auto target = [&] { return builder_.CreateLoad(builder_.getInt64Ty(), field(state_, offsetof(Cpu, pc))); };
  if (plan_.dispatches) {
    dispatch_ = new_block("dispatch");
    builder_.SetInsertPoint(dispatch_);
    auto* where = builder_.CreateSwitch(target(), exit, static_cast<unsigned>(plan_.entry_points.size()));
    for (const u32 entry : plan_.entry_points) where->addCase(number(plan_.blocks[entry].address), blocks_[entry]);
  }
  builder_.SetInsertPoint(exit);
  frame_.leave_to_register(builder_, target(), budget());
  return dispatch_;
}

bool Stitch::block(u32 index) {
  const PlanBlock& block = plan_.blocks[index];
  builder_.SetInsertPoint(blocks_[index]);
  if (block.is_loop_header) {
    BasicBlock* exit = new_exit("pause");
    leave_if(builder_.CreateICmpSLT(budget(), biased_budget(frame_.least_budget(plan_.words))), exit);
    const llvm::IRBuilderBase::InsertPointGuard guard(builder_);
    builder_.SetInsertPoint(exit);
    frame_.pause(builder_, block.address, budget());
  }
  for (u32 i = 0; i < block.words.size(); ++i) {
    if (!instruction(block, i)) return false;
  }
  branch(block);
  return true;
}

// Loads at the entry what the region reads and stores at every exit what it has written. Slot 31 is zero.
bool Stitch::bring_state() {
  Slots slots;
  const auto home = [&](llvm::IRBuilder<>& builder, u64 offset) { return frame_.home(builder, offset); };
  if (!slots.scan(*state_, home, plan_.default_fp_mode)) return false;
  llvm::LLVMContext& context = library_.context();
  for (const Slot& slot : slots.touched()) {
    if (slot.offset == offsetof(Cpu, pc)) continue;
    llvm::Type* type = Slots::type_of(slot, context);
    const llvm::Align align(std::min<u64>(slot.size, alignof(Cpu)));
    builder_.SetInsertPoint(state_goes_in_);
    if (slot.offset == kZeroSlot * sizeof(u64)) {
      builder_.CreateAlignedStore(llvm::Constant::getNullValue(type), field(state_, slot.offset), align);
      continue;
    }
    Value* before = builder_.CreateAlignedLoad(type, frame_.home(builder_, slot.offset), align);
    builder_.CreateAlignedStore(before, field(state_, slot.offset), align);
    if (!slot.written) continue;
    for (BasicBlock* exit : exits_) {
      builder_.SetInsertPoint(exit, exit->getFirstInsertionPt());
      Value* after = builder_.CreateAlignedLoad(type, field(state_, slot.offset), align);
      builder_.CreateAlignedStore(after, frame_.home(builder_, slot.offset), align);
    }
  }
  return true;
}

llvm::Function* Stitch::run(const std::string& name) {
  const FrameStart start = frame_.begin(library_.module(), builder_, name, plan_);
  function_ = start.function;
  BasicBlock* begin = builder_.GetInsertBlock();
  // Static allocas belong into the entry block.
  llvm::IRBuilder<> entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
  state_ = entry.CreateAlloca(llvm::ArrayType::get(builder_.getInt8Ty(), sizeof(Cpu)));
  state_->setAlignment(llvm::Align(16));
  for (u32 i = 0; i < frame_.links_count(); ++i) {
    links_.push_back(entry.CreateAlloca(llvm::ArrayType::get(builder_.getInt8Ty(), frame_.links_size())));
    links_.back()->setAlignment(llvm::Align(8));
  }
  budget_ = entry.CreateAlloca(start.budget->getType());
  builder_.SetInsertPoint(begin);
  builder_.CreateStore(start.budget, budget_);
  for (u32 i = 0; i < links_.size(); ++i) frame_.fill_links(builder_, links_[i], i);
  for (std::size_t i = 0; i < plan_.blocks.size(); ++i) blocks_.push_back(new_block("block"));
  if (plan_.entry_points.size() == 1) {
    state_goes_in_ = builder_.CreateBr(blocks_[plan_.entry_points[0]]);
  } else {
    auto* entry_point = builder_.CreateSwitch(start.entry_point, blocks_[plan_.entry_points[0]]);
    for (u32 i = 1; i < plan_.entry_points.size(); ++i)
      entry_point->addCase(builder_.getInt32(i), blocks_[plan_.entry_points[i]]);
    state_goes_in_ = entry_point;
  }
  bool whole = true;
  for (u32 i = 0; whole && i < plan_.blocks.size(); ++i) whole = block(i);
  if (whole && bring_state()) return function_;
  function_->deleteBody();
  function_->eraseFromParent();
  return nullptr;
}

}  // namespace

llvm::Function* stitch(Library& library, Frame& frame, const Plan& plan, const std::string& name) {
  return Stitch(library, frame, plan).run(name);
}

void drop_unchanged(llvm::Function& function) {
  std::vector<llvm::StoreInst*> unchanged;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
    const auto* load = store ? llvm::dyn_cast<llvm::LoadInst>(store->getValueOperand()) : nullptr;
    if (!load) continue;
    const llvm::DataLayout& layout = function.getParent()->getDataLayout();
    llvm::APInt to(64, 0), from(64, 0);
    const Value* there = store->getPointerOperand()->stripAndAccumulateConstantOffsets(layout, to, true);
    const Value* here = load->getPointerOperand()->stripAndAccumulateConstantOffsets(layout, from, true);
    if (there == here && to == from && llvm::isa<llvm::Argument>(there)) unchanged.push_back(store);
  }
  for (llvm::StoreInst* store : unchanged) store->eraseFromParent();
}

std::unique_ptr<llvm::Module> extract(Library& library, llvm::Function* function) {
  auto module = std::make_unique<llvm::Module>(function->getName(), library.context());
  module->setDataLayout(library.module().getDataLayout());
  module->setTargetTriple(library.module().getTargetTriple());
  function->removeFromParent();
  module->getFunctionList().push_back(function);
  llvm::ValueToValueMapTy map;
  std::vector<llvm::GlobalValue*> used;
  // Only functions and constant tables are referred to, both as operands.
  std::function<void(llvm::Value*)> collect = [&](llvm::Value* value) {
    if (auto* global = llvm::dyn_cast<llvm::GlobalValue>(value)) {
      if (global != function && !map.count(global)) {
        if (auto* callee = llvm::dyn_cast<llvm::Function>(global)) {
          auto* there = llvm::Function::Create(callee->getFunctionType(), llvm::GlobalValue::ExternalLinkage,
                                               callee->getName(), module.get());
          there->setCallingConv(callee->getCallingConv());
          there->setAttributes(callee->getAttributes());
          map[global] = there;
        } else if (auto* table = llvm::dyn_cast<llvm::GlobalVariable>(global)) {
          if (llvm::Error failed = table->materialize()) llvm::consumeError(std::move(failed));
          auto* there =
              new llvm::GlobalVariable(*module, table->getValueType(), table->isConstant(),
                                       llvm::GlobalValue::PrivateLinkage, table->getInitializer(), table->getName(),
                                       nullptr, llvm::GlobalValue::NotThreadLocal, table->getAddressSpace());
          there->setAlignment(table->getAlign());
          map[global] = there;
        }
      }
      return;
    }
    if (auto* constant = llvm::dyn_cast<llvm::Constant>(value)) {
      for (llvm::Use& operand : constant->operands()) collect(operand.get());
    }
  };
  for (llvm::Instruction& instruction : llvm::instructions(*function)) {
    for (llvm::Use& operand : instruction.operands()) collect(operand.get());
  }
  llvm::RemapFunction(*function, map, llvm::RF_NoModuleLevelChanges | llvm::RF_IgnoreMissingLocals);
  return module;
}

}  // namespace kvrm::translator
