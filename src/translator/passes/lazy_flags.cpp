// A compare in a loop sets four flags in every iteration. Mostly one of them decides a branch, and only exits read the
// others, through phis in the loop header. Such a web of phis is replaced by another one: a number says which compare
// was the last, and the compare's operands, mostly guest registers that live anyway, say the rest.
#include "translator/passes/lazy_flags.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallSet.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include "translator/passes/exit_values.h"

namespace kvrm::translator {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::PHINode;
using llvm::Value;

constexpr unsigned kMostRecipes = 4;
constexpr unsigned kDeepest = 5;

bool is_flag(const Value& value) { return value.getType()->isIntegerTy(8) || value.getType()->isIntegerTy(1); }

// Only other phis of flags and exits use it.
bool only_exits_use(const PHINode& phi) {
  return llvm::all_of(phi.users(), [](const llvm::User* user) {
    const auto* instruction = llvm::cast<Instruction>(user);
    if (const auto* other = llvm::dyn_cast<PHINode>(instruction))
      return is_flag(*other) && !is_exit(*other->getParent());
    return is_exit(*instruction->getParent());
  });
}

// How a flag was computed: the instruction to repeat, and its operands.
struct Recipe {
  unsigned number;
  llvm::SmallSetVector<Value*, 4> leaves;
};

class Web {
 public:
  Web(llvm::Function& function, const Value& cpu, const llvm::DominatorTree& dominators,
      const llvm::DenseMap<const BasicBlock*, unsigned>& numbers, const llvm::SmallPtrSetImpl<PHINode*>& lazy)
      : function_(function), cpu_(cpu), dominators_(dominators), numbers_(numbers), lazy_(lazy) {}

  // Collects the phis that belong together. False if the web is better left as it is.
  bool collect(PHINode* first) {
    phis_.insert(first);
    for (unsigned i = 0; i < phis_.size(); ++i) {
      PHINode* phi = phis_[i];
      for (Value* value : phi->incoming_values()) {
        auto* other = llvm::dyn_cast<PHINode>(value);
        if (other && lazy_.contains(other)) {
          phis_.insert(other);
        } else if (!add_source(value)) {
          return false;
        }
      }
      for (llvm::User* user : phi->users()) {
        if (auto* other = llvm::dyn_cast<PHINode>(user)) {
          if (!lazy_.contains(other)) return false;
          phis_.insert(other);
        }
      }
    }
    if (recipes_.empty() || recipes_.size() > kMostRecipes) return false;
    llvm::SmallSet<unsigned, 8> used;
    for (const auto& [value, recipe] : recipes_) {
      if (!used.insert(recipe.number).second) return false;
    }
    return true;
  }
  const llvm::SmallSetVector<PHINode*, 8>& phis() const { return phis_; }

  void replace() {
    llvm::SmallVector<std::pair<PHINode*, BasicBlock*>> uses;
    for (PHINode* phi : phis_) {
      llvm::SmallSetVector<BasicBlock*, 8> exits;
      for (llvm::User* user : phi->users()) {
        auto* instruction = llvm::cast<Instruction>(user);
        if (!llvm::isa<PHINode>(instruction)) exits.insert(instruction->getParent());
      }
      for (BasicBlock* exit : exits) uses.emplace_back(phi, exit);
    }
    for (const auto& [phi, exit] : uses) {
      Value* made = make(phi, exit);
      phi->replaceUsesWithIf(made, [&, to = exit](llvm::Use& use) {
        auto* user = llvm::cast<Instruction>(use.getUser());
        return user->getParent() == to && !llvm::isa<PHINode>(user) && !made_.contains(user);
      });
    }
    simplify_new_phis();
  }

 private:
  // A value that enters the web: the state at the entry, or something computed.
  bool add_source(Value* value) {
    if (llvm::isa<llvm::UndefValue>(value) || recipes_.count(value)) return true;
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(value)) {
      llvm::APInt offset(64, 0);
      const Value* base = load->getPointerOperand()->stripAndAccumulateConstantOffsets(
          function_.getParent()->getDataLayout(), offset, true);
      if (base == &cpu_) {
        if (initial_ && initial_ != load) return false;
        initial_ = load;
        return true;
      }
    }
    Recipe recipe;
    if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value)) {
      recipe.number = static_cast<unsigned>(constant->getZExtValue() & 1) + 1;
    } else if (auto* instruction = llvm::dyn_cast<Instruction>(value)) {
      recipe.number = numbers_.lookup(instruction->getParent()) + 3;
      find_leaves(value, 0, recipe);
    } else {
      return false;
    }
    recipes_.insert({value, std::move(recipe)});
    return true;
  }

  // What has other uses in the region is a leaf: it is computed anyway.
  bool is_leaf(Value* value, unsigned depth) const {
    auto* instruction = llvm::dyn_cast<Instruction>(value);
    if (!instruction || !is_pure(*instruction) || depth == kDeepest) return true;
    if (depth == 0) return false;
    return llvm::any_of(instruction->users(), [&](llvm::User* user) {
      auto* phi = llvm::dyn_cast<PHINode>(user);
      return phi ? !lazy_.contains(phi) : llvm::isa<llvm::StoreInst>(user);
    });
  }
  void find_leaves(Value* value, unsigned depth, Recipe& recipe) const {
    if (llvm::isa<llvm::Constant>(value)) return;
    if (is_leaf(value, depth)) {
      recipe.leaves.insert(value);
      return;
    }
    for (Value* operand : llvm::cast<Instruction>(value)->operands()) find_leaves(operand, depth + 1, recipe);
  }

  // The phi's twin that carries what `of` says about the values that enter the web.
  template <class Of>
  Value* twin(PHINode* phi, llvm::Type* type, llvm::DenseMap<PHINode*, PHINode*>& twins, Of of) {
    if (PHINode* known = twins.lookup(phi)) return known;
    PHINode* made = PHINode::Create(type, phi->getNumIncomingValues(), "", phi->getIterator());
    twins[phi] = made;
    new_phis_.push_back(made);
    for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i) {
      Value* value = phi->getIncomingValue(i);
      auto* other = llvm::dyn_cast<PHINode>(value);
      made->addIncoming(other && phis_.contains(other) ? twin(other, type, twins, of) : of(value),
                        phi->getIncomingBlock(i));
    }
    return made;
  }

  Value* which(PHINode* phi) {
    llvm::Type* type = llvm::Type::getInt32Ty(function_.getContext());
    return twin(phi, type, which_, [&](Value* value) -> Value* {
      const auto found = recipes_.find(value);
      return llvm::ConstantInt::get(type, found == recipes_.end() ? 0 : found->second.number);
    });
  }
  Value* leaf(PHINode* phi, Value* of, Value* leaf) {
    return twin(phi, leaf->getType(), leaves_[{of, leaf}],
                [&](Value* value) -> Value* { return value == of ? leaf : llvm::PoisonValue::get(leaf->getType()); });
  }

  Value* again(llvm::IRBuilder<>& builder, PHINode* phi, Value* of, Value* value, const Recipe& recipe) {
    if (llvm::isa<llvm::Constant>(value)) return value;
    if (recipe.leaves.contains(value)) return leaf(phi, of, value);
    Instruction* copy = llvm::cast<Instruction>(value)->clone();
    for (llvm::Use& operand : copy->operands()) {
      operand.set(again(builder, phi, of, operand.get(), recipe));
    }
    builder.Insert(copy);
    made_.insert(copy);
    return copy;
  }

  // The flag that the phi stands for, at the start of an exit.
  Value* make(PHINode* phi, BasicBlock* exit) {
    llvm::IRBuilder<> builder(exit, exit->getFirstInsertionPt());
    Value* result = nullptr;
    if (initial_) {
      Instruction* load = initial_->clone();
      Instruction* address = nullptr;
      if (auto* pointer = llvm::dyn_cast<Instruction>(initial_->getPointerOperand())) {
        address = pointer->clone();
        builder.Insert(address);
        load->setOperand(0, address);
      }
      builder.Insert(load);
      result = load;
    }
    for (const auto& [value, recipe] : recipes_) {
      Value* made = again(builder, phi, value, value, recipe);
      if (!result) {
        result = made;
        continue;
      }
      Value* is_last = builder.CreateICmpEQ(which(phi), builder.getInt32(recipe.number));
      result = builder.CreateSelect(is_last, made, result);
      if (auto* instruction = llvm::dyn_cast<Instruction>(result)) made_.insert(instruction);
    }
    return result;
  }

  // Operands mostly exist already, as a dominating value or in a phi.
  Value* at_hand(PHINode& phi) const {
    Value* only = nullptr;
    bool one = true;
    for (Value* value : phi.incoming_values()) {
      if (value == &phi || llvm::isa<llvm::UndefValue>(value)) continue;
      one = one && (!only || only == value);
      only = value;
    }
    if (!only) return llvm::PoisonValue::get(phi.getType());  // no flag depends on it
    if (one && (llvm::isa<llvm::Constant>(only) || dominators_.dominates(only, &phi))) return only;
    for (PHINode& other : phi.getParent()->phis()) {
      if (&other == &phi || other.getType() != phi.getType()) continue;
      bool same = true;
      for (unsigned i = 0; same && i < phi.getNumIncomingValues(); ++i) {
        Value* value = phi.getIncomingValue(i);
        Value* there = other.getIncomingValueForBlock(phi.getIncomingBlock(i));
        same = llvm::isa<llvm::UndefValue>(value) || value == there || (value == &phi && there == &other);
      }
      if (same) return &other;
    }
    return nullptr;
  }
  void simplify_new_phis() {
    for (bool changed = true; changed;) {
      changed = false;
      for (PHINode*& phi : new_phis_) {
        if (!phi) continue;
        Value* other = at_hand(*phi);
        if (!other) continue;
        phi->replaceAllUsesWith(other);
        phi->eraseFromParent();
        phi = nullptr;
        changed = true;
      }
    }
  }

  llvm::Function& function_;
  const Value& cpu_;
  const llvm::DominatorTree& dominators_;
  const llvm::DenseMap<const BasicBlock*, unsigned>& numbers_;
  const llvm::SmallPtrSetImpl<PHINode*>& lazy_;
  llvm::SmallSetVector<PHINode*, 8> phis_;
  llvm::MapVector<Value*, Recipe> recipes_;
  llvm::LoadInst* initial_ = nullptr;
  llvm::DenseMap<PHINode*, PHINode*> which_;
  llvm::DenseMap<std::pair<Value*, Value*>, llvm::DenseMap<PHINode*, PHINode*>> leaves_;
  llvm::SmallVector<PHINode*> new_phis_;
  llvm::SmallPtrSet<Value*, 32> made_;
};

}  // namespace

void make_flags_at_exits(llvm::Function& function, const Value& cpu) {
  llvm::DenseMap<const BasicBlock*, unsigned> numbers;
  llvm::SmallPtrSet<PHINode*, 16> lazy;
  for (BasicBlock& block : function) {
    numbers[&block] = static_cast<unsigned>(numbers.size());
    for (PHINode& phi : block.phis()) {
      if (is_flag(phi) && !is_exit(block) && only_exits_use(phi)) lazy.insert(&phi);
    }
  }
  // A phi that something else needs after all is an ordinary value.
  for (bool changed = true; changed;) {
    changed = false;
    for (PHINode* phi : llvm::SmallVector<PHINode*>(lazy.begin(), lazy.end())) {
      const bool needed = llvm::any_of(phi->users(), [&](llvm::User* user) {
        auto* other = llvm::dyn_cast<PHINode>(user);
        return other && !lazy.contains(other);
      });
      if (needed) changed |= lazy.erase(phi);
    }
  }
  const llvm::DominatorTree dominators(function);
  llvm::SmallVector<PHINode*> order;
  for (BasicBlock& block : function) {
    for (PHINode& phi : block.phis()) {
      if (lazy.contains(&phi)) order.push_back(&phi);
    }
  }
  llvm::SmallPtrSet<PHINode*, 16> done;
  for (PHINode* phi : order) {
    if (done.contains(phi)) continue;
    Web web(function, cpu, dominators, numbers, lazy);
    const bool good = web.collect(phi);
    for (PHINode* member : web.phis()) done.insert(member);
    if (good) web.replace();
  }
}

}  // namespace kvrm::translator
