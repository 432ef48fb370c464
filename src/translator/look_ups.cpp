#include "translator/look_ups.h"

#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>

#include <cstddef>

namespace kvrm::translator {
namespace {

using llvm::BasicBlock;
using llvm::Value;
using memory::Translation;
using memory::TranslationCache;

constexpr u64 kIndexShift = memory::kPageShift - TranslationCache::kEntryShift;
constexpr u64 kIndexMask = u64{memory::kTranslations - 1} << TranslationCache::kEntryShift;

// The pointer as cache, index in bytes and constant offset in the entry.
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

llvm::LoadInst* distance_in(BasicBlock& block, const EntryField& tag, const llvm::DataLayout& layout) {
  for (llvm::Instruction& instruction : block) {
    auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    if (!load || !load->getType()->isIntegerTy(64)) continue;
    const auto field = field_of(load->getPointerOperand(), layout);
    if (field && field->cache == tag.cache && field->index == tag.index &&
        field->offset == offsetof(Translation, distance)) {
      return load;
    }
  }
  return nullptr;
}

}  // namespace

Place place_of(Value* address) {
  constexpr i64 kFarthest = i64{1} << 32;
  using namespace llvm::PatternMatch;
  Value* base = nullptr;
  const llvm::APInt* distance = nullptr;
  if (match(address, m_AddLike(m_Value(base), m_APInt(distance))) && distance->getSExtValue() > -kFarthest &&
      distance->getSExtValue() < kFarthest)
    return {base, distance->getSExtValue()};
  return {address, 0};
}

std::optional<LookUp> look_up_in(BasicBlock& block) {
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
  if (field->offset != offsetof(Translation, read_tag) && field->offset != offsetof(Translation, write_tag)) {
    return std::nullopt;
  }
  const bool equal = compare->getPredicate() == llvm::CmpInst::ICMP_EQ;
  BasicBlock* hit = branch->getSuccessor(equal ? 0 : 1);
  BasicBlock* miss = branch->getSuccessor(equal ? 1 : 0);
  if (hit == miss || hit->getSinglePredecessor() != &block || !hit->phis().empty()) return std::nullopt;
  llvm::LoadInst* distance = distance_in(*hit, *field, layout);
  const Place from = place_of(address), to = place_of(last);
  if (!distance || from.base != to.base || llvm::isa<llvm::Constant>(from.base)) return std::nullopt;
  return LookUp{&block,       hit,           miss,      distance,    address,  field->cache,
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
