// A function that saves its registers, or reads the fields of a structure, makes many accesses at fixed offsets from
// one value. The first access looks up the page for all. If the whole range lies in one page of the TLB, its host
// addend is kept, and the other accesses only test whether there is one. Otherwise, and after every call that may
// change the TLB or a page, each access does its own lookup.
#include "translator/passes/page_groups.h"

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
#include "translator/passes/host_addend_guesses.h"
#include "translator/passes/tlb_lookups.h"

namespace kvrm::translator {
namespace {

using llvm::BasicBlock;
using llvm::Value;
using memory::TlbEntry;

// Longer ranges cross a page boundary too often.
constexpr i64 kLongest = 1024;

struct Group {
  std::vector<Lookup> members;  // the first one's block dominates the others'
  i64 first, last;
  llvm::AllocaInst* addend = nullptr;  // 0: none
};

std::vector<Group> find_groups(llvm::Function& function, const llvm::DominatorTree& tree) {
  std::vector<Group> groups;
  for (BasicBlock* block : llvm::ReversePostOrderTraversal<llvm::Function*>(&function)) {
    const auto found = lookup_in(*block);
    if (!found) continue;
    const auto home = std::ranges::find_if(groups, [&](const Group& group) {
      const Lookup& leader = group.members.front();
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

  Value* at(const Lookup& lookup, i64 offset) {
    return builder_.CreateAdd(lookup.base, builder_.getInt64(static_cast<u64>(offset)));
  }

  // Looks up bytes [first, last] and ends the block. Returns the host addend, which is valid in `found`.
  Value* look_for(const Lookup& lookup, i64 first, i64 last, BasicBlock* found, BasicBlock* otherwise) {
    Value* index = entry_index(builder_, at(lookup, first));
    Value* tag = load_entry_word(builder_, lookup.cache, index, lookup.tag_offset);
    Value* page = builder_.CreateAnd(at(lookup, last), memory::kPageMask);
    builder_.CreateCondBr(builder_.CreateICmpEQ(page, tag), found, otherwise, likely(function_.getContext()));
    builder_.SetInsertPoint(found);
    return load_entry_word(builder_, lookup.cache, index, offsetof(TlbEntry, host_addend));
  }

  // There the address is part of an instruction, and no register holds it in between.
  void make_address_where_used(const Lookup& lookup) {
    if (lookup.address == lookup.base) return;
    for (BasicBlock* block : {lookup.hit, lookup.miss}) {
      if (block->getSinglePredecessor() != lookup.block) continue;
      builder_.SetInsertPoint(block, block->getFirstInsertionPt());
      Value* here = at(lookup, lookup.first);
      lookup.address->replaceUsesWithIf(here, [&](const llvm::Use& use) {
        const auto* user = llvm::cast<llvm::Instruction>(use.getUser());
        return user->getParent() == block && !llvm::isa<llvm::PHINode>(user);
      });
    }
  }

  // Moves the lookup into a cold block. Its block has no terminator then, and `hit` starts with the phi of addends.
  struct Apart {
    BasicBlock* alone;
    llvm::PHINode* addend;
  };
  Apart take_apart(const Lookup& lookup) {
    BasicBlock* alone = new_block("alone");
    BasicBlock* found = new_block("found");
    make_address_where_used(lookup);
    lookup.block->getTerminator()->eraseFromParent();
    lookup.miss->replacePhiUsesWith(lookup.block, alone);
    builder_.SetInsertPoint(alone);
    Value* addend = look_for(lookup, lookup.first, lookup.last, found, lookup.miss);
    builder_.CreateBr(lookup.hit);
    builder_.SetInsertPoint(lookup.hit, lookup.hit->begin());
    llvm::PHINode* either = builder_.CreatePHI(builder_.getInt64Ty(), 2);
    either->addIncoming(addend, found);
    lookup.addend->replaceAllUsesWith(either);
    lookup.addend->eraseFromParent();
    return {alone, either};
  }

  void lead(Group& group) {
    const Lookup& lookup = group.members.front();
    const Apart apart = take_apart(lookup);
    BasicBlock* together = new_block("together");
    builder_.SetInsertPoint(lookup.block);
    Value* addend = look_for(lookup, group.first, group.last, together, apart.alone);
    builder_.CreateStore(addend, group.addend);
    builder_.CreateBr(lookup.hit);
    apart.addend->addIncoming(addend, together);
    builder_.SetInsertPoint(apart.alone, apart.alone->begin());
    builder_.CreateStore(builder_.getInt64(0), group.addend);
  }

  void follow(Group& group, const Lookup& lookup) {
    const Apart apart = take_apart(lookup);
    builder_.SetInsertPoint(lookup.block);
    Value* addend = builder_.CreateLoad(builder_.getInt64Ty(), group.addend);
    Value* known = builder_.CreateICmpNE(addend, builder_.getInt64(0));
    builder_.CreateCondBr(known, lookup.hit, apart.alone, likely(function_.getContext()));
    apart.addend->addIncoming(addend, lookup.block);
  }

  llvm::Function& function_;
  llvm::IRBuilder<> builder_;
};

bool may_change_pages(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  return call && !llvm::isa<llvm::IntrinsicInst>(call) && !call->isMustTailCall();
}

}  // namespace

void share_lookups(llvm::Function& function) {
  llvm::DominatorTree tree(function);
  std::vector<Group> groups = find_groups(function, tree);
  if (groups.empty()) return;
  std::vector<llvm::Instruction*> calls;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (may_change_pages(instruction)) calls.push_back(&instruction);
  }
  const CriticalLoads critical(function, tree);
  llvm::IRBuilder<> builder(function.getContext());
  std::vector<llvm::AllocaInst*> addends;
  std::vector<BasicBlock*> to_guess;
  for (Group& group : groups) {
    if (std::ranges::any_of(group.members, [&](const Lookup& member) { return critical.any_in(*member.hit); }))
      to_guess.push_back(group.members.front().block);
    if (group.members.size() < 2) continue;
    builder.SetInsertPoint(&function.getEntryBlock(), function.getEntryBlock().begin());
    group.addend = builder.CreateAlloca(builder.getInt64Ty());
    addends.push_back(group.addend);
    for (llvm::Instruction* call : calls) {
      builder.SetInsertPoint(call->getNextNode());
      builder.CreateStore(builder.getInt64(0), group.addend);
    }
  }
  Sharing sharing(function);
  for (Group& group : groups)
    if (group.members.size() > 1) sharing.rewrite(group);
  tree.recalculate(function);
  llvm::PromoteMemToReg(addends, tree);
  guess_host_addends(function, to_guess);
}

}  // namespace kvrm::translator
