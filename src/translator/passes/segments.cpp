// A branch for each access keeps a GPU from overlapping loads. A *segment* starts at a lookup and goes on, along
// branches too, as long as nothing is written, so that it may run twice. Its lookups do not branch: where one finds no
// page, its load reads a spare word instead, or whatever is at its place in the lane's window, and what follows
// computes with that. Before anything can be noticed of it, a test of all lookups leaves the region with the state
// before the first one, and the interpreter runs these instructions one by one. Branches on what the spare word says do
// no harm: a test follows on every path.
#include "translator/passes/segments.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Local.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "translator/likely.h"
#include "translator/passes/exit_values.h"
#include "translator/passes/l1_lookups.h"
#include "translator/passes/loop_checks.h"

namespace kvrm::translator {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::Value;

// What the exit stores stays in registers until the test, and all lookups of a segment that fails were in vain.
constexpr u32 kMostLookups = 16;  // of a path
constexpr u32 kMostBlocks = 24;
constexpr i64 kSpareBytes = 64;  // the largest access
constexpr const char* kSpare = "kvrm_spare";

// A word of zeros in device memory that any access of a lookup can read.
llvm::Constant* spare_address(llvm::Module& module) {
  llvm::LLVMContext& context = module.getContext();
  llvm::GlobalVariable* spare = module.getGlobalVariable(kSpare, true);
  if (!spare) {
    auto* type = llvm::ArrayType::get(llvm::Type::getInt8Ty(context), kSpareBytes);
    const unsigned space = llvm::StringRef(module.getTargetTriple()).starts_with("nvptx") ? 1 : 0;
    spare = new llvm::GlobalVariable(module, type, /*isConstant=*/true, llvm::GlobalValue::PrivateLinkage,
                                     llvm::Constant::getNullValue(type), kSpare, nullptr,
                                     llvm::GlobalValue::NotThreadLocal, space);
    spare->setAlignment(llvm::Align(kSpareBytes));
  }
  llvm::Constant* address =
      llvm::ConstantExpr::getPointerBitCastOrAddrSpaceCast(spare, llvm::PointerType::get(context, 0));
  return llvm::ConstantExpr::getPtrToInt(address, llvm::Type::getInt64Ty(context));
}

// The constant that an instruction adds.
std::optional<i64> added_to(const Value& value, const llvm::User& user) {
  using namespace llvm::PatternMatch;
  const llvm::APInt* more = nullptr;
  if (!match(&user, m_Add(m_Specific(&value), m_APInt(more)))) return {};
  return more->getSExtValue();
}

// How the sum of a page and an address is used.
struct Uses {
  bool are_known = true;  // only for loads and stores of so many bytes from there on
  bool has_load = false;

  void follow(Value& value, i64 offset, i64 size) {
    for (llvm::User* user : value.users()) {
      if (auto* load = llvm::dyn_cast<llvm::LoadInst>(user)) {
        has_load = true;
        are_known &= load->isSimple();
        load->dropUnknownNonDebugMetadata();  // such as ranges
      } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(user)) {
        are_known &= store->isSimple() && store->getPointerOperand() == &value;
      } else if (llvm::isa<llvm::IntToPtrInst, llvm::AddrSpaceCastInst>(user)) {
        follow(*user, offset, size);
      } else if (auto* part = llvm::dyn_cast<llvm::GetElementPtrInst>(user)) {
        llvm::APInt more(64, 0);
        are_known &= part->accumulateConstantOffset(part->getModule()->getDataLayout(), more);
        const i64 at = offset + more.getSExtValue();
        are_known &= 0 <= at && at < size;
        follow(*user, at, size);
      } else if (const auto more = added_to(value, *user)) {
        are_known &= 0 <= offset + *more && offset + *more < size;
        follow(*user, offset + *more, size);
      } else {
        are_known = false;
      }
    }
  }
};

// A lookup that can be done without its branch.
struct Access {
  L1Lookup lookup;
  llvm::SmallVector<Instruction*, 2> sums;  // of its page and its address, for loads

  static std::optional<Access> of(const L1Lookup& lookup) {
    Access access{lookup, {}};
    if (!is_exit(*lookup.miss) || (lookup.size > kSpareBytes && lookup.window_mask() == 0)) return {};
    for (llvm::User* user : lookup.page->users()) {
      using namespace llvm::PatternMatch;
      if (!match(user, m_c_Add(m_Specific(lookup.page), m_Value()))) return {};
      Uses uses;
      uses.follow(*user, 0, lookup.size);
      if (!uses.are_known) return {};
      if (uses.has_load) access.sums.push_back(llvm::cast<Instruction>(user));
    }
    return access;
  }
};

bool ends_segment(const Instruction& instruction) {
  if (instruction.isTerminator() || is_l1_lookup(instruction)) return false;
  return instruction.mayHaveSideEffects() ||
         (llvm::isa<llvm::CallInst>(instruction) && !llvm::isa<llvm::IntrinsicInst>(instruction) &&
          !llvm::cast<llvm::CallInst>(instruction).isInlineAsm());
}

// A branch on a lookup that goes on elsewhere on a miss: in the other page of a group of accesses (l1_tlb.cpp), or with
// a call that reads the L2 TLB.
struct LookupBranch {
  llvm::BranchInst* branch;
  Value* differs;
  BasicBlock *hit, *miss;

  static std::optional<LookupBranch> in(BasicBlock& block) {
    using namespace llvm::PatternMatch;
    auto* branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
    if (!branch || !branch->isConditional() || branch->getSuccessor(0) == branch->getSuccessor(1)) return {};
    llvm::ICmpInst::Predicate predicate{};
    Value* differs = nullptr;
    if (!match(branch->getCondition(), m_ICmp(predicate, m_Value(differs), m_Zero()))) return {};
    if (!llvm::ICmpInst::isEquality(predicate)) return {};
    const auto* part = llvm::dyn_cast<llvm::ExtractValueInst>(differs);
    const auto* asked = part ? llvm::dyn_cast<Instruction>(part->getAggregateOperand()) : nullptr;
    if (!asked || !is_l1_lookup(*asked)) return {};
    const u32 same = predicate == llvm::ICmpInst::ICMP_EQ ? 0 : 1;
    return LookupBranch{branch, differs, branch->getSuccessor(same), branch->getSuccessor(1 - same)};
  }
};

class Segments {
 public:
  explicit Segments(llvm::Function& function) : function_(function), tree_(function), builder_(function.getContext()) {}

  void run() {
    for (BasicBlock* block : llvm::ReversePostOrderTraversal<llvm::Function*>(&function_)) {
      if (!is_exit(*block)) left_.push_back(block);
    }
    while (!left_.empty()) {
      BasicBlock* const block = left_.front();
      left_.pop_front();
      if (const auto lookup = l1_lookup_in(*block)) begin(*lookup);
    }
    if (!any_) return;
    join_budget_checks(function_, at_loops_);
    llvm::removeUnreachableBlocks(function_);  // exits
  }

 private:
  void begin(const L1Lookup& lookup);
  void grow(BasicBlock* block, Value* bad, u32 lookups);
  // Goes on behind a conditional branch, where possible.
  void fork(llvm::BranchInst& branch, Value* bad, u32 lookups);
  bool can_enter(const BasicBlock& block) const {
    return block.getSinglePredecessor() && !is_exit(block) && blocks_ < kMostBlocks;
  }
  // Whether an edge leads back to a block that only asks for budget.
  bool is_next_iteration(BasicBlock& from, const BasicBlock& to) const {
    const auto whole = split_from_.find(&from);
    return is_budget_check(to) && tree_.dominates(&to, whole != split_from_.end() ? whole->second : &from);
  }
  // Whether a segment that goes on there saves a branch.
  bool pays(BasicBlock& from, BasicBlock& to, u32 depth = 0);
  // Without its branch from now on.
  void take(const Access& access);
  void read_spare_on_miss(const Access& access);
  // Nothing from there on happens in vain.
  void test_before(Instruction& instruction, Value* bad);
  void test_at_edge(BasicBlock& from, BasicBlock& to, Value* bad);
  // With the lookup that the block ends with, in one branch.
  void test_with(const LookupBranch& lookup, Value* bad);
  // Goes on, or to the segment's exit if not all bits of `bad` are 0.
  void branch_at_end(BasicBlock& block, BasicBlock* on, Value* bad);

  llvm::Function& function_;
  const llvm::DominatorTree tree_;  // of the blocks before
  llvm::Constant* spare_ = nullptr;  // until it is needed
  bool any_ = false;  // segments
  llvm::IRBuilder<> builder_;
  std::deque<BasicBlock*> left_;  // in which segments may start
  llvm::DenseMap<const BasicBlock*, const BasicBlock*> split_from_;
  std::vector<BasicBlock*> at_loops_;  // tests
  // The segment's.
  BasicBlock* exit_ = nullptr;
  std::vector<std::pair<llvm::PHINode*, Value*>> at_exit_;
  u32 blocks_ = 0;
};

void Segments::begin(const L1Lookup& lookup) {
  const auto access = Access::of(lookup);
  if (!access || access->sums.empty()) return;  // a store comes at once
  blocks_ = 0;
  if (!pays(*lookup.block(), *lookup.hit)) return;
  any_ = true;
  exit_ = lookup.miss;
  at_exit_.clear();
  for (llvm::PHINode& phi : exit_->phis()) at_exit_.emplace_back(&phi, phi.getIncomingValueForBlock(lookup.block()));
  take(*access);
  grow(lookup.hit, lookup.differs, 1);
}

void Segments::take(const Access& access) {
  BasicBlock* const block = access.lookup.block();
  Instruction* const end = block->getTerminator();
  builder_.SetInsertPoint(end);
  if (access.lookup.window_mask() == 0) read_spare_on_miss(access);
  access.lookup.miss->removePredecessor(block, /*KeepOneInputPHIs=*/true);
  llvm::ReplaceInstWithInst(end, llvm::BranchInst::Create(access.lookup.hit));
}

void Segments::read_spare_on_miss(const Access& access) {
  Value* known = builder_.CreateIsNull(access.lookup.differs);
  if (!spare_) spare_ = spare_address(*function_.getParent());
  for (Instruction* sum : access.sums) {
    builder_.SetInsertPoint(sum->getNextNode());
    Value* there = builder_.CreateSelect(known, sum, spare_);
    sum->replaceUsesWithIf(there, [&](const llvm::Use& use) { return use.getUser() != there; });
  }
}

void Segments::grow(BasicBlock* block, Value* bad, u32 lookups) {
  for (;; ++blocks_) {
    for (Instruction& instruction : *block) {
      if (ends_segment(instruction)) return test_before(instruction, bad);
    }
    const auto lookup = l1_lookup_in(*block);
    const auto access = lookup && lookups < kMostLookups ? Access::of(*lookup) : std::nullopt;
    if (access && !access->sums.empty()) {
      take(*access);
      builder_.SetInsertPoint(block->getTerminator());
      bad = builder_.CreateOr(bad, lookup->differs);
      block = lookup->hit;
      ++lookups;
      continue;
    }
    if (const auto other = LookupBranch::in(*block)) return test_with(*other, bad);
    Instruction* const end = block->getTerminator();
    auto* branch = llvm::dyn_cast<llvm::BranchInst>(end);
    if (!branch) return test_before(*end, bad);
    if (branch->isConditional()) return fork(*branch, bad, lookups);
    BasicBlock* const next = branch->getSuccessor(0);
    if (is_next_iteration(*block, *next)) return test_at_edge(*block, *next, bad);
    if (!can_enter(*next)) return test_before(*end, bad);
    block = next;
  }
}

// Otherwise a test there is as good as a later one, and shorter.
bool Segments::pays(BasicBlock& from, BasicBlock& to, u32 depth) {
  if (is_next_iteration(from, to)) return true;
  if (!can_enter(to) || depth == kMostBlocks || std::ranges::any_of(to, ends_segment)) return false;
  if (LookupBranch::in(to)) return true;
  auto* const branch = llvm::dyn_cast<llvm::BranchInst>(to.getTerminator());
  return branch && llvm::any_of(branch->successors(), [&](BasicBlock* next) { return pays(to, *next, depth + 1); });
}

void Segments::fork(llvm::BranchInst& branch, Value* bad, u32 lookups) {
  BasicBlock& from = *branch.getParent();
  BasicBlock* const to[2] = {branch.getSuccessor(0), branch.getSuccessor(1)};
  const bool pay[2] = {pays(from, *to[0]), pays(from, *to[1])};
  if (to[0] == to[1] || (!pay[0] && !pay[1])) return test_before(branch, bad);
  for (const u32 side : {0u, 1u}) {
    if (!pay[side] || !can_enter(*to[side])) {
      test_at_edge(from, *to[side], bad);
      continue;
    }
    ++blocks_;
    grow(to[side], bad, lookups);
  }
}

void Segments::branch_at_end(BasicBlock& block, BasicBlock* on, Value* bad) {
  builder_.SetInsertPoint(block.getTerminator());
  builder_.CreateCondBr(builder_.CreateIsNull(bad), on, exit_, likely(function_.getContext()));
  block.getTerminator()->eraseFromParent();
  for (const auto& [phi, value] : at_exit_) phi->addIncoming(value, &block);
}

void Segments::test_before(Instruction& instruction, Value* bad) {
  BasicBlock* const block = instruction.getParent();
  BasicBlock* const rest = block->splitBasicBlock(&instruction, "tested");
  branch_at_end(*block, rest, bad);
  left_.push_front(rest);
  split_from_[rest] = split_from_.contains(block) ? split_from_[block] : block;
}

void Segments::test_at_edge(BasicBlock& from, BasicBlock& to, Value* bad) {
  BasicBlock* const test = BasicBlock::Create(function_.getContext(), "test", &function_);
  from.getTerminator()->replaceSuccessorWith(&to, test);
  to.replacePhiUsesWith(&from, test);
  builder_.SetInsertPoint(test);
  builder_.CreateBr(&to);
  branch_at_end(*test, &to, bad);
  if (is_next_iteration(from, to)) at_loops_.push_back(test);
}

void Segments::test_with(const LookupBranch& lookup, Value* bad) {
  BasicBlock& block = *lookup.branch->getParent();
  if (is_exit(*lookup.miss)) {
    lookup.miss->removePredecessor(&block, /*KeepOneInputPHIs=*/true);
    builder_.SetInsertPoint(lookup.branch);
    branch_at_end(block, lookup.hit, builder_.CreateOr(bad, lookup.differs));
    return;
  }
  test_at_edge(block, *lookup.miss, bad);
  BasicBlock* const test = lookup.branch->getSuccessor(lookup.branch->getSuccessor(0) == lookup.hit ? 1 : 0);
  builder_.SetInsertPoint(lookup.branch);
  Value* good = builder_.CreateIsNull(builder_.CreateOr(bad, lookup.differs));
  builder_.CreateCondBr(good, lookup.hit, test, likely(function_.getContext()));
  lookup.branch->eraseFromParent();
}

}  // namespace

void make_segments(llvm::Function& function) {
  if (makes_l1_lookups(function)) Segments(function).run();
}

}  // namespace kvrm::translator
