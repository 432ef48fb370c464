#include "translator/slots.h"

#include <llvm/IR/DataLayout.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>

#include <algorithm>
#include <cstddef>

#include "base/cpu.h"
#include "semantics/float_format.h"

namespace kvrm::translator {
namespace {

struct SlotRange {
  u64 offset, size;
};

// The slot of a byte of the state. Flags are bytes, vector registers sixteen, all else has its C++ type.
SlotRange slot_of(u64 offset) {
  constexpr u64 kFlags = offsetof(Cpu, n), kVectors = offsetof(Cpu, q), kFpcr = offsetof(Cpu, fpcr);
  if (offset < kFlags) return {offset & ~u64{7}, 8};
  if (offset < kFpcr) return {offset, 1};
  if (offset < offsetof(Cpu, fault_address)) return {offset & ~u64{3}, 4};
  if (offset < kVectors) return {offset & ~u64{7}, 8};
  if (offset < kVectors + sizeof(Cpu::q)) return {kVectors + ((offset - kVectors) & ~u64{15}), 16};
  if (offset >= offsetof(Cpu, exclusive_size) && offset < offsetof(Cpu, exclusive_value)) return {offset & ~u64{3}, 4};
  return {offset & ~u64{7}, 8};
}
static_assert(offsetof(Cpu, v) + 1 == offsetof(Cpu, fpcr));

}  // namespace

// A row writes these when it can no longer trap, or because it traps: memory is never ahead of the values.
bool Slots::stays_in_memory(u64 offset) {
  const bool is_rare = offset >= offsetof(Cpu, fpcr) && offset < offsetof(Cpu, q) &&
                       (offset < offsetof(Cpu, fpsr) || offset >= offsetof(Cpu, fault_access));
  return is_rare || offset >= offsetof(Cpu, tpidr_el0);
}

// Constant propagation folds what follows from it.
void Slots::assume_default_fp_mode() {
  for (const auto& [address, offset] : in_memory_) {
    if (offset != offsetof(Cpu, fpcr)) continue;
    for (llvm::User* user : address->users()) {
      if (llvm::isa<llvm::LoadInst>(user)) user->replaceAllUsesWith(llvm::ConstantInt::get(user->getType(), 0));
    }
  }
  using namespace llvm::PatternMatch;
  for (llvm::LoadInst* load : fpsr_loads_) {
    llvm::IRBuilder<> builder(load->getNextNode());
    auto* sticky = llvm::cast<llvm::Instruction>(builder.CreateOr(load, u64{semantics::kInexact}));
    for (llvm::User* user : llvm::make_early_inc_range(load->users())) {
      // Who asks for the bit alone gets it, and who adds flags need not know.
      if (match(user, m_And(m_Specific(load), m_SpecificInt(semantics::kInexact)))) {
        user->replaceAllUsesWith(builder.getInt32(semantics::kInexact));
      } else if (user != sticky && !match(user, m_Or(m_Value(), m_Value()))) {
        user->replaceUsesOfWith(load, sticky);
      }
    }
    if (sticky->use_empty()) sticky->eraseFromParent();
  }
}

bool Slots::scan(llvm::AllocaInst& state, const std::function<llvm::Value*(llvm::IRBuilder<>&, u64 offset)>& home,
                 bool default_fp_mode) {
  touched_.clear();
  in_memory_.clear();
  fpsr_loads_.clear();
  if (!visit(state, 0)) return false;
  if (default_fp_mode) assume_default_fp_mode();
  for (const auto& [address, offset] : in_memory_) {
    llvm::IRBuilder<> builder(address);
    address->replaceAllUsesWith(home(builder, offset));
    address->eraseFromParent();
  }
  return true;
}

void Slots::touch(u64 offset, u64 size, bool written) {
  for (u64 at = offset; at < offset + size;) {
    const SlotRange range = slot_of(at);
    auto slot = std::ranges::lower_bound(touched_, range.offset, {}, &Slot::offset);
    if (slot == touched_.end() || slot->offset != range.offset) {
      slot = touched_.insert(slot, {range.offset, range.size});
    }
    (written ? slot->written : slot->read) = true;
    at = range.offset + range.size;
  }
}

bool Slots::visit(llvm::Value& pointer, u64 offset) {
  for (llvm::User* user : pointer.users()) {
    auto* instruction = llvm::cast<llvm::Instruction>(user);
    const llvm::DataLayout& layout = instruction->getModule()->getDataLayout();
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction)) {
      touch(offset, layout.getTypeStoreSize(load->getType()), false);
      if (offset == offsetof(Cpu, fpsr) && load->getType()->isIntegerTy(32)) fpsr_loads_.push_back(load);
    } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(instruction)) {
      if (store->getValueOperand() == &pointer) return false;
      touch(offset, layout.getTypeStoreSize(store->getValueOperand()->getType()), true);
    } else if (auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(instruction)) {
      llvm::APInt delta(64, 0);
      if (!address->accumulateConstantOffset(layout, delta)) return false;
      const u64 at = offset + delta.getZExtValue();
      if (stays_in_memory(at)) {
        in_memory_.emplace_back(address, at);
      } else if (!visit(*address, at)) {
        return false;
      }
    } else if (auto* move = llvm::dyn_cast<llvm::MemTransferInst>(instruction)) {
      const auto* size = llvm::dyn_cast<llvm::ConstantInt>(move->getLength());
      if (!size) return false;
      touch(offset, size->getZExtValue(), move->getRawDest() == &pointer);
    } else if (auto* marker = llvm::dyn_cast<llvm::IntrinsicInst>(instruction)) {
      if (!marker->isLifetimeStartOrEnd()) return false;
    } else {
      return false;
    }
  }
  return true;
}

llvm::Type* Slots::type_of(const Slot& slot, llvm::LLVMContext& context) {
  if (slot.size != 16) return llvm::Type::getIntNTy(context, static_cast<unsigned>(slot.size) * 8);
  return llvm::FixedVectorType::get(llvm::Type::getDoubleTy(context), 2);
}

}  // namespace kvrm::translator
