#include "accelerate/label.h"

#include <cstddef>
#include <vector>

#include "base/cpu.h"

namespace kvrm::accelerate {
namespace {

// The first affine part of the state that a node depends on; null: none.
const Carried* affine_part_of(const Iteration& iteration, const Proof& proof, u16 node) {
  std::vector<bool> reached(iteration.nodes.size());
  reached[node] = true;
  for (std::size_t i = node + std::size_t{1}; i-- > 0;) {
    const Node& one = iteration.nodes[i];
    const u16 operands[] = {one.a, one.b, one.c};
    for (u32 k = 0; reached[i] && k < operand_count(one.op); ++k) reached[operands[k]] = true;
  }
  for (const Carried& carried : proof.carried) {
    if (carried.carry == Carry::kAffine && reached[carried.input]) return &carried;
  }
  return nullptr;
}

u8 register_of(const Iteration& iteration, const Carried& part) {
  const u64 offset = iteration.nodes[part.input].value - offsetof(Cpu, x);
  return offset % 8 == 0 && offset / 8 < kNoCounter ? static_cast<u8>(offset / 8) : kNoCounter;
}

// A step that is not known before the loop runs counts as one up.
bool counts_down(const Iteration& iteration, const Carried& part) {
  const Node& step = iteration.nodes[part.term];
  const bool is_negative = step.op == Op::kConstant && sign_extended(step.value, step.width) < 0;
  return is_negative != part.subtracts;
}

}  // namespace

LoopLabel label_of(const Iteration& iteration, const Proof& proof) {
  LoopLabel label{LoopType::kCountUp, kNoCounter};
  const Carried* counter = nullptr;
  for (const Test& test : proof.tests) {
    if (!counter) counter = affine_part_of(iteration, proof, test.a);
    if (!counter) counter = affine_part_of(iteration, proof, test.b);
  }
  if (counter) label.counter = register_of(iteration, *counter);
  for (const Carried& carried : proof.carried) {
    if (!counter && carried.carry == Carry::kAffine) counter = &carried;
  }
  if (counter && counts_down(iteration, *counter)) label.type = LoopType::kCountDown;
  if (proof.kind == Kind::kFill) label.type = LoopType::kMemoryFill;
  return label;
}

const char* to_string(LoopType type) {
  switch (type) {
    case LoopType::kNone: return "none";
    case LoopType::kCountUp: return "count up";
    case LoopType::kCountDown: return "count down";
    case LoopType::kMemoryFill: return "memory fill";
  }
  return "";
}

}  // namespace kvrm::accelerate
