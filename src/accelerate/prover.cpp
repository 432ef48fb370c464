#include "accelerate/prover.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <span>

#include "accelerate/freestanding/step.h"

namespace kvrm::accelerate {
namespace {

constexpr std::size_t kMostLinear = 8, kMostBody = 64;

class Prover {
 public:
  explicit Prover(const Iteration& iteration) : it_(iteration) {}
  std::optional<Proof> run(std::string& refusal);

 private:
  const Node& at(u16 node) const { return it_.nodes[node]; }
  std::span<const u16> operands(const Node& node) const;
  bool is_constant(u16 node, u64 value) const { return at(node).op == Op::kConstant && at(node).value == value; }
  std::optional<u16> output_of(u16 input) const;
  std::vector<bool> reached_from(const std::vector<u16>& roots) const;

  void find_invariants();
  void carry_parts();
  std::optional<Carried> affine(u16 input, u16 output) const;
  std::optional<Carried> reduction(u16 input, u16 output) const;
  std::optional<Carried> extreme(u16 input, u16 output) const;
  std::optional<Carried> latch(u16 input, u16 output) const;
  // The expression without the extension of a 32-bit result; its width.
  std::pair<u16, u8> stripped(u16 node) const;
  bool is_part(u16 node, u16 input, u8 width) const;
  void add_linear();
  using Known = std::map<std::pair<u16, u8>, bool>;
  bool is_linear(u16 node, const std::vector<u16>& parts, u8 width, Known& known) const;
  bool find_linear(u16 node, const std::vector<u16>& parts, u8 width, Known& known) const;
  void shape_nodes();
  std::optional<u64> constant_step(u16 number) const;
  bool is_aligned_step(const Node& node) const;
  Shape shape_of(u16 number);
  bool split_conditions();
  bool order_body();
  bool visit(u16 node);
  void order_rest();
  u64 greatest(u16 number) const;
  void find_tables();
  void name_kind();
  bool fail(const char* why) {
    if (refusal_.empty()) refusal_ = why;
    return false;
  }

  const Iteration& it_;
  Proof proof_;
  std::vector<bool> invariant_;  // by node
  std::vector<u8> visited_;      // 1: being visited, 2: in the body
  std::string refusal_;
};

std::span<const u16> Prover::operands(const Node& node) const {
  static_assert(sizeof(u16) * 2 == offsetof(Node, c) - offsetof(Node, a));
  return {&node.a, operand_count(node.op)};
}

std::optional<u16> Prover::output_of(u16 input) const {
  for (u16 i = 0; i < it_.outputs.size(); ++i) {
    if (it_.outputs[i].offset == at(input).value) return i;
  }
  return std::nullopt;
}

void Prover::find_invariants() {
  invariant_.resize(it_.nodes.size());
  for (u16 i = 0; i < it_.nodes.size(); ++i) {
    const Node& node = at(i);
    invariant_[i] =
        node.op == Op::kInput
            ? !output_of(i)
            : node.op != Op::kLoad && std::ranges::all_of(operands(node), [&](u16 one) { return invariant_[one]; });
  }
}

std::pair<u16, u8> Prover::stripped(u16 node) const {
  if (at(node).op == Op::kZeroExtend && at(at(node).a).width == 32) return {at(node).a, 32};
  return {node, at(node).width};
}

// Whether the node is the input, of this many bits.
bool Prover::is_part(u16 node, u16 input, u8 width) const {
  if (node == input) return at(input).width == width;
  return at(node).op == Op::kTruncate && at(node).a == input && at(node).width == width;
}

std::optional<Carried> Prover::affine(u16 input, u16 output) const {
  const auto [result, width] = stripped(it_.outputs[output].node);
  const Node& node = at(result);
  if (width < 32 || (node.op != Op::kAdd && node.op != Op::kSub)) return std::nullopt;
  Carried carried{Carry::kAffine, width, input, output, node.b, node.op == Op::kSub};
  if (is_part(node.a, input, width) && invariant_[node.b]) return carried;
  carried.term = node.a;
  if (node.op == Op::kAdd && is_part(node.b, input, width) && invariant_[node.a]) return carried;
  return std::nullopt;
}

std::optional<Carried> Prover::reduction(u16 input, u16 output) const {
  const auto [result, width] = stripped(it_.outputs[output].node);
  const Node& node = at(result);
  constexpr std::array kFolds = {Op::kAdd, Op::kMul, Op::kAnd, Op::kOr, Op::kXor, Op::kSub};
  if (width < 32 || std::ranges::find(kFolds, node.op) == kFolds.end()) return std::nullopt;
  u16 term = node.b;
  if (!is_part(node.a, input, width)) {
    if (node.op == Op::kSub || !is_part(node.b, input, width)) return std::nullopt;
    term = node.a;
  }
  if (reached_from({term})[input]) return std::nullopt;
  return Carried{Carry::kReduction, width, input, output, term, false, node.op};
}

// A minimum or maximum: a select between the operands of its condition, a compare.
std::optional<Carried> Prover::extreme(u16 input, u16 output) const {
  const auto [result, width] = stripped(it_.outputs[output].node);
  const Node& node = at(result);
  if (node.op != Op::kSelect || width < 32) return std::nullopt;
  const Node& order = at(node.a);
  const bool is_signed = order.op == Op::kLessSigned || order.op == Op::kLessEqualSigned;
  if (!is_signed && order.op != Op::kLess && order.op != Op::kLessEqual) return std::nullopt;
  const bool is_least = order.a == node.b && order.b == node.c, is_greatest = order.a == node.c && order.b == node.b;
  const u16 term = is_part(node.b, input, width) ? node.c : node.b;
  const u16 before = term == node.b ? node.c : node.b;
  if ((!is_least && !is_greatest) || !is_part(before, input, width) || reached_from({term})[input]) return std::nullopt;
  return Carried{Carry::kReduction, width, input, output, term, is_greatest, is_signed ? Op::kLessSigned : Op::kLess};
}

// What stays where a condition does not hold.
std::optional<Carried> Prover::latch(u16 input, u16 output) const {
  const auto [result, width] = stripped(it_.outputs[output].node);
  const Node& node = at(result);
  if (node.op != Op::kSelect) return std::nullopt;
  const bool inverted = is_part(node.b, input, width);
  if (!inverted && !is_part(node.c, input, width)) return std::nullopt;
  const u16 term = inverted ? node.c : node.b;
  if (reached_from({term, node.a})[input]) return std::nullopt;
  return Carried{Carry::kLatch, width, input, output, term, inverted, Op::kAdd, node.a};
}

// What these nodes depend on, themselves included.
std::vector<bool> Prover::reached_from(const std::vector<u16>& roots) const {
  std::vector<bool> reached(it_.nodes.size());
  for (const u16 root : roots) reached[root] = true;
  for (std::size_t i = it_.nodes.size(); i-- > 0;) {
    if (!reached[i]) continue;
    for (const u16 one : operands(it_.nodes[i])) reached[one] = true;
    if (it_.nodes[i].op != Op::kLoad) continue;
    const Access& access = it_.accesses[it_.nodes[i].value];
    reached[access.address] = true;
    if (access.guard != kNoNode) reached[access.guard] = true;
  }
  return reached;
}

void Prover::carry_parts() {
  for (u16 i = 0; i < it_.nodes.size(); ++i) {
    if (at(i).op != Op::kInput) continue;
    const auto output = output_of(i);
    if (!output) continue;
    if (auto carried = affine(i, *output)) proof_.carried.push_back(*carried);
  }
  add_linear();
  for (u16 i = 0; i < it_.nodes.size(); ++i) {
    if (at(i).op != Op::kInput || std::ranges::count(proof_.carried, i, &Carried::input) != 0) continue;
    const auto output = output_of(i);
    if (!output) continue;
    auto carried = reduction(i, *output);
    if (!carried) carried = extreme(i, *output);
    if (!carried) carried = latch(i, *output);
    if (carried) {
      proof_.carried.push_back(*carried);
    } else {
      const u16 node = it_.outputs[*output].node;
      proof_.carried.push_back({Carry::kPrevious, at(node).width, i, *output, node});
    }
  }
}

// Parts that are sums of invariants times parts. Their inputs that are affine are in the system, too.
void Prover::add_linear() {
  std::vector<u16> parts;
  for (u16 i = 0; i < it_.nodes.size(); ++i) {
    if (at(i).op == Op::kInput && output_of(i) && at(i).width == 64) parts.push_back(i);
  }
  for (bool changed = true; changed;) {
    const auto before = parts.size();
    const std::vector<u16> now = parts;
    Known known;
    std::erase_if(parts, [&](u16 part) {
      const auto [result, width] = stripped(it_.outputs[*output_of(part)].node);
      return !is_linear(result, now, width, known);
    });
    changed = parts.size() != before;
  }
  // Those that are not affine, and what these depend on.
  std::vector<u16> roots;
  for (const u16 part : parts) {
    if (std::ranges::count(proof_.carried, part, &Carried::input) == 0) roots.push_back(part);
  }
  for (bool changed = !roots.empty(); changed;) {
    std::vector<u16> outputs;
    for (const u16 part : roots) outputs.push_back(it_.outputs[*output_of(part)].node);
    const std::vector<bool> reached = reached_from(outputs);
    const auto before = roots.size();
    for (const u16 part : parts) {
      if (reached[part] && std::ranges::count(roots, part) == 0) roots.push_back(part);
    }
    changed = roots.size() != before;
  }
  if (roots.size() > kMostLinear) return;
  for (const u16 part : roots) {
    const u16 output = *output_of(part);
    const u8 width = stripped(it_.outputs[output].node).second;
    proof_.carried.push_back({Carry::kLinear, width, part, output});
  }
}

// Modulo 2^width. A part of 32 bits has an upper half of zeros, which only a sum of 32 bits does without.
bool Prover::is_linear(u16 number, const std::vector<u16>& parts, u8 width, Known& known) const {
  const auto found = known.find({number, width});
  return found != known.end() ? found->second : (known[{number, width}] = find_linear(number, parts, width, known));
}

bool Prover::find_linear(u16 number, const std::vector<u16>& parts, u8 width, Known& known) const {
  const Node& node = at(number);
  if (invariant_[number]) return true;
  const auto part_width = [&](u16 part) { return stripped(it_.outputs[*output_of(part)].node).second; };
  switch (node.op) {
    case Op::kInput:
      return std::ranges::find(parts, number) != parts.end() && (width == 32 || part_width(number) == 64);
    case Op::kTruncate: return node.width == width && is_linear(node.a, parts, width, known);
    case Op::kAdd:
    case Op::kSub: return is_linear(node.a, parts, width, known) && is_linear(node.b, parts, width, known);
    case Op::kMul:
      return (invariant_[node.a] && is_linear(node.b, parts, width, known)) ||
             (invariant_[node.b] && is_linear(node.a, parts, width, known));
    case Op::kShiftLeft: return at(node.b).op == Op::kConstant && is_linear(node.a, parts, width, known);
    default: return false;
  }
}

// What an affine node changes by, if that is a constant.
std::optional<u64> Prover::constant_step(u16 number) const {
  const Node& node = at(number);
  if (invariant_[number]) return 0;
  if (node.op == Op::kInput) {
    const auto carried = std::ranges::find(proof_.carried, number, &Carried::input);
    const Node& term = at(carried->term);
    if (term.op != Op::kConstant) return std::nullopt;
    return carried->subtracts ? 0 - term.value : term.value;
  }
  if (node.op != Op::kAdd && node.op != Op::kSub) return std::nullopt;
  const std::optional<u64> a = constant_step(node.a), b = constant_step(node.b);
  if (!a || !b) return std::nullopt;
  return node.op == Op::kAdd ? *a + *b : *a - *b;
}

// Whether the node clears low bits of something affine which its steps leave alone.
bool Prover::is_aligned_step(const Node& node) const {
  const Node& mask = at(node.b);
  const u64 low = ~mask.value & mask_of(node.width);
  if (mask.op != Op::kConstant || mask.value == 0 || (low & (low + 1)) != 0) return false;
  const std::optional<u64> step = constant_step(node.a);
  return step && (*step & low) == 0;
}

Shape Prover::shape_of(u16 number) {
  const Node& node = at(number);
  if (invariant_[number]) return Shape::kInvariant;
  if (node.op == Op::kLoad) return Shape::kVarying;
  if (node.op == Op::kInput) {
    const auto carried = std::ranges::find(proof_.carried, number, &Carried::input);
    switch (carried->carry) {
      case Carry::kAffine:
        if (carried->width == 32) proof_.no_wrap.push_back(number);
        return Shape::kAffine;
      case Carry::kPrevious: return Shape::kVarying;
      default: return Shape::kLast;
    }
  }
  const auto shape = [&](u16 one) { return proof_.shapes[one]; };
  const auto is_steady = [&](u16 one) { return shape(one) <= Shape::kAffine; };
  bool steady = true;
  for (const u16 one : operands(node)) {
    if (shape(one) == Shape::kLast) return Shape::kLast;
    steady &= is_steady(one);
  }
  if (!steady) return Shape::kVarying;
  switch (node.op) {
    case Op::kAdd:
    case Op::kSub:
    case Op::kTruncate: return Shape::kAffine;
    case Op::kMul: return invariant_[node.a] || invariant_[node.b] ? Shape::kAffine : Shape::kVarying;
    case Op::kAnd:
      if (!is_aligned_step(node)) return Shape::kVarying;
      proof_.aligned.push_back(number);
      return Shape::kAffine;
    case Op::kShiftLeft: return at(node.b).op == Op::kConstant ? Shape::kAffine : Shape::kVarying;
    case Op::kZeroExtend:
    case Op::kSignExtend:
      if (at(node.a).width != 32) return Shape::kVarying;
      proof_.no_wrap.push_back(number);
      return Shape::kAffine;
    default: return Shape::kVarying;
  }
}

void Prover::shape_nodes() {
  for (u16 i = 0; i < it_.nodes.size(); ++i) proof_.shapes.push_back(shape_of(i));
}

bool Prover::split_conditions() {
  for (const u16 condition : it_.conditions) {
    const Node& node = at(condition);
    const bool is_test =
        is_compare(node.op) && proof_.shapes[node.a] <= Shape::kAffine && proof_.shapes[node.b] <= Shape::kAffine;
    if (is_test) {
      proof_.tests.push_back({node.op, node.a, node.b, false});
    } else if (proof_.shapes[condition] == Shape::kVarying) {
      proof_.data.push_back(condition);
    } else {
      return fail("a condition on a recurrence");
    }
  }
  return true;
}

// Puts a varying node into the body, after what it is computed from.
bool Prover::visit(u16 number) {
  const Shape shape = proof_.shapes[number];
  if (shape <= Shape::kAffine || visited_[number] == 2) return true;
  if (shape == Shape::kLast) return fail("a recurrence that each iteration needs");
  if (visited_[number] == 1) return fail("a recurrence of no known kind");
  visited_[number] = 1;
  const Node& node = at(number);
  if (node.op == Op::kInput) {
    const auto carried = std::ranges::find(proof_.carried, number, &Carried::input);
    if (!visit(carried->term)) return false;
  } else if (node.op == Op::kLoad) {
    const Access& access = it_.accesses[node.value];
    if (!visit(access.address) || (access.guard != kNoNode && !visit(access.guard))) return false;
  }
  for (const u16 one : operands(node)) {
    if (!visit(one)) return false;
  }
  visited_[number] = 2;
  proof_.body.push_back(number);
  return true;
}

bool Prover::order_body() {
  visited_.resize(it_.nodes.size());
  for (const Access& access : it_.accesses) {
    if (access.is_store && proof_.shapes[access.address] > Shape::kAffine) return fail("stores at computed addresses");
    if (!visit(access.value) || (access.guard != kNoNode && !visit(access.guard))) return false;
  }
  if (it_.length != kNoNode && !visit(it_.length)) return false;
  for (const u16 condition : proof_.data) {
    if (!visit(condition)) return false;
  }
  for (const Carried& carried : proof_.carried) {
    if (carried.carry == Carry::kLatch) {
      if (!visit(carried.condition)) return false;
      if (proof_.shapes[carried.term] == Shape::kLast) return fail("a recurrence that each iteration needs");
    }
    if (carried.carry != Carry::kReduction && carried.carry != Carry::kPrevious) continue;
    if (!visit(carried.term)) return false;
    if (carried.carry == Carry::kPrevious && !visit(carried.input)) return false;
  }
  return proof_.body.size() <= kMostBody || fail("too much work an iteration");
}

void Prover::order_rest() {
  std::vector<u16> roots;
  for (const Output& output : it_.outputs) roots.push_back(output.node);
  const std::vector<bool> final = reached_from(roots);
  for (const Access& access : it_.accesses) {
    roots.push_back(access.address);
    roots.push_back(access.value);
    if (access.guard != kNoNode) roots.push_back(access.guard);
  }
  if (it_.length != kNoNode) roots.push_back(it_.length);
  for (const Test& test : proof_.tests) {
    roots.push_back(test.a);
    roots.push_back(test.b);
  }
  for (const Carried& carried : proof_.carried) {
    roots.push_back(carried.input);
    if (carried.term != kNoNode) roots.push_back(carried.term);
    if (carried.condition != kNoNode) roots.push_back(carried.condition);
  }
  for (const u16 number : proof_.data) roots.push_back(number);
  const std::vector<bool> used = reached_from(roots);
  for (std::vector<u16>* list : {&proof_.no_wrap, &proof_.aligned})
    std::erase_if(*list, [&](u16 number) { return !used[number]; });
  for (u16 i = 0; i < it_.nodes.size(); ++i) {
    if (used[i] && proof_.shapes[i] <= Shape::kAffine) proof_.setup.push_back(i);
    if (final[i]) proof_.finals.push_back(i);
  }
}

// What a node is at most.
u64 Prover::greatest(u16 number) const {
  const Node& node = at(number);
  const u64 all = mask_of(node.width);
  switch (node.op) {
    case Op::kConstant: return node.value;
    case Op::kZeroExtend: return greatest(node.a);
    case Op::kTruncate: return std::min(all, greatest(node.a));
    case Op::kAnd: return std::min(greatest(node.a), greatest(node.b));
    case Op::kShiftRight:
      return at(node.b).op == Op::kConstant && at(node.b).value < node.width ? greatest(node.a) >> at(node.b).value
                                                                             : all;
    case Op::kShiftLeft: {
      const u64 by = at(node.b).op == Op::kConstant ? at(node.b).value : 64, most = greatest(node.a);
      return by < node.width && most <= all >> by ? most << by : all;
    }
    case Op::kAdd: {
      const u64 a = greatest(node.a), b = greatest(node.b);
      return b <= all - std::min(a, all) ? a + b : all;
    }
    case Op::kOr:
    case Op::kXor: {
      u64 most = greatest(node.a) | greatest(node.b);
      for (u32 by = 1; by < 64; by *= 2) most |= most >> by;
      return most;
    }
    case Op::kSelect: return std::max(greatest(node.b), greatest(node.c));
    default: return all;
  }
}

void Prover::find_tables() {
  constexpr u64 kMostSpan = u64{1} << 20;
  for (u16 i = 0; i < it_.accesses.size(); ++i) {
    const Access& access = it_.accesses[i];
    const Node& address = at(access.address);
    if (access.is_store || proof_.shapes[access.address] != Shape::kVarying || address.op != Op::kAdd) continue;
    for (const auto& [base, index] : {std::pair(address.a, address.b), std::pair(address.b, address.a)}) {
      if (!invariant_[base] || greatest(index) > kMostSpan) continue;
      proof_.tables.push_back({i, base, index, static_cast<u32>(greatest(index))});
      break;
    }
  }
}

void Prover::name_kind() {
  bool loads = false, stores = false, fills = true, copies = true;
  for (const Access& access : it_.accesses) {
    (access.is_store ? stores : loads) = true;
    if (!access.is_store) continue;
    const Node& value = at(access.value);
    fills &= invariant_[access.value];
    copies &= value.op == Op::kLoad && it_.accesses[value.value].size == access.size &&
              proof_.shapes[it_.accesses[value.value].address] <= Shape::kAffine;
  }
  const bool folds =
      std::ranges::any_of(proof_.carried, [](const Carried& carried) { return carried.carry >= Carry::kReduction; });
  const bool same_each_time = it_.length == kNoNode &&
                              std::ranges::all_of(it_.accesses, [](const Access& one) { return one.guard == kNoNode; });
  const bool is_plain = proof_.data.empty() && !folds && same_each_time;
  if (!stores) {
    if (!proof_.data.empty() && !folds && same_each_time) proof_.bulk = Bulk::kScan;
    proof_.kind = !proof_.data.empty() ? Kind::kScan : loads || folds ? Kind::kReduction : Kind::kCounted;
    return;
  }
  proof_.kind = fills && !loads ? Kind::kFill : copies ? Kind::kCopy : Kind::kMap;
  if (is_plain && proof_.kind == Kind::kFill) proof_.bulk = Bulk::kFill;
  const bool loads_are_affine = std::ranges::all_of(
      it_.accesses, [&](const Access& access) { return proof_.shapes[access.address] <= Shape::kAffine; });
  if (is_plain && proof_.kind == Kind::kCopy && loads_are_affine) proof_.bulk = Bulk::kCopy;
}

std::optional<Proof> Prover::run(std::string& refusal) {
  find_invariants();
  carry_parts();
  shape_nodes();
  if (split_conditions() && order_body()) {
    order_rest();
    find_tables();
    name_kind();
    return std::move(proof_);
  }
  refusal = refusal_;
  return std::nullopt;
}

}  // namespace

const char* to_string(Kind kind) {
  switch (kind) {
    case Kind::kCounted: return "counted";
    case Kind::kFill: return "fill";
    case Kind::kCopy: return "copy";
    case Kind::kScan: return "scan";
    case Kind::kReduction: return "reduction";
    case Kind::kMap: return "map";
  }
  return "";
}

std::optional<Proof> prove(const Iteration& iteration, std::string& refusal) { return Prover(iteration).run(refusal); }

}  // namespace kvrm::accelerate
