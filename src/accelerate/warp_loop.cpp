#include "accelerate/warp_loop.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace kvrm::accelerate {
namespace {

// What this file and warp_step.h know of a program. What is added to these needs an answer here.
static_assert(sizeof(Node) == 16 && sizeof(Access) == 10 && sizeof(Carried) == 12 && sizeof(Output) == 6 &&
              sizeof(Test) == 8);
static_assert(sizeof(LoopProgram) == 13 * sizeof(List<Node>) + 7 * sizeof(void*));

class WarpLoopMaker {
 public:
  WarpLoopMaker(const LoopProgram& program, u64 address) : program_(program), address_(address) {}
  std::vector<u8> run(std::string& refusal);

 private:
  const char* refuse() const;
  bool is_known() const;
  void give_columns();
  void count();
  // The nodes of the list so that each comes after those of lower levels; where the levels end.
  std::vector<u16> sort_by_level(List<u16> list, std::vector<u16>& ends) const;
  template <class T>
  const T* put(std::span<const T> items);
  template <class T>
  List<T> put(List<T> list) {
    return {put(std::span(list.begin(), list.end())), list.count};
  }
  List<u16> put(const std::vector<u16>& list) {
    return {put(std::span<const u16>(list)), static_cast<u16>(list.size())};
  }

  const LoopProgram& program_;
  const u64 address_;
  WarpLoop loop_;
  std::vector<u16> columns_, reductions_;
  std::vector<u8> bytes_;
};

// Bytes that follow what is there, and where they will lie.
template <class T>
const T* WarpLoopMaker::put(std::span<const T> items) {
  bytes_.resize((bytes_.size() + 15) / 16 * 16);
  const u64 at = address_ + bytes_.size();
  const auto* const first = reinterpret_cast<const u8*>(items.data());
  bytes_.insert(bytes_.end(), first, first + items.size_bytes());
  return reinterpret_cast<const T*>(at);
}

std::vector<u16> WarpLoopMaker::sort_by_level(List<u16> list, std::vector<u16>& ends) const {
  std::vector<u32> levels(program_.nodes.count);
  u32 most = 0;
  for (const u16 number : list) {
    const Node& node = program_.nodes[number];
    const u16 operands[] = {node.a, node.b, node.c};
    for (u32 i = 0; i < operand_count(node.op); ++i) levels[number] = std::max(levels[number], levels[operands[i]] + 1);
    most = std::max(most, levels[number]);
  }
  std::vector<u16> sorted;
  for (u32 level = 0; level <= most && list.count != 0; ++level) {
    for (const u16 number : list) {
      if (levels[number] == level) sorted.push_back(number);
    }
    ends.push_back(static_cast<u16>(sorted.size()));
  }
  return sorted;
}

// Only what the body computes has a column; what is known of other nodes says what they are in an iteration.
void WarpLoopMaker::give_columns() {
  columns_.assign(program_.nodes.count, kNoNode);
  for (const u16 number : program_.body) {
    const Node& node = program_.nodes[number];
    const bool is_same = node.op == Op::kZeroExtend && columns_[node.a] != kNoNode;
    columns_[number] = is_same ? columns_[node.a] : loop_.column_count++;
  }
}

void WarpLoopMaker::count() {
  reductions_.assign(program_.carried.count, 0);
  for (u32 i = 0; i < program_.carried.count; ++i) {
    const Carried& carried = program_.carried[i];
    loop_.has_linear |= carried.carry == Carry::kLinear;
    loop_.has_vectors |= is_vector_part(program_.nodes[carried.input].value);
    if (carried.carry == Carry::kReduction) reductions_[i] = loop_.reduction_count++;
  }
  for (const u16 number : program_.setup) {
    const Node& node = program_.nodes[number];
    loop_.has_vectors |= node.op == Op::kInput && is_vector_part(node.value);
  }
  loop_.has_early_steps = program_.setup.count != 0;
  for (const Carried& carried : program_.carried)
    loop_.has_early_steps &= carried.carry != Carry::kAffine || operand_count(program_.nodes[carried.term].op) == 0;
  loop_.has_rounds = program_.accesses.count != 0 || program_.body.count != 0 || loop_.reduction_count != 0;
  loop_.votes = program_.data.count != 0;
  for (const Access& access : program_.accesses) loop_.votes |= program_.shapes[access.address] > Shape::kAffine;
  loop_.state_words = static_cast<u32>(
      warp_state_words(program_.nodes.count, program_.carried.count, loop_.reduction_count, loop_.has_linear));
}

// Whether nothing of it is new since warp_step.h was written.
bool WarpLoopMaker::is_known() const {
  const auto is_known_node = [](const Node& node) { return node.op <= Op::kLessEqualSigned; };
  const auto is_known_carry = [](const Carried& one) { return one.carry != Carry::kLatch; };
  const auto is_known_access = [&](const Access& access) {
    if (access.size != 1 && access.size != 2 && access.size != 4 && access.size != 8) return false;
    const Shape shape = program_.shapes[access.address];
    return shape <= Shape::kAffine || (!access.is_store && shape == Shape::kVarying);
  };
  return std::ranges::all_of(program_.nodes, is_known_node) && std::ranges::all_of(program_.carried, is_known_carry) &&
         std::ranges::all_of(program_.accesses, is_known_access);
}

const char* WarpLoopMaker::refuse() const {
  if (program_.features != 0 || !is_known()) return "the threads of a warp do not do this yet";
  if (program_.accesses.count > kWarpAccesses) return "too many accesses for a warp";
  if (loop_.column_count > kWarpColumns) return "too many values in an iteration for a warp";
  if (loop_.reduction_count > kWarpReductions) return "too many reductions for a warp";
  if (loop_.state_words > kWarpStateWords) return "too many expressions for a warp";
  const auto is_after = [](u64 offset) { return is_after_vectors(offset); };
  for (const Output& output : program_.outputs)
    if (is_after(output.offset)) return "a part of the state that a warp does not know";
  for (const Node& node : program_.nodes)
    if (node.op == Op::kInput && is_after(node.value)) return "a part of the state that a warp does not know";
  return nullptr;
}

std::vector<u8> WarpLoopMaker::run(std::string& refusal) {
  give_columns();
  count();
  if (const char* why = refuse()) {
    refusal = why;
    return {};
  }
  std::vector<u16> setup_ends, final_ends;
  const std::vector<u16> setup = sort_by_level(program_.setup, setup_ends);
  const std::vector<u16> finals = sort_by_level(program_.finals, final_ends);
  bytes_.resize(sizeof(WarpLoop));
  LoopProgram& program = loop_.program = program_;
  program.native = nullptr;  // the host's
  program.tables = {};
  program.nodes = put(program_.nodes);
  program.shapes = put(std::span(program_.shapes, program_.nodes.count));
  program.column_of = put(std::span(program_.column_of, program_.nodes.count));
  program.setup = put(setup);
  program.body = put(program_.body);
  program.finals = put(finals);
  program.data = put(program_.data);
  program.no_wrap = put(program_.no_wrap);
  program.tests = put(program_.tests);
  program.accesses = put(program_.accesses);
  program.outputs = put(program_.outputs);
  program.carried = put(program_.carried);
  loop_.setup_levels = put(setup_ends);
  loop_.final_levels = put(final_ends);
  loop_.columns = put(std::span<const u16>(columns_));
  loop_.reductions = put(std::span<const u16>(reductions_));
  bytes_.resize((bytes_.size() + 15) / 16 * 16);
  std::memcpy(bytes_.data(), &loop_, sizeof(loop_));
  return std::move(bytes_);
}

}  // namespace

std::vector<u8> make_warp_loop(const LoopProgram& program, u64 address, std::string& refusal) {
  return WarpLoopMaker(program, address).run(refusal);
}

}  // namespace kvrm::accelerate
