#include "translator/shared_exits.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "base/cpu.h"

namespace kvrm::translator {
namespace {

using llvm::BasicBlock;
using llvm::Value;

// Where in the lane's state, or among the vector registers that it points to.
struct Place {
  bool is_vector;
  u64 offset;
  auto operator<=>(const Place&) const = default;
};
constexpr Place kVectors{false, offsetof(Cpu, q)};

struct Exit {
  llvm::CallInst* end;
  std::map<Place, llvm::StoreInst*> stores;
};

class SharedExits {
 public:
  explicit SharedExits(llvm::Function& function)
      : function_(function), layout_(function.getParent()->getDataLayout()), builder_(function.getContext()) {}

  void run();

 private:
  std::optional<Place> place_of(const Value* pointer) const;
  std::optional<Exit> exit_of(llvm::CallInst* end) const;
  void find_exits();
  void choose_places();
  Value* address(Place place);
  void lead(const Exit& exit, BasicBlock* to);

  llvm::Function& function_;
  const llvm::DataLayout& layout_;
  llvm::IRBuilder<> builder_;
  std::vector<Exit> exits_;
  std::map<Place, llvm::StoreInst*> shared_;  // one of those that store there
};

std::optional<Place> SharedExits::place_of(const Value* pointer) const {
  llvm::APInt offset(64, 0);
  const Value* base = pointer->stripAndAccumulateConstantOffsets(layout_, offset, true);
  if (base == function_.getArg(0)) return Place{false, offset.getZExtValue()};
  const auto* load = llvm::dyn_cast<llvm::LoadInst>(base);
  if (!load || place_of(load->getPointerOperand()) != kVectors) return std::nullopt;
  return Place{true, offset.getZExtValue()};
}

// Nothing if it does more than store.
std::optional<Exit> SharedExits::exit_of(llvm::CallInst* end) const {
  Exit exit{end, {}};
  for (llvm::Instruction& instruction : *end->getParent()) {
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
      const auto place = place_of(store->getPointerOperand());
      if (!place || place == kVectors || !exit.stores.emplace(*place, store).second) return std::nullopt;
    } else if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
      if (place_of(load->getPointerOperand()) != kVectors) return std::nullopt;
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

// Where most of them store. What few store, each stores itself.
void SharedExits::choose_places() {
  std::map<Place, std::vector<llvm::StoreInst*>> all;
  for (const Exit& exit : exits_) {
    for (const auto& [place, store] : exit.stores) all[place].push_back(store);
  }
  const auto bits = [this](const llvm::StoreInst* store) {
    return layout_.getTypeSizeInBits(store->getValueOperand()->getType());
  };
  for (const auto& [place, stores] : all) {
    const bool alike = std::ranges::all_of(stores, [&](const auto* store) { return bits(store) == bits(stores[0]); });
    if (alike && 2 * stores.size() > exits_.size()) shared_.emplace(place, stores[0]);
  }
}

Value* SharedExits::address(Place place) {
  Value* base = function_.getArg(0);
  if (place.is_vector) base = builder_.CreateLoad(builder_.getPtrTy(), address(kVectors));
  return builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), base, place.offset);
}

void SharedExits::lead(const Exit& exit, BasicBlock* to) {
  for (const auto& [place, one] : shared_) {
    if (const auto store = exit.stores.find(place); store != exit.stores.end()) store->second->eraseFromParent();
  }
  exit.end->getNextNode()->eraseFromParent();
  builder_.SetInsertPoint(exit.end);
  builder_.CreateBr(to);
  exit.end->eraseFromParent();
}

void SharedExits::run() {
  find_exits();
  if (exits_.size() < 2) return;
  choose_places();
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
  for (const auto& [place, one] : shared_) {
    llvm::Type* type = one->getValueOperand()->getType();
    Value* value = brought(type, [&](const Exit& exit) -> Value* {
      const auto store = exit.stores.find(place);
      if (store != exit.stores.end()) return builder_.CreateBitCast(store->second->getValueOperand(), type);
      return builder_.CreateAlignedLoad(type, address(place), one->getAlign());  // it has not been changed there
    });
    builder_.CreateAlignedStore(value, address(place), one->getAlign());
  }
  llvm::CallInst& one = *exits_.front().end;
  std::vector<Value*> told;
  for (unsigned i = 0; i < one.arg_size(); ++i) {
    told.push_back(
        brought(one.getArgOperand(i)->getType(), [&](const Exit& exit) { return exit.end->getArgOperand(i); }));
  }
  builder_.CreateCall(one.getCalledFunction(), told)->setDoesNotReturn();
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
