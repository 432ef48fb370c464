// The host addend is mostly the one that the same access found last: memory::FramePool arranges for that. Where a
// branch or an address depends on a loaded value, the address is computed from a guess of the addend, which is compared
// with the lookup's result. So the processor does not wait for the lookup.
#pragma once

#include <llvm/IR/Dominators.h>
#include <llvm/IR/Function.h>

#include <unordered_set>
#include <vector>

namespace kvrm::translator {

// Loads of guest memory in loops whose values decide a branch or an address.
class CriticalLoads {
 public:
  CriticalLoads(llvm::Function& function, const llvm::DominatorTree& tree);
  bool any_in(const llvm::BasicBlock& block) const { return blocks_.contains(&block); }

 private:
  std::unordered_set<const llvm::BasicBlock*> blocks_;
};

// `blocks` end in a TLB lookup.
void guess_host_addends(llvm::Function& function, const std::vector<llvm::BasicBlock*>& blocks);

}  // namespace kvrm::translator
