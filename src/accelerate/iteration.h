// One iteration of a loop: what it loads and stores, when it goes on, and the state after it.
#pragma once

#include <string>
#include <vector>

#include "accelerate/freestanding/expression.h"
#include "accelerate/freestanding/program.h"
#include "isa/decode.h"

namespace kvrm::accelerate {

struct Iteration {
  std::vector<Node> nodes;
  std::vector<Access> accesses;   // in program order
  std::vector<u16> conditions;    // nodes of one bit: the iteration ends at the loop's head if all are 1
  std::vector<Output> outputs;    // parts of the state that it writes, sorted by offset
  u32 words = 0;        // instructions of an iteration, at most
  u16 length = kNoNode;  // the node of their number, if iterations differ
  std::vector<u16> narrow;  // inputs that are taken to have zeros in their upper halves
};

// The words of a loop, from its head to the branch back to it.
struct LoopCode {
  u64 head = 0;
  std::vector<u32> words;
  friend bool operator==(const LoopCode&, const LoopCode&) = default;
};

}  // namespace kvrm::accelerate
