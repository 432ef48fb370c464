// The blocks of an iteration's IR from which control comes back to the loop's head.
#pragma once

#include <llvm/IR/Function.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/types.h"

namespace kvrm::accelerate {

class LoopGraph {
 public:
  // The function returns where control goes. None, and why, if no path leads to `head`, or too many do.
  static std::optional<LoopGraph> of(llvm::Function& function, u64 head, std::string& refusal);

  // Each block before those it leads to.
  const std::vector<llvm::BasicBlock*>& blocks() const { return blocks_; }
  bool leads(llvm::BasicBlock* from, llvm::BasicBlock* to) const { return edges_.contains({from, to}); }
  // Those that lead to the block; of null, those that return.
  const std::vector<llvm::BasicBlock*>& before(llvm::BasicBlock* block) const { return before_.at(block); }
  // A block without which control does not reach this one, and from which it always does; null: none but itself.
  llvm::BasicBlock* as_often_as(llvm::BasicBlock* block) const;

 private:
  void order(llvm::BasicBlock* block, std::set<llvm::BasicBlock*>& seen);
  void find_dominators();

  std::vector<llvm::BasicBlock*> blocks_;
  std::set<std::pair<llvm::BasicBlock*, llvm::BasicBlock*>> edges_;
  std::map<llvm::BasicBlock*, std::vector<llvm::BasicBlock*>> before_;
  std::map<llvm::BasicBlock*, std::set<llvm::BasicBlock*>> dominators_, post_dominators_;
};

}  // namespace kvrm::accelerate
