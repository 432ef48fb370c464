// A function that saves its registers, or reads the fields of a structure, makes many accesses at fixed distances from
// one value. The first of them looks up the page for all: if the whole stretch lies in one page that the cache knows,
// the distance to the host's memory is kept, and the others need only ask whether it is there. Otherwise, and after
// every call that may change the cache or what a page is, each access looks for itself, as before.
#include "translator/page_groups.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "memory/paged.h"

namespace kvrm::translator {
namespace {

using llvm::BasicBlock;
using llvm::Value;
using memory::Translation;
using memory::TranslationCache;

constexpr u64 kIndexShift = memory::kPageShift - TranslationCache::kEntryShift;
constexpr u64 kIndexMask = u64{memory::kTranslations - 1} << TranslationCache::kEntryShift;
// Longer stretches lie in two pages too often.
constexpr i64 kLongest = 1024;

// A value and a constant distance.
struct Place {
  Value* base;
  i64 offset;
};

Place place_of(Value* address) {
  using namespace llvm::PatternMatch;
  Value* base = nullptr;
  const llvm::APInt* distance = nullptr;
  if (match(address, m_AddLike(m_Value(base), m_APInt(distance)))) return {base, distance->getSExtValue()};
  return {address, 0};
}

// What Paged's inline path has become: `block` compares a tag and goes to `hit`, which reads the distance, or to
// `miss`.
struct LookUp {
  BasicBlock* block;
  BasicBlock* hit;
  BasicBlock* miss;
  llvm::LoadInst* distance;
  Value* address;
  Value* cache;
  u64 tag_offset;
  Value* base;
  i64 first, last;  // bytes accessed, counted from the base
};

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
  return LookUp{&block, hit, miss, distance, address, field->cache, field->offset, from.base, from.offset, to.offset};
}

struct Group {
  std::vector<LookUp> members;  // the first one's block dominates the others'
  i64 first, last;
  llvm::AllocaInst* distance = nullptr;  // or 0
};

std::vector<Group> find_groups(llvm::Function& function, const llvm::DominatorTree& tree) {
  std::vector<Group> groups;
  for (BasicBlock* block : llvm::ReversePostOrderTraversal<llvm::Function*>(&function)) {
    const auto found = look_up_in(*block);
    if (!found) continue;
    const auto home = std::ranges::find_if(groups, [&](const Group& group) {
      const LookUp& leader = group.members.front();
      return leader.base == found->base && leader.cache == found->cache && leader.tag_offset == found->tag_offset &&
             std::max(group.last, found->last) - std::min(group.first, found->first) < kLongest &&
             tree.dominates(leader.block, block);
    });
    if (home == groups.end()) {
      groups.push_back({{*found}, found->first, found->last});
    } else {
      home->members.push_back(*found);
      home->first = std::min(home->first, found->first);
      home->last = std::max(home->last, found->last);
    }
  }
  std::erase_if(groups, [](const Group& group) { return group.members.size() < 2; });
  return groups;
}

class Sharing {
 public:
  explicit Sharing(llvm::Function& function) : function_(function), builder_(function.getContext()) {}

  void rewrite(Group& group) {
    lead(group);
    for (std::size_t i = 1; i < group.members.size(); ++i) follow(group, group.members[i]);
  }

 private:
  Value* field(Value* cache, Value* index, u64 offset) {
    Value* entry = builder_.CreateInBoundsGEP(builder_.getInt8Ty(), cache, index);
    return builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), entry, offset);
  }
  Value* load(Value* cache, Value* index, u64 offset) {
    return builder_.CreateLoad(builder_.getInt64Ty(), field(cache, index, offset));
  }
  BasicBlock* new_block(const char* name) { return BasicBlock::Create(function_.getContext(), name, &function_); }

  Value* at(const LookUp& look_up, i64 offset) {
    return builder_.CreateAdd(look_up.base, builder_.getInt64(static_cast<u64>(offset)));
  }

  // Looks for bytes [first, last] and ends the block; gives the distance, which is known in `found`.
  Value* look_for(const LookUp& look_up, i64 first, i64 last, BasicBlock* found, BasicBlock* otherwise) {
    Value* index = builder_.CreateAnd(builder_.CreateLShr(at(look_up, first), kIndexShift), kIndexMask);
    Value* tag = load(look_up.cache, index, look_up.tag_offset);
    Value* page = builder_.CreateAnd(at(look_up, last), memory::kPageMask);
    builder_.CreateCondBr(builder_.CreateICmpEQ(page, tag), found, otherwise, likely());
    builder_.SetInsertPoint(found);
    return load(look_up.cache, index, offsetof(Translation, distance));
  }

  // There the address is part of an instruction, and no register holds it in between.
  void make_address_where_used(const LookUp& look_up) {
    if (look_up.address == look_up.base) return;
    for (BasicBlock* block : {look_up.hit, look_up.miss}) {
      if (block->getSinglePredecessor() != look_up.block) continue;
      builder_.SetInsertPoint(block, block->getFirstInsertionPt());
      Value* here = at(look_up, look_up.first);
      look_up.address->replaceUsesWithIf(here, [&](const llvm::Use& use) {
        const auto* user = llvm::cast<llvm::Instruction>(use.getUser());
        return user->getParent() == block && !llvm::isa<llvm::PHINode>(user);
      });
    }
  }

  // Puts the look-up into a block of its own, out of the way. Its block has no end then, and `hit` begins with the phi
  // of distances.
  struct Apart {
    BasicBlock* alone;
    llvm::PHINode* distance;
  };
  Apart take_apart(const LookUp& look_up) {
    BasicBlock* alone = new_block("alone");
    BasicBlock* found = new_block("found");
    make_address_where_used(look_up);
    look_up.block->getTerminator()->eraseFromParent();
    look_up.miss->replacePhiUsesWith(look_up.block, alone);
    builder_.SetInsertPoint(alone);
    Value* distance = look_for(look_up, look_up.first, look_up.last, found, look_up.miss);
    builder_.CreateBr(look_up.hit);
    builder_.SetInsertPoint(look_up.hit, look_up.hit->begin());
    llvm::PHINode* either = builder_.CreatePHI(builder_.getInt64Ty(), 2);
    either->addIncoming(distance, found);
    look_up.distance->replaceAllUsesWith(either);
    look_up.distance->eraseFromParent();
    return {alone, either};
  }
  llvm::MDNode* likely() { return llvm::MDBuilder(function_.getContext()).createBranchWeights(2000, 1); }

  void lead(Group& group) {
    const LookUp& look_up = group.members.front();
    const Apart apart = take_apart(look_up);
    BasicBlock* together = new_block("together");
    builder_.SetInsertPoint(look_up.block);
    Value* distance = look_for(look_up, group.first, group.last, together, apart.alone);
    builder_.CreateStore(distance, group.distance);
    builder_.CreateBr(look_up.hit);
    apart.distance->addIncoming(distance, together);
    builder_.SetInsertPoint(apart.alone, apart.alone->begin());
    builder_.CreateStore(builder_.getInt64(0), group.distance);
  }

  void follow(Group& group, const LookUp& look_up) {
    const Apart apart = take_apart(look_up);
    builder_.SetInsertPoint(look_up.block);
    Value* distance = builder_.CreateLoad(builder_.getInt64Ty(), group.distance);
    Value* known = builder_.CreateICmpNE(distance, builder_.getInt64(0));
    builder_.CreateCondBr(known, look_up.hit, apart.alone, likely());
    apart.distance->addIncoming(distance, look_up.block);
  }

  llvm::Function& function_;
  llvm::IRBuilder<> builder_;
};

bool may_change_pages(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  return call && !llvm::isa<llvm::IntrinsicInst>(call) && !call->isMustTailCall();
}

}  // namespace

void share_look_ups(llvm::Function& function) {
  llvm::DominatorTree tree(function);
  std::vector<Group> groups = find_groups(function, tree);
  if (groups.empty()) return;
  std::vector<llvm::Instruction*> calls;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (may_change_pages(instruction)) calls.push_back(&instruction);
  }
  llvm::IRBuilder<> builder(function.getContext());
  std::vector<llvm::AllocaInst*> distances;
  for (Group& group : groups) {
    builder.SetInsertPoint(&function.getEntryBlock(), function.getEntryBlock().begin());
    group.distance = builder.CreateAlloca(builder.getInt64Ty());
    distances.push_back(group.distance);
    for (llvm::Instruction* call : calls) {
      builder.SetInsertPoint(call->getNextNode());
      builder.CreateStore(builder.getInt64(0), group.distance);
    }
  }
  Sharing sharing(function);
  for (Group& group : groups) sharing.rewrite(group);
  tree.recalculate(function);
  llvm::PromoteMemToReg(distances, tree);
}

}  // namespace kvrm::translator
