#include "translator/passes/window_accesses.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "memory/window.h"
#include "translator/freestanding/links.h"
#include "translator/passes/exit_values.h"
#include "translator/passes/tlb_lookups.h"

namespace kvrm::translator {
namespace {

using llvm::BasicBlock;
using llvm::CallBrInst;
using llvm::Value;

// Far below the guard space, so that the last byte of an access is in it too.
constexpr i64 kFarthest = static_cast<i64>(memory::Window::kGuardBytes / 2);
// Accesses that share an exit: the state before the first of them takes registers until the last.
constexpr u32 kMostSharing = 8;

std::vector<llvm::CallInst*> checks_of(llvm::Function& function) {
  std::vector<llvm::CallInst*> checks;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* const call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    const llvm::Function* const called = call ? call->getCalledFunction() : nullptr;
    if (called && called->getName() == "kvrm_outside_window") checks.push_back(call);
  }
  return checks;
}

// An access to the window is the only inline assembly that a region has.
std::vector<CallBrInst*> accesses_of(llvm::Function& function) {
  std::vector<CallBrInst*> accesses;
  for (BasicBlock& block : function)
    if (auto* const access = llvm::dyn_cast<CallBrInst>(block.getTerminator())) accesses.push_back(access);
  return accesses;
}

bool is_load(const CallBrInst& access) { return access.onlyReadsMemory(); }

// The same access with another type of register.
CallBrInst* with_register(CallBrInst& access, llvm::Type* type, const char* from, const char* to,
                          llvm::ArrayRef<Value*> arguments) {
  const auto* const assembly = llvm::cast<llvm::InlineAsm>(access.getCalledOperand());
  std::string text = assembly->getAsmString(), constraints = assembly->getConstraintString();
  const auto replace = [](std::string& where, const std::string& old, const char* with) {
    const std::size_t at = where.find(old);
    if (at == std::string::npos) return false;
    where.replace(at, old.size(), with);
    return true;
  };
  if (!replace(text, "${0:q}", "$0") || !replace(constraints, from, to)) return nullptr;
  llvm::SmallVector<llvm::Type*> types;
  for (Value* const argument : arguments) types.push_back(argument->getType());
  auto* const function = llvm::FunctionType::get(type, types, false);
  auto* const changed = llvm::InlineAsm::get(function, text, constraints, assembly->hasSideEffects());
  llvm::IRBuilder<> builder(&access);
  CallBrInst* const other =
      builder.CreateCallBr(function, changed, access.getDefaultDest(), access.getIndirectDests(), arguments);
  other->setAttributes(access.getAttributes());
  return other;
}

bool is_in_one_register(const CallBrInst& access) {
  const std::string& text = llvm::cast<llvm::InlineAsm>(access.getCalledOperand())->getAsmString();
  return text.starts_with("1: movq ") && text.find("\n2:") == std::string::npos;
}

// Whether a vector register serves better: arithmetic uses it, or nothing else than vectors does.
bool belongs_into_vector(const CallBrInst& access) {
  bool only_vectors = true, is_number = false;
  for (const llvm::User* user : access.users()) {
    if (llvm::isa<llvm::PHINode>(user)) return false;
    const bool is_double = llvm::isa<llvm::BitCastInst>(user) && user->getType()->isDoubleTy();
    is_number |= is_double;
    only_vectors &= is_double || (llvm::isa<llvm::InsertElementInst>(user) && user->getOperand(1) == &access);
  }
  return is_number || (only_vectors && !access.use_empty());
}

void load_into_vector_register(CallBrInst& access) {
  if (!access.getType()->isIntegerTy(64) || !is_in_one_register(access) || !belongs_into_vector(access)) return;
  llvm::IRBuilder<> builder(access.getContext());
  CallBrInst* const other = with_register(access, builder.getDoubleTy(), "=r", "=x", {access.getArgOperand(0)});
  if (!other) return;
  std::vector<llvm::Instruction*> users;
  for (llvm::User* const user : access.users()) users.push_back(llvm::cast<llvm::Instruction>(user));
  for (llvm::Instruction* const user : users) {
    builder.SetInsertPoint(user);
    Value* same = other;
    auto* const insert = llvm::dyn_cast<llvm::InsertElementInst>(user);
    if (insert && insert->getOperand(1) == &access) {
      auto* const type = llvm::FixedVectorType::get(other->getType(), 2);
      Value* const into = builder.CreateBitCast(insert->getOperand(0), type);
      same = builder.CreateBitCast(builder.CreateInsertElement(into, other, insert->getOperand(2)), insert->getType());
    } else if (!llvm::isa<llvm::BitCastInst>(user) || !user->getType()->isDoubleTy()) {
      user->replaceUsesOfWith(&access, builder.CreateBitCast(other, builder.getInt64Ty()));
      continue;
    }
    user->replaceAllUsesWith(same);
    user->eraseFromParent();
  }
  access.eraseFromParent();
}

void store_from_vector_register(CallBrInst& access) {
  using namespace llvm::PatternMatch;
  if (!access.getType()->isVoidTy() || access.arg_size() != 2 || !is_in_one_register(access)) return;
  Value* const stored = access.getArgOperand(0);
  Value* vector = nullptr;
  llvm::IRBuilder<> builder(&access);
  Value* number = nullptr;
  if (match(stored, m_BitCast(m_Value(vector))) && vector->getType()->isDoubleTy()) {
    number = vector;
  } else if (match(stored, m_ExtractElt(m_Value(vector), m_Zero())) && stored->getType()->isIntegerTy(64)) {
    auto* const type = llvm::FixedVectorType::get(builder.getDoubleTy(), 2);
    if (vector->getType()->getPrimitiveSizeInBits() != 128) return;
    number = builder.CreateExtractElement(builder.CreateBitCast(vector, type), u64{0});
  }
  if (!number) return;
  if (with_register(access, access.getType(), "r", "x", {number, access.getArgOperand(1)})) access.eraseFromParent();
}

// Whether running it twice could be noticed.
bool changes_something(const llvm::Instruction& instruction) {
  return instruction.mayWriteToMemory() || instruction.mayHaveSideEffects();
}

class Sharing {
 public:
  explicit Sharing(llvm::Function& function) : function_(function) {
    for (CallBrInst* const access : accesses_of(function)) landings_.insert(access->getIndirectDest(0));
  }

  void run() {
    for (BasicBlock* const block : llvm::ReversePostOrderTraversal<llvm::Function*>(&function_)) visit(*block);
    llvm::EliminateUnreachableBlocks(function_);
  }

 private:
  // The exit of the accesses so far, on the way to a block.
  struct Segment {
    BasicBlock* exit = nullptr;
    u32 accesses = 0;
  };

  bool is_landing(BasicBlock* block) const {
    return landings_.contains(block) && is_exit(*block) && !llvm::isa<llvm::PHINode>(block->front());
  }

  void visit(BasicBlock& block) {
    Segment segment;
    if (BasicBlock* const before = block.getSinglePredecessor()) {
      const auto found = after_.find(before);
      if (found != after_.end() && found->second.first == &block) segment = found->second.second;
    }
    for (const llvm::Instruction& instruction : block) {
      if (!instruction.isTerminator() && changes_something(instruction)) segment = {};
    }
    if (auto* const access = llvm::dyn_cast<CallBrInst>(block.getTerminator())) {
      end(*access, segment);
    } else if (auto* const branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator())) {
      if (branch->isConditional()) end(*branch, segment);
    }
  }

  void end(CallBrInst& access, Segment segment) {
    if (!is_landing(access.getIndirectDest(0))) return;
    if (segment.exit && segment.accesses < kMostSharing) {
      access.setIndirectDest(0, segment.exit);
    } else {
      segment = {access.getIndirectDest(0), 0};
    }
    ++segment.accesses;
    if (is_load(access)) after_[access.getParent()] = {access.getDefaultDest(), segment};
  }

  // A check before an access.
  void end(llvm::BranchInst& check, Segment segment) {
    for (const unsigned exit : {0u, 1u}) {
      if (!is_landing(check.getSuccessor(exit)) || is_landing(check.getSuccessor(1 - exit))) continue;
      if (segment.exit && segment.accesses < kMostSharing) {
        check.setSuccessor(exit, segment.exit);
      } else {
        segment = {check.getSuccessor(exit), 0};
      }
      after_[check.getParent()] = {check.getSuccessor(1 - exit), segment};
      return;
    }
  }

  llvm::Function& function_;
  std::unordered_set<BasicBlock*> landings_;
  std::unordered_map<BasicBlock*, std::pair<BasicBlock*, Segment>> after_;  // where it goes on, by block
};

}  // namespace

bool accesses_window(const llvm::Function& function) {
  return llvm::any_of(function, [](const BasicBlock& block) { return llvm::isa<CallBrInst>(block.getTerminator()); });
}

void check_window_bases(llvm::Function& function) {
  for (llvm::CallInst* const check : checks_of(function)) {
    const BaseOffset address = base_offset_of(check->getArgOperand(0));
    if (address.offset > -kFarthest && address.offset < kFarthest) check->setArgOperand(0, address.base);
  }
}

void lower_window_checks(llvm::Function& function) {
  for (llvm::CallInst* const check : checks_of(function)) {
    llvm::IRBuilder<> builder(check);
    check->replaceAllUsesWith(builder.CreateICmpUGE(check->getArgOperand(0), builder.getInt64(memory::Window::kBytes)));
    check->eraseFromParent();
  }
}

void access_in_vector_registers(llvm::Function& function) {
  for (CallBrInst* const access : accesses_of(function)) load_into_vector_register(*access);
  for (CallBrInst* const access : accesses_of(function)) store_from_vector_register(*access);
}

void share_landings(llvm::Function& function) { Sharing(function).run(); }

}  // namespace kvrm::translator
