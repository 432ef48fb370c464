// The distance from guest to host addresses is mostly what it was the last time the same access was done:
// memory::FramePool takes care of that. So where something waits for what is loaded, the address is not made from the
// distance that the look-up finds, but from a guess, which is compared with it. The processor then need not wait for
// the look-up.
#pragma once

#include <llvm/IR/Dominators.h>
#include <llvm/IR/Function.h>

#include <unordered_set>
#include <vector>

namespace kvrm::translator {

// Loads of guest memory in loops whose values decide where a branch goes or where memory is accessed.
class CriticalLoads {
 public:
  CriticalLoads(llvm::Function& function, const llvm::DominatorTree& tree);
  bool any_in(const llvm::BasicBlock& block) const { return blocks_.contains(&block); }

 private:
  std::unordered_set<const llvm::BasicBlock*> blocks_;
};

// Takes blocks that end in a look-up.
void guess_distances(llvm::Function& function, const std::vector<llvm::BasicBlock*>& blocks);

}  // namespace kvrm::translator
