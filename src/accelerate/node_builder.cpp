#include "accelerate/node_builder.h"

#include <algorithm>

namespace kvrm::accelerate {

std::optional<u16> NodeBuilder::find(const Node& node) const {
  const auto found = std::ranges::find(nodes_, node);
  if (found == nodes_.end()) return std::nullopt;
  return static_cast<u16>(found - nodes_.begin());
}

u16 NodeBuilder::add(const Node& node) {
  if (const std::optional<u16> known = find(node)) return *known;
  nodes_.push_back(node);
  return static_cast<u16>(nodes_.size() - 1);
}

u16 NodeBuilder::fold(Op op, u32 width, u16 a, u16 b, u16 c) {
  const u32 count = operand_count(op);
  const u16 operands[] = {a, b, c};
  bool is_known = true;
  for (u32 i = 0; i < count; ++i) is_known &= nodes_[operands[i]].op == Op::kConstant;
  if (is_known) {
    const auto value = [&](u16 node) { return nodes_[node].value; };
    return constant(evaluate(op, width, nodes_[a].width, value(a), value(b), value(c)), width);
  }
  return add({op, static_cast<u8>(width), a, count > 1 ? b : u16{0}, count > 2 ? c : u16{0}, 0});
}

u16 NodeBuilder::select(u16 condition, u16 a, u16 b) {
  if (nodes_[condition].op == Op::kConstant) return nodes_[condition].value ? a : b;
  if (a == b) return a;
  std::optional<u16> simpler = select_of_bits(condition, a, b);
  if (!simpler) simpler = select_of_halves(condition, a, b);
  if (!simpler) simpler = select_of_operand(condition, a, b);
  if (simpler) return *simpler;
  return add({Op::kSelect, nodes_[a].width, condition, a, b, 0});
}

std::optional<u16> NodeBuilder::select_of_bits(u16 condition, u16 a, u16 b) {
  if (nodes_[a].width != 1) return std::nullopt;
  if (is_constant(b, 0)) return binary(Op::kAnd, condition, a);
  if (is_constant(a, 1)) return binary(Op::kOr, condition, b);
  if (is_constant(a, 0)) return binary(Op::kAnd, inverse(condition), b);
  if (is_constant(b, 1)) return binary(Op::kOr, inverse(condition), a);
  return std::nullopt;
}

std::optional<u16> NodeBuilder::low_half(u16 node) const {
  const Node& whole = nodes_[node];
  if (whole.op == Op::kZeroExtend && whole.width == 64 && nodes_[whole.a].width == 32) return whole.a;
  return std::nullopt;
}

bool NodeBuilder::may_be_narrow(u16 node) const {
  const Node& whole = nodes_[node];
  if (whole.op == Op::kConstant) return whole.width == 64 && whole.value <= mask_of(32);
  return wide_ && whole.op == Op::kInput && whole.width == 64 && !wide_->contains(whole.value);
}

std::optional<u16> NodeBuilder::select_of_halves(u16 condition, u16 a, u16 b) {
  const std::optional<u16> yes = low_half(a), no = low_half(b);
  if ((!yes && !no) || (!yes && !may_be_narrow(a)) || (!no && !may_be_narrow(b))) return std::nullopt;
  if (!yes && nodes_[a].op == Op::kInput) narrowed_.insert(a);
  if (!no && nodes_[b].op == Op::kInput) narrowed_.insert(b);
  return extend(select(condition, yes ? *yes : truncate(a, 32), no ? *no : truncate(b, 32)), 64);
}

bool NodeBuilder::is_before(u16 node) const {
  const Node& one = nodes_[node];
  return one.op == Op::kInput || (one.op == Op::kTruncate && nodes_[one.a].op == Op::kInput);
}

// The node as op(before, by): itself may be `before`.
std::optional<u16> NodeBuilder::changed_by(u16 node, Op op, u16 before) {
  const Node change = nodes_[node];
  if (node == before) return constant(0, change.width);
  if (change.op != op) return std::nullopt;
  if (change.a == before) return change.b;
  if (change.b == before && op != Op::kSub) return change.a;
  return std::nullopt;
}

std::optional<u16> NodeBuilder::select_of_operand(u16 condition, u16 a, u16 b) {
  for (const u16 changed : {a, b}) {
    const Node change = nodes_[changed];
    if (change.op != Op::kAdd && change.op != Op::kSub && change.op != Op::kOr && change.op != Op::kXor) continue;
    for (const u16 before : {change.a, change.b}) {
      if (!is_before(before)) continue;
      const std::optional<u16> yes = changed_by(a, change.op, before), no = changed_by(b, change.op, before);
      if (yes && no) return binary(change.op, before, select(condition, *yes, *no));
    }
  }
  return std::nullopt;
}

u16 NodeBuilder::truncate(u16 a, u32 width) {
  const auto known = truncated_.find({a, width});
  return known != truncated_.end() ? known->second : truncated_[{a, width}] = make_truncated(a, width);
}

u16 NodeBuilder::make_truncated(u16 a, u32 width) {
  const Node node = nodes_[a];
  if (node.width == width) return a;
  if (node.op == Op::kZeroExtend || node.op == Op::kSignExtend) {
    if (nodes_[node.a].width == width) return node.a;
    if (nodes_[node.a].width > width) return truncate(node.a, width);
  }
  switch (node.op) {  // the low bits depend on low bits only
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor: return binary(node.op, truncate(node.a, width), truncate(node.b, width));
    case Op::kSelect: return select(node.a, truncate(node.b, width), truncate(node.c, width));
    default: return fold(Op::kTruncate, width, a, 0, 0);
  }
}

u16 NodeBuilder::binary(Op op, u16 a, u16 b) {
  const u32 width = nodes_[a].width;
  if (op == Op::kAnd && nodes_[b].op == Op::kConstant && width == 64 && nodes_[b].value == mask_of(32))
    return extend(truncate(a, 32), 64);
  if (width == 1 && (op == Op::kAnd || op == Op::kOr)) {
    const u16 rest = nodes_[a].op == Op::kConstant ? b : a, known = rest == a ? b : a;
    if (a == b) return a;
    if (is_constant(known, 0)) return op == Op::kAnd ? known : rest;
    if (is_constant(known, 1)) return op == Op::kAnd ? rest : known;
  }
  if (width == 1) {
    for (const auto& [one, other] : {std::pair(a, b), std::pair(b, a)}) {
      const std::optional<u16> order = op == Op::kXor   ? order_of_flags(one, other)
                                       : op == Op::kAnd ? strict_order(one, other)
                                       : op == Op::kOr  ? weak_order(one, other)
                                                        : std::nullopt;
      if (order) return *order;
    }
  }
  return fold(op, width, a, b, 0);
}

std::optional<u16> NodeBuilder::order_of_flags(u16 n, u16 v) {
  const Node sign = nodes_[n], overflow = nodes_[v];
  if (sign.op != Op::kLessSigned || overflow.op != Op::kLessSigned) return std::nullopt;
  const bool inverted = nodes_[sign.a].op == Op::kConstant;  // -1 < a - b
  const u16 result = inverted ? sign.b : sign.a;
  const u32 width = nodes_[result].width;
  if (inverted ? !is_constant(sign.a, mask_of(width)) : !is_constant(sign.b, 0)) return std::nullopt;
  const Node difference = nodes_[result], both = nodes_[overflow.a];
  if (difference.op != Op::kSub || !is_constant(overflow.b, 0) || both.op != Op::kAnd) return std::nullopt;
  // The operands differ in sign, and so does the result from the first.
  const Node operands{Op::kXor, static_cast<u8>(width), difference.a, difference.b};
  const Node change{Op::kXor, static_cast<u8>(width), difference.a, result};
  if (nodes_[both.a] != operands || nodes_[both.b] != change) return std::nullopt;
  const u16 less = compare(Op::kLessSigned, difference.a, difference.b);
  return inverted ? inverse(less) : less;
}

std::optional<u16> NodeBuilder::strict_order(u16 order, u16 unequal) {
  const Node one = nodes_[order], other = nodes_[unequal];
  if (other.op != Op::kNotEqual || (one.op != Op::kLessEqual && one.op != Op::kLessEqualSigned)) return std::nullopt;
  const bool same = (one.a == other.a && one.b == other.b) || (one.a == other.b && one.b == other.a);
  if (!same) return std::nullopt;
  return compare(one.op == Op::kLessEqual ? Op::kLess : Op::kLessSigned, one.a, one.b);
}

std::optional<u16> NodeBuilder::weak_order(u16 order, u16 equal) {
  const Node one = nodes_[order], other = nodes_[equal];
  if (other.op != Op::kEqual || (one.op != Op::kLess && one.op != Op::kLessSigned)) return std::nullopt;
  const bool same = (one.a == other.a && one.b == other.b) || (one.a == other.b && one.b == other.a);
  if (!same) return std::nullopt;
  return compare(one.op == Op::kLess ? Op::kLessEqual : Op::kLessEqualSigned, one.a, one.b);
}

u16 NodeBuilder::inverse(u16 condition) {
  const Node node = nodes_[condition];
  switch (node.op) {
    case Op::kEqual: return compare(Op::kNotEqual, node.a, node.b);
    case Op::kNotEqual: return compare(Op::kEqual, node.a, node.b);
    case Op::kLess: return compare(Op::kLessEqual, node.b, node.a);
    case Op::kLessEqual: return compare(Op::kLess, node.b, node.a);
    case Op::kLessSigned: return compare(Op::kLessEqualSigned, node.b, node.a);
    case Op::kLessEqualSigned: return compare(Op::kLessSigned, node.b, node.a);
    case Op::kXor:
      if (is_constant(node.b, 1)) return node.a;
      [[fallthrough]];
    default: return binary(Op::kXor, condition, constant(1, 1));
  }
}

u16 NodeBuilder::join(std::span<const u16> pieces, u32 width) {
  if (pieces.size() == 1) return pieces[0];
  // All pieces of one number, in their order.
  for (const auto& [whole, known] : split_) {
    if (known.width == width && std::ranges::equal(known.nodes, pieces)) return whole;
  }
  const u32 total = static_cast<u32>(pieces.size()) * width;
  u16 sum = extend(pieces[0], total);
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    const u16 shift = constant(i * width, total);
    sum = binary(Op::kAdd, sum, binary(Op::kShiftLeft, extend(pieces[i], total), shift));
  }
  if (nodes_[sum].op != Op::kConstant) joined_[sum] = {{pieces.begin(), pieces.end()}, width};
  return sum;
}

std::vector<u16> NodeBuilder::split(u16 whole, u32 total, u32 width) {
  if (total == width) return {whole};
  if (const auto known = joined_.find(whole); known != joined_.end() && known->second.width == width)
    return known->second.nodes;
  std::vector<u16> pieces;
  for (u32 at = 0; at < total; at += width)
    pieces.push_back(truncate(at == 0 ? whole : binary(Op::kShiftRight, whole, constant(at, total)), width));
  if (nodes_[whole].op != Op::kConstant) split_[whole] = {pieces, width};
  return pieces;
}

}  // namespace kvrm::accelerate
