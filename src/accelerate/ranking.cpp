#include "accelerate/ranking.h"

#include "neural/loop_network.h"

namespace kvrm::accelerate {

neural::LoopGuess Ranking::guess(const LoopCode& code, const LoopRegisters* first, const LoopRegisters* second) const {
  const neural::LoopInput input = neural::loop_input(code.words, first, second);
  return network_ ? neural::guess_loop(*network_, input) : tree_->guess(input);
}

}  // namespace kvrm::accelerate
