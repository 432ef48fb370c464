// A proven loop's program: its lists, its columns, and what it asks of an executor.
#include <algorithm>
#include <functional>

#include "accelerate/freestanding/step.h"
#include "accelerate/prover.h"

namespace kvrm::accelerate {

ProvenLoop::ProvenLoop(Iteration iteration, Proof proof)
    : iteration_(std::move(iteration)),
      proof_(std::move(proof)),
      accesses_(iteration_.accesses),
      column_of_(iteration_.nodes.size(), kNoNode) {
  for (Access& access : accesses_) {
    const auto first = iteration_.conditions.begin();
    access.conditions_before = static_cast<u16>(std::count_if(
        first, first + access.conditions_before, [&](u16 one) { return std::ranges::count(proof_.data, one) != 0; }));
  }
  give_columns();
  const auto list = []<class T>(const std::vector<T>& all) {
    return List<T>{all.data(), static_cast<u16>(all.size())};
  };
  program_.nodes = list(iteration_.nodes);
  program_.shapes = proof_.shapes.data();
  program_.column_of = column_of_.data();
  program_.setup = list(proof_.setup);
  program_.body = list(proof_.body);
  program_.finals = list(proof_.finals);
  program_.data = list(proof_.data);
  program_.no_wrap = list(proof_.no_wrap);
  program_.tests = list(proof_.tests);
  program_.accesses = list(accesses_);
  program_.outputs = list(iteration_.outputs);
  program_.carried = list(proof_.carried);
  program_.bulk = proof_.bulk;
  program_.words = iteration_.words;
  program_.length = iteration_.length;
  program_.narrow = list(iteration_.narrow);
  program_.aligned = list(proof_.aligned);
  program_.tables = list(proof_.tables);
  program_.features = features();
}

void ProvenLoop::give_columns() {
  u16 columns = 0;
  const std::function<void(u16)> give = [&](u16 number) {
    if (number == kNoNode || column_of_[number] != kNoNode) return;
    const Node& node = iteration_.nodes[number];
    if (node.op == Op::kZeroExtend && proof_.shapes[number] == Shape::kVarying) {
      give(node.a);
      column_of_[number] = column_of_[node.a];
    } else {
      column_of_[number] = columns++;
    }
  };
  for (const u16 number : proof_.body) {
    give(number);
    const Node& node = iteration_.nodes[number];
    const u16 operands[] = {node.a, node.b, node.c};
    for (u32 i = 0; i < operand_count(node.op); ++i) give(operands[i]);
  }
  for (const Access& access : iteration_.accesses) {
    give(access.value);
    if (proof_.shapes[access.address] == Shape::kVarying) give(access.address);
    give(access.guard);
  }
  give(iteration_.length);
  for (const Carried& carried : proof_.carried) {
    if (carried.carry == Carry::kReduction || carried.carry == Carry::kPrevious) give(carried.term);
    if (carried.carry == Carry::kLatch) give(carried.condition);
  }
  for (const u16 condition : proof_.data) give(condition);
  program_.columns = columns;
}

u32 ProvenLoop::features() const {
  u32 all = 0;
  for (const Access& access : accesses_)
    if (access.guard != kNoNode) all |= kGuards;
  for (const Carried& carried : proof_.carried)
    if (carried.carry == Carry::kLatch) all |= kLatches;
  if (iteration_.length != kNoNode) all |= kVaryingLength;
  if (!iteration_.narrow.empty()) all |= kNarrowInputs;
  if (!proof_.aligned.empty()) all |= kAlignedSteps;
  return all;
}

u64 ProvenLoop::scratch() const {
  return scratch_size(iteration_.nodes.size(), program_.columns, proof_.carried.size());
}

double ProvenLoop::work() const {
  if (program_.bulk != Bulk::kNone || program_.native) return 0;
  double all = 0;
  for (const u16 number : proof_.body)
    all += iteration_.nodes[number].op != Op::kZeroExtend || proof_.shapes[number] != Shape::kVarying;
  for (const Access& access : accesses_) all += access.is_store;
  for (const Carried& carried : proof_.carried) all += carried.carry == Carry::kReduction;
  return all;
}

}  // namespace kvrm::accelerate
