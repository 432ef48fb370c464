// A function that saves its registers, or reads the fields of a structure, makes many accesses at fixed distances from
// one value. The first of them looks for the page of all. Mostly the stretch lies in one page; where it lies in two,
// each access is in one of them, and which is a question to an offset. Where the pages are not there, or not for all
// that is done in them, the region is left with the first access not done: they all follow from it, and mostly one of
// them could not be done either. No map changes while a region runs, so that a page that was found stays where it is.
#include "translator/recent_pages.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/Local.h>

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "base/types.h"
#include "memory/page.h"
#include "translator/likely.h"
#include "translator/look_ups.h"

namespace kvrm::translator {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::Value;

constexpr llvm::StringRef kAsked = "kvrm_recent_page";
constexpr u32 kPage = 0, kDiffers = 1;  // of what it returns
constexpr i64 kWord = 8, kPair = 2 * kWord;
// Longer stretches lie in two pages too often.
constexpr i64 kLongest = 256;

// A block asks for an access and goes to `hit`, where the sum of page and address is used, or to `miss`.
struct Look {
  llvm::CallInst* call;
  Value* differs;  // as it is compared
  Value* page;
  BasicBlock *hit, *miss;
  Place place;
  i64 size;
  u64 forbidden;

  BasicBlock* block() const { return call->getParent(); }
  Value* pages() const { return call->getArgOperand(0); }
  Value* address() const { return call->getArgOperand(1); }
  i64 end() const { return place.offset + size; }
};

struct Group {
  std::vector<Look> members;  // in the order in which they run, one after the other
  i64 first, end;  // whole words
  u64 forbidden;

  // In whole words, as the leader's.
  void add(const Look& look) {
    const i64 from = members.front().place.offset;
    const auto down = [&](i64 offset) { return offset - ((offset - from) % kWord + kWord) % kWord; };
    first = std::min(first, down(look.place.offset));
    end = std::max(end, down(look.end() + kWord - 1));
    forbidden |= look.forbidden;
    members.push_back(look);
  }
};

bool is_asked(const Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  return call && call->getCalledFunction() && call->getCalledFunction()->getName() == kAsked;
}

std::optional<Look> look_of(llvm::CallInst& call) {
  Look look{&call, nullptr, nullptr, nullptr, nullptr, place_of(call.getArgOperand(1)), 0, 0};
  for (llvm::User* user : call.users()) {
    auto* part = llvm::dyn_cast<llvm::ExtractValueInst>(user);
    if (!part || part->getNumIndices() != 1) return {};
    Value*& known = part->getIndices()[0] == kPage ? look.page : look.differs;
    if (known) return {};
    known = part;
  }
  if (!look.page || !look.differs || !look.differs->hasOneUse()) return {};
  auto* compare = llvm::dyn_cast<llvm::ICmpInst>(look.differs->user_back());
  auto* branch = llvm::dyn_cast<llvm::BranchInst>(look.block()->getTerminator());
  if (!compare || !compare->isEquality() || !compare->hasOneUse() || compare->user_back() != branch) return {};
  using namespace llvm::PatternMatch;
  if (!match(compare->getOperand(1), m_Zero())) return {};
  const u32 same = compare->getPredicate() == llvm::ICmpInst::ICMP_EQ ? 0 : 1;
  look.hit = branch->getSuccessor(same);
  look.miss = branch->getSuccessor(1 - same);
  if (look.hit->getSinglePredecessor() != look.block() || llvm::isa<llvm::PHINode>(look.hit->front())) return {};
  const auto is_elsewhere = [&](const llvm::User* user) {
    const BasicBlock* at = llvm::cast<Instruction>(user)->getParent();
    return llvm::isa<llvm::PHINode>(user) || at == look.block() || at == look.miss;
  };
  if (std::ranges::any_of(look.page->users(), is_elsewhere)) return {};
  llvm::ConstantInt *size = nullptr, *forbidden = nullptr;
  if (!match(call.getArgOperand(2), m_ConstantInt(size)) || !match(call.getArgOperand(3), m_ConstantInt(forbidden)))
    return {};
  look.size = static_cast<i64>(size->getZExtValue());
  look.forbidden = forbidden->getZExtValue();
  return look;
}

std::optional<Look> look_in(BasicBlock& block) {
  for (Instruction& instruction : llvm::reverse(block)) {
    if (is_asked(instruction)) return look_of(llvm::cast<llvm::CallInst>(instruction));
  }
  return {};
}

bool belongs(const Group& group, const Look& look) {
  const Look& leader = group.members.front();
  return leader.place.base == look.place.base && leader.pages() == look.pages() && look.size <= kPair &&
         (look.place.offset - leader.place.offset) % std::min(look.size, kWord) == 0 &&
         std::max(group.end, look.end()) - std::min(group.first, look.place.offset) <= kLongest;
}

// Of the looks that follow from one in this block.
void find_groups(BasicBlock& begin, std::set<const BasicBlock*>& seen, std::vector<Group>& groups) {
  std::vector<Group> found;
  for (BasicBlock* block = &begin; block;) {
    const auto look = seen.insert(block).second ? look_in(*block) : std::nullopt;
    if (!look) break;
    const auto home = std::ranges::find_if(found, [&](const Group& group) { return belongs(group, *look); });
    if (home != found.end()) {
      home->add(*look);
    } else if (look->size == kWord || look->size == kPair) {  // what is smaller may lie anywhere in a word
      found.push_back({{*look}, look->place.offset, look->end(), look->forbidden});
    }
    block = look->hit;
  }
  for (Group& group : found) {
    if (group.members.size() > 1) groups.push_back(std::move(group));
  }
}

// The leader's look becomes one for all.
class Sharing {
 public:
  explicit Sharing(const Group& group)
      : group_(group), leader_(group.members.front()), builder_(leader_.block()->getTerminator()) {}

  void run() {
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
    here_ = builder_.CreateAdd(all.page, leader_.place.base);
    there_ = builder_.CreateAdd(later, leader_.place.base);
    builder_.CreateBr(leader_.hit);
    for (const Look& member : group_.members) use(member, ends);
  }

 private:
  struct Asked {
    Value *page, *differs;
  };

  Value* address(i64 offset) {
    return builder_.CreateAdd(leader_.place.base, builder_.getInt64(static_cast<u64>(offset)));
  }

  Asked ask(Value* from, i64 length) {
    Value* found = builder_.CreateCall(leader_.call->getCalledFunction(),
                                       {leader_.pages(), from, builder_.getInt32(static_cast<u32>(length)),
                                        builder_.getInt32(static_cast<u32>(group_.forbidden))});
    return {builder_.CreateExtractValue(found, kPage), builder_.CreateExtractValue(found, kDiffers)};
  }

  // Accesses of two words that begin at an even or at an odd one of the stretch.
  bool has_pairs(i64 half) const {
    return std::ranges::any_of(group_.members, [&](const Look& member) {
      return member.size > kWord && (member.place.offset - group_.first) % kPair == half;
    });
  }
  // Not 0 if the first page may end in the middle of such a one.
  Value* is_cut(Value* first_page, i64 half) {
    return builder_.CreateAnd(half == 0 ? first_page : builder_.CreateNot(first_page), u64{kWord});
  }

  // The access need not look: its place is known.
  void use(const Look& member, Value* ends) {
    const i64 place = member.place.offset - group_.first;
    builder_.SetInsertPoint(member.hit, member.hit->getFirstInsertionPt());
    Value* near = here_;
    if (place != 0) {
      Value* is_here = builder_.CreateICmpUGT(ends, builder_.getInt32(static_cast<u32>(place)));
      near = builder_.CreateSelect(is_here, here_, there_);
    }
    Value* at = builder_.CreateAdd(near, builder_.getInt64(static_cast<u64>(member.place.offset)));
    Value* page = builder_.CreateSub(near, member.place.base);
    for (llvm::User* user : llvm::make_early_inc_range(member.page->users())) {
      using namespace llvm::PatternMatch;
      if (match(user, m_c_Add(m_Specific(member.page), m_Specific(member.address())))) user->replaceAllUsesWith(at);
    }
    member.page->replaceAllUsesWith(page);
    member.differs->replaceAllUsesWith(llvm::ConstantInt::get(member.differs->getType(), 0));
    for (Value* part : {member.page, member.differs}) llvm::cast<Instruction>(part)->eraseFromParent();
  }

  const Group& group_;
  const Look& leader_;
  llvm::IRBuilder<> builder_;
  Value *here_ = nullptr, *there_ = nullptr;
};

void put_in_place(llvm::Function& function) {
  std::vector<llvm::CallInst*> calls;
  for (Instruction& instruction : llvm::instructions(function)) {
    if (is_asked(instruction)) calls.push_back(llvm::cast<llvm::CallInst>(&instruction));
  }
  for (llvm::CallInst* call : calls) {
    if (llvm::RecursivelyDeleteTriviallyDeadInstructions(call)) continue;
    if (llvm::Error failed = call->getCalledFunction()->materialize()) llvm::consumeError(std::move(failed));
    llvm::InlineFunctionInfo info;
    (void)llvm::InlineFunction(*call, info);
  }
}

}  // namespace

void share_recent_pages(llvm::Function& function) {
  if (!function.getParent()->getFunction(kAsked)) return;  // the rows of another memory
  std::set<const BasicBlock*> seen;
  std::vector<Group> groups;
  for (BasicBlock* block : llvm::ReversePostOrderTraversal<llvm::Function*>(&function))
    find_groups(*block, seen, groups);
  for (const Group& group : groups) Sharing(group).run();
  put_in_place(function);
}

}  // namespace kvrm::translator
