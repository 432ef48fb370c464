// A function that saves its registers, or reads the fields of a structure, makes many accesses at fixed offsets from
// one value. The first access looks up the page for all. If the range lies in two pages, the offset says which one an
// access is in. If a page is missing or lacks a permission, the region is left before the first access: all follow from
// it, and mostly one of them would fail. No mapping changes while a region runs, so a page that was found stays valid.
#include "translator/passes/l1_tlb.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Local.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/types.h"
#include "memory/freestanding/lane_window.h"
#include "memory/freestanding/page.h"
#include "translator/likely.h"
#include "translator/passes/l1_lookups.h"

namespace kvrm::translator {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::Value;

constexpr i64 kWord = 8, kPair = 2 * kWord;
// Longer ranges cross a page boundary too often.
constexpr i64 kLongest = 256;
static_assert(kLongest + 2 * kWord <= static_cast<i64>(memory::kWindowGuard));

struct Group {
  std::vector<L1Lookup> members;  // in the order in which they run
  i64 first, end;  // whole words
  u64 forbidden;

  // In whole words, as the leader's.
  void add(const L1Lookup& lookup) {
    const i64 from = members.front().at.offset;
    const auto down = [&](i64 offset) { return offset - ((offset - from) % kWord + kWord) % kWord; };
    first = std::min(first, down(lookup.at.offset));
    end = std::max(end, down(lookup.end() + kWord - 1));
    forbidden |= lookup.forbidden;
    members.push_back(lookup);
  }
};

bool belongs(const Group& group, const L1Lookup& lookup) {
  const L1Lookup& leader = group.members.front();
  return leader.at.base == lookup.at.base && leader.pages() == lookup.pages() && lookup.size <= kPair &&
         (lookup.at.offset - leader.at.offset) % std::min(lookup.size, kWord) == 0 &&
         std::max(group.end, lookup.end()) - std::min(group.first, lookup.at.offset) <= kLongest;
}

// The group of lookups that follow from one in this block.
void find_groups(BasicBlock& begin, std::set<const BasicBlock*>& seen, std::vector<Group>& groups) {
  std::vector<Group> found;
  for (BasicBlock* block = &begin; block;) {
    const auto lookup = seen.insert(block).second ? l1_lookup_in(*block) : std::nullopt;
    if (!lookup) break;
    const auto home = std::ranges::find_if(found, [&](const Group& group) { return belongs(group, *lookup); });
    if (home != found.end()) {
      home->add(*lookup);
    } else if (lookup->size == kWord || lookup->size == kPair) {  // smaller ones may be anywhere in a word
      found.push_back({{*lookup}, lookup->at.offset, lookup->end(), lookup->forbidden});
    }
    block = lookup->hit;
  }
  for (Group& group : found) {
    if (group.members.size() > 1) groups.push_back(std::move(group));
  }
}

// The leader's lookup becomes one for all.
class Sharing {
 public:
  explicit Sharing(const Group& group)
      : group_(group), leader_(group.members.front()), builder_(leader_.block()->getTerminator()) {}

  void run() {
    if (leader_.window_mask() != 0) return run_in_window();
    BasicBlock* const block = leader_.block();
    llvm::Function& function = *block->getParent();
    BasicBlock* apart = BasicBlock::Create(function.getContext(), "apart", &function);
    BasicBlock* known = BasicBlock::Create(function.getContext(), "known", &function);
    const i64 length = group_.end - group_.first;
    llvm::MDNode* const mostly = likely(function.getContext());

    Value* from = address(group_.first);
    const Asked all = ask(from, length);
    block->getTerminator()->eraseFromParent();
    builder_.SetInsertPoint(block);
    builder_.CreateCondBr(builder_.CreateIsNull(all.differs), known, apart, mostly);

    builder_.SetInsertPoint(apart);
    Value* first_page = builder_.CreateSub(
        builder_.getInt32(memory::kPageSize),
        builder_.CreateAnd(builder_.CreateTrunc(from, builder_.getInt32Ty()), memory::kPageSize - 1));
    const Asked second = ask(address(group_.end - kWord), kWord);
    Value* differs = builder_.CreateOr(ask(from, kWord).differs, second.differs);
    for (const i64 half : {i64{0}, kWord}) {
      if (has_pairs(half)) differs = builder_.CreateOr(differs, is_cut(first_page, half));
    }
    leader_.miss->replacePhiUsesWith(block, apart);
    builder_.CreateCondBr(builder_.CreateIsNull(differs), known, leader_.miss, mostly);

    builder_.SetInsertPoint(known);
    llvm::PHINode* ends = builder_.CreatePHI(builder_.getInt32Ty(), 2);
    ends->addIncoming(builder_.getInt32(static_cast<u32>(length)), block);
    ends->addIncoming(first_page, apart);
    llvm::PHINode* later = builder_.CreatePHI(builder_.getInt64Ty(), 2);
    later->addIncoming(all.page, block);
    later->addIncoming(second.page, apart);
    here_ = builder_.CreateAdd(all.page, leader_.at.base);
    there_ = builder_.CreateAdd(later, leader_.at.base);
    builder_.CreateBr(leader_.hit);
    for (const L1Lookup& member : group_.members) use(member, ends);
  }

 private:
  struct Asked {
    Value *page, *differs;
  };

  // There the range lies in one piece. The new lookup takes the leader's place.
  void run_in_window() {
    BasicBlock* const block = leader_.block();
    Value* from = address(group_.first);
    const Asked all = ask(from, group_.end - group_.first);
    auto* compare = llvm::cast<llvm::ICmpInst>(llvm::cast<llvm::BranchInst>(block->getTerminator())->getCondition());
    compare->setOperand(0, all.differs);
    compare->setOperand(1, llvm::ConstantInt::get(all.differs->getType(), 0));
    compare->moveBefore(block->getTerminator());
    builder_.SetInsertPoint(leader_.hit, leader_.hit->getFirstInsertionPt());
    Value* here = builder_.CreateAdd(all.page, from);
    for (const L1Lookup& member : group_.members) {
      if (member.call != leader_.call) builder_.SetInsertPoint(member.hit, member.hit->getFirstInsertionPt());
      Value* at = builder_.CreateAdd(here, builder_.getInt64(static_cast<u64>(member.at.offset - group_.first)));
      Value* page = builder_.CreateSub(at, member.address());
      replace(member, at, page);
      llvm::RecursivelyDeleteTriviallyDeadInstructions(page);
    }
  }

  Value* address(i64 offset) {
    return builder_.CreateAdd(leader_.at.base, builder_.getInt64(static_cast<u64>(offset)));
  }

  Asked ask(Value* from, i64 length) {
    Value* found = builder_.CreateCall(leader_.call->getCalledFunction(),
                                       {leader_.pages(), from, builder_.getInt32(static_cast<u32>(length)),
                                        builder_.getInt32(static_cast<u32>(group_.forbidden)), leader_.window(),
                                        builder_.getInt64(leader_.window_mask())});
    return {builder_.CreateExtractValue(found, L1Lookup::kPage),
            builder_.CreateExtractValue(found, L1Lookup::kDiffers)};
  }

  // Accesses of two words that start at an even or at an odd word of the range.
  bool has_pairs(i64 half) const {
    return std::ranges::any_of(group_.members, [&](const L1Lookup& member) {
      return member.size > kWord && (member.at.offset - group_.first) % kPair == half;
    });
  }
  // Not 0 if the first page may end inside such an access.
  Value* is_cut(Value* first_page, i64 half) {
    return builder_.CreateAnd(half == 0 ? first_page : builder_.CreateNot(first_page), u64{kWord});
  }

  // The access needs no lookup: its page is known.
  void use(const L1Lookup& member, Value* ends) {
    const i64 offset = member.at.offset - group_.first;
    builder_.SetInsertPoint(member.hit, member.hit->getFirstInsertionPt());
    Value* near = here_;
    if (offset != 0) {
      Value* is_here = builder_.CreateICmpUGT(ends, builder_.getInt32(static_cast<u32>(offset)));
      near = builder_.CreateSelect(is_here, here_, there_);
    }
    Value* at = builder_.CreateAdd(near, builder_.getInt64(static_cast<u64>(member.at.offset)));
    Value* page = builder_.CreateSub(near, member.at.base);
    replace(member, at, page);
  }

  void replace(const L1Lookup& member, Value* at, Value* page) {
    for (llvm::User* user : llvm::make_early_inc_range(member.page->users())) {
      using namespace llvm::PatternMatch;
      if (!match(user, m_c_Add(m_Specific(member.page), m_Specific(member.address())))) continue;
      user->replaceAllUsesWith(at);
      llvm::cast<Instruction>(user)->eraseFromParent();
    }
    member.page->replaceAllUsesWith(page);
    member.differs->replaceAllUsesWith(llvm::ConstantInt::get(member.differs->getType(), 0));
    for (Value* part : {member.page, member.differs}) llvm::cast<Instruction>(part)->eraseFromParent();
    if (member.call == leader_.call) return;
    llvm::BasicBlock* const block = member.block();
    member.miss->removePredecessor(block, /*KeepOneInputPHIs=*/true);
    llvm::ReplaceInstWithInst(block->getTerminator(), llvm::BranchInst::Create(member.hit));
  }

  const Group& group_;
  const L1Lookup& leader_;
  llvm::IRBuilder<> builder_;
  Value *here_ = nullptr, *there_ = nullptr;
};

}  // namespace

void share_l1_lookups(llvm::Function& function) {
  if (!makes_l1_lookups(function)) return;  // rows with another memory
  std::set<const BasicBlock*> seen;
  std::vector<Group> groups;
  for (BasicBlock* block : llvm::ReversePostOrderTraversal<llvm::Function*>(&function))
    find_groups(*block, seen, groups);
  for (const Group& group : groups) Sharing(group).run();
  if (!groups.empty()) llvm::removeUnreachableBlocks(function);  // exits of lookups that are gone
}

}  // namespace kvrm::translator
