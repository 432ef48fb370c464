// Which loops are proposed first. Only the order of proofs depends on it, never a result.
#pragma once

#include <memory>

#include "accelerate/loops.h"
#include "neural/freestanding/loop_network.h"
#include "neural/loop_tree.h"

namespace kvrm::accelerate {

// What a network or a tree takes loops for. Plain data behind it: any number of threads.
class Ranking {
 public:
  explicit Ranking(std::shared_ptr<const neural::LoopNetwork> network) : network_(std::move(network)) {}
  explicit Ranking(std::shared_ptr<const neural::LoopTree> tree) : tree_(std::move(tree)) {}

  // The registers at the loop's head when its branch back was taken, and an iteration later; null: unknown.
  neural::LoopGuess guess(const LoopCode& code, const LoopRegisters* first, const LoopRegisters* second) const;

 private:
  std::shared_ptr<const neural::LoopNetwork> network_;
  std::shared_ptr<const neural::LoopTree> tree_;
};

// How likely the prover is to prove it.
inline double chance_of(const neural::LoopGuess& guess) { return 1.0 - static_cast<double>(guess.types[0]); }

}  // namespace kvrm::accelerate
