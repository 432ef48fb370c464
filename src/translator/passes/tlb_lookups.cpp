#include "translator/passes/tlb_lookups.h"

#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>

#include <cstddef>

namespace kvrm::translator {
namespace {

using llvm::BasicBlock;
using llvm::Value;
using memory::Tlb;
using memory::TlbEntry;

constexpr u64 kIndexShift = memory::kPageShift - Tlb::kEntryShift;
constexpr u64 kIndexMask = u64{memory::kTlbEntries - 1} << Tlb::kEntryShift;

// The pointer as TLB, byte offset of the entry and constant offset in the entry.
struct EntryField {
  Value* cache;
  Value* index;
  u64 offset;
};

std::optional<EntryField> field_of(Value* pointer, const llvm::DataLayout& layout) {
  llvm::APInt offset(64, 0);
  auto* entry = llvm::dyn_cast<llvm::GetElementPtrInst>(
      pointer->stripAndAccumulateConstantOffsets(layout, offset, /*AllowNonInbounds=*/true));
  if (!entry || entry->getNumIndices() != 1 || !entry->getSourceElementType()->isIntegerTy(8)) return std::nullopt;
  return EntryField{entry->getPointerOperand(), entry->getOperand(1), offset.getZExtValue()};
}

llvm::LoadInst* addend_in(BasicBlock& block, const EntryField& tag, const llvm::DataLayout& layout) {
  for (llvm::Instruction& instruction : block) {
    auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    if (!load || !load->getType()->isIntegerTy(64)) continue;
    const auto field = field_of(load->getPointerOperand(), layout);
    if (field && field->cache == tag.cache && field->index == tag.index &&
        field->offset == offsetof(TlbEntry, host_addend)) {
      return load;
    }
  }
  return nullptr;
}

}  // namespace

BaseOffset base_offset_of(Value* address) {
  constexpr i64 kFarthest = i64{1} << 32;
  using namespace llvm::PatternMatch;
  Value* base = nullptr;
  const llvm::APInt* offset = nullptr;
  if (match(address, m_AddLike(m_Value(base), m_APInt(offset))) && offset->getSExtValue() > -kFarthest &&
      offset->getSExtValue() < kFarthest)
    return {base, offset->getSExtValue()};
  return {address, 0};
}

std::optional<Lookup> lookup_in(BasicBlock& block) {
  using namespace llvm::PatternMatch;
  const llvm::DataLayout& layout = block.getModule()->getDataLayout();
  auto* branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
  if (!branch || !branch->isConditional()) return std::nullopt;
  auto* compare = llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
  if (!compare || !compare->isEquality() || !compare->hasOneUse() || compare->getParent() != &block)
    return std::nullopt;
  Value* last = nullptr;
  Value* tag_value = nullptr;
  if (!match(compare, m_c_ICmp(m_And(m_Value(last), m_SpecificInt(memory::kPageMask)), m_Value(tag_value)))) {
    return std::nullopt;
  }
  auto* tag = llvm::dyn_cast<llvm::LoadInst>(tag_value);
  if (!tag || tag->getParent() != &block || !tag->hasOneUse()) return std::nullopt;
  const auto field = field_of(tag->getPointerOperand(), layout);
  Value* address = nullptr;
  if (!field ||
      !match(field->index, m_And(m_LShr(m_Value(address), m_SpecificInt(kIndexShift)), m_SpecificInt(kIndexMask)))) {
    return std::nullopt;
  }
  if (field->offset != offsetof(TlbEntry, read_tag) && field->offset != offsetof(TlbEntry, write_tag)) {
    return std::nullopt;
  }
  const bool equal = compare->getPredicate() == llvm::CmpInst::ICMP_EQ;
  BasicBlock* hit = branch->getSuccessor(equal ? 0 : 1);
  BasicBlock* miss = branch->getSuccessor(equal ? 1 : 0);
  if (hit == miss || hit->getSinglePredecessor() != &block || !hit->phis().empty()) return std::nullopt;
  llvm::LoadInst* addend = addend_in(*hit, *field, layout);
  const BaseOffset from = base_offset_of(address), to = base_offset_of(last);
  if (!addend || from.base != to.base || llvm::isa<llvm::Constant>(from.base)) return std::nullopt;
  return Lookup{&block,       hit,           miss,      addend,      address,  field->cache,
                field->index, field->offset, from.base, from.offset, to.offset};
}

Value* entry_index(llvm::IRBuilder<>& builder, Value* address) {
  return builder.CreateAnd(builder.CreateLShr(address, kIndexShift), kIndexMask);
}

Value* load_entry_word(llvm::IRBuilder<>& builder, Value* cache, Value* index, u64 offset) {
  Value* entry = builder.CreateInBoundsGEP(builder.getInt8Ty(), cache, index);
  return builder.CreateLoad(builder.getInt64Ty(),
                            builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), entry, offset));
}

}  // namespace kvrm::translator
