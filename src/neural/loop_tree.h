// Decision trees over the loop detector's inputs: what the network has to beat (training/train_loop_tree.py).
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "kvrm/result.h"
#include "neural/freestanding/loop_network.h"

namespace kvrm::neural {

class LoopTree {
 public:
  // The text of a tree file. An error says what is wrong with it.
  static Result<std::shared_ptr<const LoopTree>> parse(std::string_view json);

  LoopGuess guess(const LoopInput& input) const;

 private:
  struct Node {
    u32 feature = 0;
    float threshold = 0;
    u32 low = 0, high = 0;  // where to go on if the feature is at most the threshold, and otherwise; 0: a leaf
    std::vector<float> value;
  };
  using Tree = std::vector<Node>;
  friend struct TreeReader;

  static const Node& leaf_of(const Tree& tree, const LoopInput& input);

  Tree types_, counter_, trips_;
};

}  // namespace kvrm::neural
