#include "translator/passes/shared_exits.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/cpu.h"

namespace kvrm::translator {
namespace {

using llvm::BasicBlock;
using llvm::Value;

// An offset in the lane's state, or in the vector registers that it points to.
struct StateSlot {
  bool is_vector;
  u64 offset;
  auto operator<=>(const StateSlot&) const = default;
};
constexpr StateSlot kVectors{false, offsetof(Cpu, q)};
constexpr StateSlot kPc{false, offsetof(Cpu, pc)};

struct Exit {
  llvm::CallInst* end;
  std::map<StateSlot, llvm::StoreInst*> stores;
};

// What distinguishes exits, in one word that is mostly constant: the trap, what is subtracted from the budget, and pc,
// in words from the first pc that any exit leads to.
constexpr u32 kTrapBits = 6, kTakenBits = 10, kWordBits = 15;
constexpr u32 kTakenShift = kTrapBits, kWordShift = kTrapBits + kTakenBits;
constexpr u32 kOwnPc = 1u << 31;  // the exit has stored pc itself
static_assert(kWordShift + kWordBits == 31);

// Exits of a large region, whose code must fit into caches. In small ones values might be computed too early.
constexpr std::size_t kMany = 64;

class SharedExits {
 public:
  explicit SharedExits(llvm::Function& function)
      : function_(function), layout_(function.getParent()->getDataLayout()), builder_(function.getContext()) {}

  void run();

 private:
  std::optional<StateSlot> slot_of(const Value* pointer) const;
  std::optional<Exit> exit_of(llvm::CallInst* end) const;
  void find_exits();
  void choose_shared_slots();
  Value* address(StateSlot slot);
  std::optional<u64> pc_of(const Exit& exit) const;
  void find_first_pc();
  // At the end of an exit: its word, and the budget before the subtraction.
  Value* word_of(const Exit& exit);
  std::pair<Value*, u64> budget_of(const Exit& exit) const;
  void lead(const Exit& exit, BasicBlock* to);

  llvm::Function& function_;
  const llvm::DataLayout& layout_;
  llvm::IRBuilder<> builder_;
  std::vector<Exit> exits_;
  std::map<StateSlot, llvm::StoreInst*> shared_;  // one of the stores to each
  u64 first_pc_ = ~u64{0};
};

std::optional<StateSlot> SharedExits::slot_of(const Value* pointer) const {
  llvm::APInt offset(64, 0);
  const Value* base = pointer->stripAndAccumulateConstantOffsets(layout_, offset, true);
  if (base == function_.getArg(0)) return StateSlot{false, offset.getZExtValue()};
  const auto* load = llvm::dyn_cast<llvm::LoadInst>(base);
  if (!load || slot_of(load->getPointerOperand()) != kVectors) return std::nullopt;
  return StateSlot{true, offset.getZExtValue()};
}

// None if it does more than store.
std::optional<Exit> SharedExits::exit_of(llvm::CallInst* end) const {
  Exit exit{end, {}};
  for (llvm::Instruction& instruction : *end->getParent()) {
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
      const auto slot = slot_of(store->getPointerOperand());
      if (!slot || slot == kVectors || !exit.stores.emplace(*slot, store).second) return std::nullopt;
    } else if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
      if (slot_of(load->getPointerOperand()) != kVectors) return std::nullopt;
    } else if (&instruction != end && instruction.mayReadOrWriteMemory()) {
      return std::nullopt;
    }
  }
  return exit;
}

void SharedExits::find_exits() {
  for (llvm::CallInst* end : ends_of(function_)) {
    if (auto exit = exit_of(end)) exits_.push_back(*std::move(exit));
  }
}

// The slots that most exits store to. The others are stored by each exit itself.
void SharedExits::choose_shared_slots() {
  std::map<StateSlot, std::vector<llvm::StoreInst*>> all;
  for (const Exit& exit : exits_) {
    for (const auto& [slot, store] : exit.stores) all[slot].push_back(store);
  }
  const auto bits = [this](const llvm::StoreInst* store) {
    return layout_.getTypeSizeInBits(store->getValueOperand()->getType());
  };
  for (const auto& [slot, stores] : all) {
    if (slot == kPc) continue;
    const bool alike = std::ranges::all_of(stores, [&](const auto* store) { return bits(store) == bits(stores[0]); });
    if (alike && 2 * stores.size() > exits_.size()) shared_.emplace(slot, stores[0]);
  }
}

Value* SharedExits::address(StateSlot slot) {
  Value* base = function_.getArg(0);
  if (slot.is_vector) base = builder_.CreateLoad(builder_.getPtrTy(), address(kVectors));
  return builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), base, slot.offset);
}

// If it is a constant.
std::optional<u64> SharedExits::pc_of(const Exit& exit) const {
  const auto store = exit.stores.find(kPc);
  if (store == exit.stores.end()) return std::nullopt;
  const auto* pc = llvm::dyn_cast<llvm::ConstantInt>(store->second->getValueOperand());
  if (!pc || pc->getZExtValue() % 4 != 0) return std::nullopt;
  return pc->getZExtValue();
}

void SharedExits::find_first_pc() {
  for (const Exit& exit : exits_) first_pc_ = std::min(first_pc_, pc_of(exit).value_or(first_pc_));
}

std::pair<Value*, u64> SharedExits::budget_of(const Exit& exit) const {
  using namespace llvm::PatternMatch;
  Value* budget = exit.end->getArgOperand(1);
  Value* before = nullptr;
  llvm::ConstantInt* less = nullptr;
  if (!match(budget, m_Add(m_Value(before), m_ConstantInt(less)))) return {budget, 0};
  const u64 taken = static_cast<u64>(-less->getSExtValue());
  return taken < u64{1} << kTakenBits ? std::pair(before, taken) : std::pair(budget, u64{0});
}

Value* SharedExits::word_of(const Exit& exit) {
  const auto pc = pc_of(exit);
  const u64 words = pc ? (*pc - first_pc_) / 4 : ~u64{0};
  u64 known = budget_of(exit).second << kTakenShift;
  if (words >> kWordBits == 0) {
    known |= words << kWordShift;
    exit.stores.at(kPc)->eraseFromParent();
  } else {
    known |= kOwnPc;
  }
  return builder_.CreateOr(exit.end->getArgOperand(0), known);
}

void SharedExits::lead(const Exit& exit, BasicBlock* to) {
  for (const auto& [slot, one] : shared_) {
    if (const auto store = exit.stores.find(slot); store != exit.stores.end()) store->second->eraseFromParent();
  }
  exit.end->getNextNode()->eraseFromParent();
  builder_.SetInsertPoint(exit.end);
  if (exits_.size() >= kMany) {
    // Does nothing, but the back end cannot see that; otherwise it would compute the values too early.
    auto* type = llvm::FunctionType::get(builder_.getVoidTy(), false);
    builder_.CreateCall(llvm::InlineAsm::get(type, "", "", /*hasSideEffects=*/true));
  }
  builder_.CreateBr(to);
  exit.end->eraseFromParent();
}

void SharedExits::run() {
  find_exits();
  if (exits_.size() < 2) return;
  choose_shared_slots();
  find_first_pc();
  auto* end = BasicBlock::Create(function_.getContext(), "out", &function_);
  const auto brought = [&](llvm::Type* type, const auto& of) {
    builder_.SetInsertPoint(end, end->begin());
    auto* value = builder_.CreatePHI(type, static_cast<unsigned>(exits_.size()));
    for (const Exit& exit : exits_) {
      builder_.SetInsertPoint(exit.end);
      value->addIncoming(of(exit), exit.end->getParent());
    }
    builder_.SetInsertPoint(end);
    return value;
  };
  for (const auto& [slot, one] : shared_) {
    llvm::Type* type = one->getValueOperand()->getType();
    Value* value = brought(type, [&](const Exit& exit) -> Value* {
      const auto store = exit.stores.find(slot);
      if (store != exit.stores.end()) return builder_.CreateBitCast(store->second->getValueOperand(), type);
      return builder_.CreateAlignedLoad(type, address(slot), one->getAlign());  // that exit has not changed it
    });
    builder_.CreateAlignedStore(value, address(slot), one->getAlign());
  }
  llvm::Type* number = builder_.getInt32Ty();
  Value* word = brought(number, [&](const Exit& exit) { return word_of(exit); });
  Value* budget = brought(number, [&](const Exit& exit) { return budget_of(exit).first; });
  llvm::FunctionCallee leave = exits_.front().end->getCalledFunction();
  const auto field = [&](u32 shift, u32 bits) {
    return builder_.CreateAnd(builder_.CreateLShr(word, shift), (u64{1} << bits) - 1);
  };
  Value* trap = field(0, kTrapBits);
  Value* left = builder_.CreateSub(budget, field(kTakenShift, kTakenBits));
  Value* words = builder_.CreateZExt(field(kWordShift, kWordBits), builder_.getInt64Ty());
  // Without a branch: a branch makes ptxas put reconvergence barriers into the whole region.
  Value* told = builder_.CreateAdd(builder_.CreateMul(words, builder_.getInt64(4)), builder_.getInt64(first_pc_));
  Value* is_own = builder_.CreateICmpSLT(word, builder_.getInt32(0));
  Value* own = builder_.CreateLoad(builder_.getInt64Ty(), address(kPc));
  builder_.CreateStore(builder_.CreateSelect(is_own, own, told), address(kPc));
  builder_.CreateCall(leave, {trap, left})->setDoesNotReturn();
  builder_.CreateUnreachable();
  for (const Exit& exit : exits_) lead(exit, end);
}

}  // namespace

llvm::SmallVector<llvm::CallInst*> ends_of(llvm::Function& function) {
  llvm::SmallVector<llvm::CallInst*> ends;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (call && call->getCalledFunction() && call->getCalledFunction()->getName() == kLeave) ends.push_back(call);
  }
  return ends;
}

void share_exits(llvm::Function& function) { SharedExits(function).run(); }

}  // namespace kvrm::translator
