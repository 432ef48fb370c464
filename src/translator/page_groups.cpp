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
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "translator/likely.h"
#include "translator/look_ups.h"
#include "translator/page_guesses.h"

namespace kvrm::translator {
namespace {

using llvm::BasicBlock;
using llvm::Value;
using memory::Translation;

// Longer stretches lie in two pages too often.
constexpr i64 kLongest = 1024;

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
  BasicBlock* new_block(const char* name) { return BasicBlock::Create(function_.getContext(), name, &function_); }

  Value* at(const LookUp& look_up, i64 offset) {
    return builder_.CreateAdd(look_up.base, builder_.getInt64(static_cast<u64>(offset)));
  }

  // Looks for bytes [first, last] and ends the block; gives the distance, which is known in `found`.
  Value* look_for(const LookUp& look_up, i64 first, i64 last, BasicBlock* found, BasicBlock* otherwise) {
    Value* index = entry_index(builder_, at(look_up, first));
    Value* tag = load_entry_word(builder_, look_up.cache, index, look_up.tag_offset);
    Value* page = builder_.CreateAnd(at(look_up, last), memory::kPageMask);
    builder_.CreateCondBr(builder_.CreateICmpEQ(page, tag), found, otherwise, likely(function_.getContext()));
    builder_.SetInsertPoint(found);
    return load_entry_word(builder_, look_up.cache, index, offsetof(Translation, distance));
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
    builder_.CreateCondBr(known, look_up.hit, apart.alone, likely(function_.getContext()));
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
  const CriticalLoads critical(function, tree);
  llvm::IRBuilder<> builder(function.getContext());
  std::vector<llvm::AllocaInst*> distances;
  std::vector<BasicBlock*> to_guess;
  for (Group& group : groups) {
    if (std::ranges::any_of(group.members, [&](const LookUp& member) { return critical.any_in(*member.hit); }))
      to_guess.push_back(group.members.front().block);
    if (group.members.size() < 2) continue;
    builder.SetInsertPoint(&function.getEntryBlock(), function.getEntryBlock().begin());
    group.distance = builder.CreateAlloca(builder.getInt64Ty());
    distances.push_back(group.distance);
    for (llvm::Instruction* call : calls) {
      builder.SetInsertPoint(call->getNextNode());
      builder.CreateStore(builder.getInt64(0), group.distance);
    }
  }
  Sharing sharing(function);
  for (Group& group : groups)
    if (group.members.size() > 1) sharing.rewrite(group);
  tree.recalculate(function);
  llvm::PromoteMemToReg(distances, tree);
  guess_distances(function, to_guess);
}

}  // namespace kvrm::translator
