// Small on purpose, and independent of the prover: it derives each node's shape again from the carried parts and
// accepts a proof only if everything that a bulk step relies on is there.
#include <algorithm>
#include <bit>
#include <map>
#include <vector>

#include "accelerate/prover.h"

namespace kvrm::accelerate {
namespace {

class Checker {
 public:
  Checker(const Iteration& iteration, const Proof& proof) : it_(iteration), proof_(proof) {}
  bool run(std::string& error);

 private:
  bool fail(const char* why) {
    error_ = why;
    return false;
  }
  bool is_node(u16 number) const { return number < it_.nodes.size(); }
  const Node& at(u16 number) const { return it_.nodes[number]; }
  u16 operand(const Node& node, u32 i) const { return i == 0 ? node.a : i == 1 ? node.b : node.c; }
  const Output* output_at(u64 offset) const {
    for (const Output& output : it_.outputs)
      if (output.offset == offset) return &output;
    return nullptr;
  }
  bool names_nodes();
  bool carries_hold();
  bool carry_holds(const Carried& carried);
  bool is_sum(const Carried& carried, const Node& node) const;
  bool is_extreme(const Carried& carried, const Node& node) const;
  bool is_before(u16 number, const Carried& carried) const;
  bool is_latch(const Carried& carried, const Node& node) const;
  int degree(u16 number, u32 width);
  int find_degree(u16 number, u32 width);
  const Carried* part(u16 input, Carry carry) const;
  Shape shape(u16 number) const;
  bool shapes_hold();
  bool wraps_are_named();
  bool aligned_are_masks();
  bool narrow_stay_so();
  bool tables_hold();
  u32 bits_of(u16 number) const;
  bool stays_below(u16 number, u64 most) const;
  bool conditions_hold();
  bool orders_hold();
  bool kind_holds();
  bool depends_on(u16 number, u16 input) const;

  const Iteration& it_;
  const Proof& proof_;
  std::map<std::pair<u16, u32>, int> degrees_;
  std::string error_;
};

bool Checker::names_nodes() {
  const auto all = [&](const std::vector<u16>& numbers) {
    return std::ranges::all_of(numbers, [&](u16 one) { return is_node(one); });
  };
  bool good = proof_.shapes.size() == it_.nodes.size() && all(proof_.no_wrap) && all(proof_.data) &&
              all(proof_.setup) && all(proof_.body) && all(proof_.finals) && all(proof_.aligned);
  for (const Test& test : proof_.tests) good &= is_node(test.a) && is_node(test.b);
  for (const Carried& carried : proof_.carried) {
    good &= is_node(carried.input) && carried.output < it_.outputs.size();
    good &= carried.carry == Carry::kLinear || is_node(carried.term);
    good &= carried.carry == Carry::kLatch ? is_node(carried.condition) : carried.condition == kNoNode;
  }
  return good || fail("a number that names no node");
}

// Whether the node is the part before the iteration, in the width of its recurrence.
bool Checker::is_before(u16 number, const Carried& carried) const {
  const Node& node = at(number);
  if (node.op == Op::kTruncate && node.width == carried.width) return node.a == carried.input;
  return number == carried.input && node.width == carried.width;
}

// Whether the node is op(before, term).
bool Checker::is_sum(const Carried& carried, const Node& node) const {
  const bool either_order = node.op != Op::kSub;
  if (at(carried.term).width != carried.width || node.width != carried.width) return false;
  return (is_before(node.a, carried) && node.b == carried.term) ||
         (either_order && is_before(node.b, carried) && node.a == carried.term);
}

// Whether the node is the lesser, or the greater, of what was before and the term.
bool Checker::is_extreme(const Carried& carried, const Node& node) const {
  if (node.op != Op::kSelect || node.width != carried.width || depends_on(carried.term, carried.input)) return false;
  const Node& order = at(node.a);
  const bool without_sign = order.op == Op::kLess || order.op == Op::kLessEqual;
  const bool with_sign = order.op == Op::kLessSigned || order.op == Op::kLessEqualSigned;
  if (!(carried.op == Op::kLess && without_sign) && !(carried.op == Op::kLessSigned && with_sign)) return false;
  // The select takes the compare's first operand if that is less.
  const u16 lesser = carried.subtracts ? node.c : node.b, greater = carried.subtracts ? node.b : node.c;
  if (order.a != lesser || order.b != greater) return false;
  return (is_before(node.b, carried) && node.c == carried.term) ||
         (is_before(node.c, carried) && node.b == carried.term);
}

// Whether the node is the term where the condition holds, and elsewhere what was before.
bool Checker::is_latch(const Carried& carried, const Node& node) const {
  if (node.op != Op::kSelect || node.a != carried.condition || node.width != carried.width) return false;
  const u16 taken = carried.subtracts ? node.c : node.b, left = carried.subtracts ? node.b : node.c;
  // Of a shape that is known in each iteration, so neither depends on what is latched.
  return taken == carried.term && is_before(left, carried) && shape(carried.term) != Shape::kLast;
}

bool Checker::depends_on(u16 number, u16 input) const {
  std::vector<bool> seen(it_.nodes.size());
  std::vector<u16> left{number};
  while (!left.empty()) {
    const u16 one = left.back();
    left.pop_back();
    if (one == input) return true;
    if (seen[one]) continue;
    seen[one] = true;
    const Node& node = at(one);
    for (u32 i = 0; i < operand_count(node.op); ++i) left.push_back(operand(node, i));
    if (node.op != Op::kLoad) continue;
    const Access& access = it_.accesses[node.value];
    left.push_back(access.address);
    if (access.guard != kNoNode) left.push_back(access.guard);
  }
  return false;
}

// 0: an invariant; 1: a sum of invariants times linear parts, mod 2^width; 2: anything else.
int Checker::degree(u16 number, u32 width) {
  const auto known = degrees_.find({number, width});
  return known != degrees_.end() ? known->second : degrees_[{number, width}] = find_degree(number, width);
}

int Checker::find_degree(u16 number, u32 width) {
  const Node& node = at(number);
  if (shape(number) == Shape::kInvariant) return 0;
  const auto of = [&](u16 one) { return degree(one, width); };
  switch (node.op) {
    case Op::kInput: {
      const Carried* linear = part(number, Carry::kLinear);
      return linear && (width == 32 || linear->width == 64) ? 1 : 2;
    }
    case Op::kTruncate: return node.width == width ? of(node.a) : 2;
    case Op::kAdd:
    case Op::kSub: return std::max(of(node.a), of(node.b));
    case Op::kMul: return std::min(2, of(node.a) + of(node.b));
    case Op::kShiftLeft: return at(node.b).op == Op::kConstant ? of(node.a) : 2;
    default: return 2;
  }
}

bool Checker::carry_holds(const Carried& carried) {
  const Output& output = it_.outputs[carried.output];
  const Node& input = at(carried.input);
  if (input.op != Op::kInput || output.offset != input.value) return fail("a part that is not what it names");
  if (carried.carry == Carry::kPrevious) {
    const bool same = carried.term == output.node && !carried.subtracts && carried.width == at(output.node).width;
    return same || fail("another value than the previous one");
  }
  const bool is_byte = carried.carry == Carry::kLatch && carried.width == 8 && input.width == 8;
  if (carried.width != 32 && carried.width != 64 && !is_byte) return fail("a recurrence of no width");
  u16 result = output.node;
  if (carried.width == 32) {
    if (at(result).op != Op::kZeroExtend || at(at(result).a).width != 32) return fail("an upper half that is not zero");
    result = at(result).a;
  }
  const Node& node = at(result);
  switch (carried.carry) {
    case Carry::kAffine:
      if (node.op != (carried.subtracts ? Op::kSub : Op::kAdd) || !is_sum(carried, node)) return fail("not its step");
      return shape(carried.term) == Shape::kInvariant || fail("a step that changes");
    case Carry::kReduction: {
      if (is_compare(carried.op)) return is_extreme(carried, node) || fail("not the extreme it names");
      constexpr Op kFolds[] = {Op::kAdd, Op::kMul, Op::kAnd, Op::kOr, Op::kXor, Op::kSub};
      if (std::ranges::find(kFolds, carried.op) == std::end(kFolds) || node.op != carried.op || carried.subtracts)
        return fail("not its operation");
      return (is_sum(carried, node) && !depends_on(carried.term, carried.input)) || fail("not what is folded in");
    }
    case Carry::kLatch: return is_latch(carried, node) || fail("not what stays and what it becomes");
    default:
      return (carried.term == kNoNode && !carried.subtracts && degree(result, carried.width) < 2) || fail("not linear");
  }
}

const Carried* Checker::part(u16 input, Carry carry) const {
  for (const Carried& carried : proof_.carried)
    if (carried.input == input && carried.carry == carry) return &carried;
  return nullptr;
}

// A part has one recurrence; an affine one may be in the linear system, too.
bool Checker::carries_hold() {
  u32 linear = 0;
  for (const Carried& carried : proof_.carried) {
    if (!carry_holds(carried)) return false;
    linear += carried.carry == Carry::kLinear;
    for (const Carried& other : proof_.carried) {
      if (&other == &carried || other.input != carried.input) continue;
      const bool affine_and_linear = (carried.carry == Carry::kAffine && other.carry == Carry::kLinear) ||
                                     (carried.carry == Carry::kLinear && other.carry == Carry::kAffine);
      if (!affine_and_linear) return fail("a part with two recurrences");
    }
  }
  for (u16 i = 0; i < it_.nodes.size(); ++i) {
    if (at(i).op != Op::kInput || !output_at(at(i).value)) continue;
    if (std::ranges::none_of(proof_.carried, [&](const Carried& carried) { return carried.input == i; }))
      return fail("a part without a recurrence");
  }
  return linear <= 8 || fail("too many linear parts");
}

Shape Checker::shape(u16 number) const {
  const Node& node = at(number);
  if (node.op == Op::kConstant) return Shape::kInvariant;
  if (node.op == Op::kLoad) return Shape::kVarying;
  if (node.op == Op::kInput) {
    if (!output_at(node.value)) return Shape::kInvariant;
    if (part(number, Carry::kAffine)) return Shape::kAffine;
    return part(number, Carry::kPrevious) ? Shape::kVarying : Shape::kLast;
  }
  Shape most = Shape::kInvariant;
  u32 moving = 0;
  for (u32 i = 0; i < operand_count(node.op); ++i) {
    const Shape one = proof_.shapes[operand(node, i)];
    most = std::max(most, one);
    moving += one != Shape::kInvariant;
  }
  if (most != Shape::kAffine) return most;
  switch (node.op) {
    case Op::kAdd:
    case Op::kSub:
    case Op::kTruncate: return Shape::kAffine;
    case Op::kMul: return moving == 1 ? Shape::kAffine : Shape::kVarying;
    case Op::kAnd:  // a step finds out whether it is
      return std::ranges::count(proof_.aligned, number) != 0 ? Shape::kAffine : Shape::kVarying;
    case Op::kShiftLeft: return at(node.b).op == Op::kConstant ? Shape::kAffine : Shape::kVarying;
    case Op::kZeroExtend:
    case Op::kSignExtend: return at(node.a).width == 32 ? Shape::kAffine : Shape::kVarying;
    default: return Shape::kVarying;
  }
}

bool Checker::shapes_hold() {
  for (u16 i = 0; i < it_.nodes.size(); ++i)
    if (shape(i) != proof_.shapes[i]) return fail("a node of another shape");
  return true;
}

bool Checker::wraps_are_named() {
  for (const u16 number : proof_.setup) {
    const Node& node = at(number);
    if (proof_.shapes[number] != Shape::kAffine) continue;
    const bool narrow = node.op == Op::kInput ? part(number, Carry::kAffine)->width == 32
                                              : node.op == Op::kZeroExtend || node.op == Op::kSignExtend;
    if (narrow && std::ranges::find(proof_.no_wrap, number) == proof_.no_wrap.end())
      return fail("an extension that may wrap");
  }
  for (const u16 number : proof_.no_wrap)
    if (std::ranges::find(proof_.setup, number) == proof_.setup.end()) return fail("a wrap of an unknown node");
  return true;
}

// A step compares what these change by with the bits that they clear.
bool Checker::aligned_are_masks() {
  for (const u16 number : proof_.aligned) {
    const Node& node = at(number);
    const u64 low = ~at(node.b).value & mask_of(node.width);
    const bool is_mask = node.op == Op::kAnd && at(node.b).op == Op::kConstant && (low & (low + 1)) == 0;
    if (!is_mask || proof_.shapes[number] != Shape::kAffine) return fail("no mask of low bits");
    if (std::ranges::find(proof_.setup, number) == proof_.setup.end()) return fail("a mask that is not set up");
  }
  return true;
}

// What is taken for a number of 32 bits before an iteration is one after it.
bool Checker::narrow_stay_so() {
  for (const u16 number : it_.narrow) {
    if (!is_node(number) || at(number).op != Op::kInput || at(number).width != 64) return fail("no input of 64 bits");
    const Output* output = output_at(at(number).value);
    if (!output) continue;
    const Node& after = at(output->node);
    if (after.op != Op::kZeroExtend || at(after.a).width > 32) return fail("an upper half that is not zero");
  }
  return true;
}

// A node has no more bits than that.
u32 Checker::bits_of(u16 number) const {
  const Node& node = at(number);
  const auto bits_in = [](u64 value) { return value == 0 ? 0u : 64 - static_cast<u32>(std::countl_zero(value)); };
  const u64 by = operand_count(node.op) == 2 && at(node.b).op == Op::kConstant ? at(node.b).value : 0;
  switch (node.op) {
    case Op::kConstant: return bits_in(node.value);
    case Op::kZeroExtend:
    case Op::kTruncate: return std::min<u32>(node.width, bits_of(node.a));
    case Op::kAnd: return std::min(bits_of(node.a), bits_of(node.b));
    case Op::kShiftRight: {
      const u32 before = bits_of(node.a);
      return by < before ? before - static_cast<u32>(by) : 0;
    }
    default: return node.width;
  }
}

// Whether the node is never more than that, by the widths and masks that it is made of.
bool Checker::stays_below(u16 number, u64 most) const {
  const Node& node = at(number);
  if (mask_of(node.width) <= most) return true;
  const bool by_constant = operand_count(node.op) == 2 && at(node.b).op == Op::kConstant && at(node.b).value < 64;
  const u64 by = by_constant ? at(node.b).value : 0;
  switch (node.op) {
    case Op::kConstant: return node.value <= most;
    case Op::kZeroExtend:
    case Op::kTruncate: return stays_below(node.a, most);
    case Op::kAnd: return stays_below(node.a, most) || stays_below(node.b, most);
    case Op::kShiftRight: {
      const u64 before = most << by | mask_of(static_cast<u32>(by));
      return by_constant && (most > mask_of(64) >> by || stays_below(node.a, before));
    }
    case Op::kShiftLeft: return by_constant && by < node.width && stays_below(node.a, most >> by);
    case Op::kOr:
    case Op::kXor: {  // below a power of two
      u64 ones = most;
      while ((ones & (ones + 1)) != 0) ones >>= 1;
      return stays_below(node.a, ones) && stays_below(node.b, ones);
    }
    case Op::kSelect: return stays_below(node.b, most) && stays_below(node.c, most);
    case Op::kAdd:
      for (const auto& [one, other] : {std::pair(node.a, node.b), std::pair(node.b, node.a)}) {
        const u64 rest = mask_of(bits_of(other));
        if (rest <= most && stays_below(one, most - rest)) return true;
      }
      return false;
    default: return false;
  }
}

bool Checker::tables_hold() {
  for (const Table& table : proof_.tables) {
    if (table.access >= it_.accesses.size() || !is_node(table.base) || !is_node(table.index)) return fail("no table");
    const Access& access = it_.accesses[table.access];
    const Node& address = at(access.address);
    const bool is_sum = address.op == Op::kAdd && ((address.a == table.base && address.b == table.index) ||
                                                   (address.b == table.base && address.a == table.index));
    if (access.is_store || !is_sum || proof_.shapes[table.base] != Shape::kInvariant || address.width != 64)
      return fail("not the table's address");
    if (std::ranges::find(proof_.setup, table.base) == proof_.setup.end()) return fail("a table that is not set up");
    if (!stays_below(table.index, table.span)) return fail("an index beyond the table");
  }
  return true;
}

bool Checker::conditions_hold() {
  if (proof_.tests.size() + proof_.data.size() != it_.conditions.size()) return fail("another number of conditions");
  std::size_t test = 0, data = 0;
  for (const u16 condition : it_.conditions) {
    const Node& node = at(condition);
    if (data < proof_.data.size() && proof_.data[data] == condition) {
      if (proof_.shapes[condition] != Shape::kVarying) return fail("a condition without a column");
      ++data;
      continue;
    }
    const Test wanted{node.op, node.a, node.b, false};
    if (test == proof_.tests.size() || proof_.tests[test] != wanted || !is_compare(node.op) ||
        proof_.shapes[node.a] > Shape::kAffine || proof_.shapes[node.b] > Shape::kAffine)
      return fail("a condition that is not tested");
    ++test;
  }
  return true;
}

// Each list has operands first, and whatever a step reads from it.
bool Checker::orders_hold() {
  std::vector<bool> set(it_.nodes.size()), body(it_.nodes.size()), final(it_.nodes.size());
  const auto is_steady = [&](u16 one) { return proof_.shapes[one] <= Shape::kAffine; };
  const auto has_column = [&](u16 one) { return is_steady(one) ? bool(set[one]) : bool(body[one]); };
  const auto each_operand = [&](u16 number, auto holds) {
    bool good = true;
    for (u32 i = 0; i < operand_count(at(number).op); ++i) good &= holds(operand(at(number), i));
    return good;
  };
  for (const u16 number : proof_.setup) {
    if (!is_steady(number) || !each_operand(number, [&](u16 one) { return bool(set[one]); }))
      return fail("a set-up out of order");
    set[number] = true;
  }
  for (const u16 number : proof_.body) {
    const Node& node = at(number);
    bool good = proof_.shapes[number] == Shape::kVarying && each_operand(number, has_column);
    if (node.op == Op::kInput)
      good &= part(number, Carry::kPrevious) && has_column(part(number, Carry::kPrevious)->term);
    if (node.op == Op::kLoad) {
      const Access& access = it_.accesses[node.value];
      good &= has_column(access.address) && (access.guard == kNoNode || has_column(access.guard));
    }
    if (!good) return fail("a body out of order");
    body[number] = true;
  }
  for (const u16 number : proof_.finals) {
    const bool good = is_steady(number) ? bool(set[number]) : body[number] || at(number).op != Op::kLoad;
    if (!good || !each_operand(number, [&](u16 one) { return bool(final[one]); })) return fail("an end out of order");
    final[number] = true;
  }
  bool good = true;
  for (const Access& access : it_.accesses) {
    good &= has_column(access.address) && has_column(access.value);
    good &= !access.is_store || is_steady(access.address);
    good &= access.guard == kNoNode || has_column(access.guard);
  }
  good &= it_.length == kNoNode || has_column(it_.length);
  for (const Output& output : it_.outputs) good &= final[output.node];
  for (const Test& test : proof_.tests) good &= set[test.a] && set[test.b];
  for (const u16 condition : proof_.data) good &= body[condition];
  for (const Carried& carried : proof_.carried) {
    if (carried.carry == Carry::kAffine) good &= set[carried.input] && set[carried.term];
    if (carried.carry == Carry::kReduction || carried.carry == Carry::kPrevious) good &= has_column(carried.term);
    if (carried.carry == Carry::kLatch) good &= has_column(carried.condition) && final[carried.term];
  }
  return good || fail("something that a step reads is not computed");
}

bool Checker::kind_holds() {
  u32 loads = 0, stores = 0, filled = 0, copied = 0, scattered = 0;
  for (const Access& access : it_.accesses) {
    (access.is_store ? stores : loads) += 1;
    scattered += proof_.shapes[access.address] > Shape::kAffine;
    if (!access.is_store) continue;
    filled += proof_.shapes[access.value] == Shape::kInvariant;
    const Node& value = at(access.value);
    if (value.op != Op::kLoad) continue;
    const Access& from = it_.accesses[value.value];
    copied += from.size == access.size && proof_.shapes[from.address] <= Shape::kAffine;
  }
  bool folds = false;
  for (const Carried& carried : proof_.carried)
    folds |= carried.carry != Carry::kAffine && carried.carry != Carry::kLinear;
  bool same_each_time = it_.length == kNoNode;
  for (const Access& access : it_.accesses) same_each_time &= access.guard == kNoNode;
  const bool only_moves = !folds && proof_.data.empty() && same_each_time;
  Kind kind = Kind::kMap;
  if (stores == 0) {
    kind = !proof_.data.empty() ? Kind::kScan : loads != 0 || folds ? Kind::kReduction : Kind::kCounted;
  } else if (filled == stores && loads == 0) {
    kind = Kind::kFill;
  } else if (copied == stores) {
    kind = Kind::kCopy;
  }
  const Bulk bulk = kind == Kind::kScan && !folds && same_each_time       ? Bulk::kScan
                    : only_moves && kind == Kind::kFill                   ? Bulk::kFill
                    : only_moves && kind == Kind::kCopy && scattered == 0 ? Bulk::kCopy
                                                                          : Bulk::kNone;
  return (kind == proof_.kind && bulk == proof_.bulk) || fail("another kind");
}

bool Checker::run(std::string& error) {
  const bool good = names_nodes() && shapes_hold() && carries_hold() && wraps_are_named() && aligned_are_masks() &&
                    narrow_stay_so() && tables_hold() && conditions_hold() && orders_hold() && kind_holds();
  error = error_;
  return good;
}

}  // namespace

bool check(const Iteration& iteration, const Proof& proof, std::string& error) {
  return Checker(iteration, proof).run(error);
}

}  // namespace kvrm::accelerate
