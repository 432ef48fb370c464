#include "translator/passes/l1_lookups.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/Local.h>

#include <algorithm>
#include <vector>

namespace kvrm::translator {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::Value;

constexpr llvm::StringRef kAsked = "kvrm_l1_page";

std::optional<L1Lookup> lookup_of(llvm::CallInst& call) {
  L1Lookup lookup{&call, nullptr, nullptr, nullptr, nullptr, base_offset_of(call.getArgOperand(1)), 0, 0};
  for (llvm::User* user : call.users()) {
    auto* part = llvm::dyn_cast<llvm::ExtractValueInst>(user);
    if (!part || part->getNumIndices() != 1) return {};
    Value*& known = part->getIndices()[0] == L1Lookup::kPage ? lookup.page : lookup.differs;
    if (known) return {};
    known = part;
  }
  if (!lookup.page || !lookup.differs || !lookup.differs->hasOneUse()) return {};
  auto* compare = llvm::dyn_cast<llvm::ICmpInst>(lookup.differs->user_back());
  auto* branch = llvm::dyn_cast<llvm::BranchInst>(lookup.block()->getTerminator());
  if (!compare || !compare->isEquality() || !compare->hasOneUse() || compare->user_back() != branch) return {};
  using namespace llvm::PatternMatch;
  if (!match(compare->getOperand(1), m_Zero())) return {};
  const u32 same = compare->getPredicate() == llvm::ICmpInst::ICMP_EQ ? 0 : 1;
  lookup.hit = branch->getSuccessor(same);
  lookup.miss = branch->getSuccessor(1 - same);
  if (lookup.hit->getSinglePredecessor() != lookup.block() || llvm::isa<llvm::PHINode>(lookup.hit->front())) return {};
  const auto is_elsewhere = [&](const llvm::User* user) {
    const BasicBlock* at = llvm::cast<Instruction>(user)->getParent();
    return llvm::isa<llvm::PHINode>(user) || at == lookup.block() || at == lookup.miss;
  };
  if (std::ranges::any_of(lookup.page->users(), is_elsewhere)) return {};
  llvm::ConstantInt *size = nullptr, *forbidden = nullptr;
  if (!match(call.getArgOperand(2), m_ConstantInt(size)) || !match(call.getArgOperand(3), m_ConstantInt(forbidden)) ||
      !llvm::isa<llvm::ConstantInt>(call.getArgOperand(5)))
    return {};
  lookup.size = static_cast<i64>(size->getZExtValue());
  lookup.forbidden = forbidden->getZExtValue();
  return lookup;
}

}  // namespace

bool is_l1_lookup(const Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  return call && call->getCalledFunction() && call->getCalledFunction()->getName() == kAsked;
}

bool makes_l1_lookups(const llvm::Function& function) { return function.getParent()->getFunction(kAsked) != nullptr; }

std::optional<L1Lookup> l1_lookup_in(BasicBlock& block) {
  for (Instruction& instruction : llvm::reverse(block)) {
    if (is_l1_lookup(instruction)) return lookup_of(llvm::cast<llvm::CallInst>(instruction));
  }
  return {};
}

void inline_l1_lookups(llvm::Function& function) {
  if (!makes_l1_lookups(function)) return;
  std::vector<llvm::CallInst*> calls;
  for (Instruction& instruction : llvm::instructions(function)) {
    if (is_l1_lookup(instruction)) calls.push_back(llvm::cast<llvm::CallInst>(&instruction));
  }
  for (llvm::CallInst* call : calls) {
    if (llvm::RecursivelyDeleteTriviallyDeadInstructions(call)) continue;
    if (llvm::Error failed = call->getCalledFunction()->materialize()) llvm::consumeError(std::move(failed));
    llvm::InlineFunctionInfo info;
    (void)llvm::InlineFunction(*call, info);
  }
}

}  // namespace kvrm::translator
