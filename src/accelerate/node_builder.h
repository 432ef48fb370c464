// Makes nodes, each once, with constants folded.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "accelerate/iteration.h"

namespace kvrm::accelerate {

class NodeBuilder {
 public:
  explicit NodeBuilder(std::vector<Node>& nodes) : nodes_(nodes) {}

  // From now on a selection between a number of 32 bits and an input of 64 takes the input for one of 32 bits, too, but
  // for the inputs at these offsets. narrowed() names them: their upper halves must be zero.
  void keep_wide(const std::set<u64>* offsets) { wide_ = offsets; }
  const std::set<u16>& narrowed() const { return narrowed_; }

  const Node& at(u16 node) const { return nodes_[node]; }
  bool is_constant(u16 node, u64 value) const {
    return nodes_[node].op == Op::kConstant && nodes_[node].value == value;
  }

  u16 add(const Node& node);
  std::optional<u16> find(const Node& node) const;
  u16 constant(u64 value, u32 width) { return add({Op::kConstant, static_cast<u8>(width), 0, 0, 0, value}); }
  u16 binary(Op op, u16 a, u16 b);
  u16 compare(Op op, u16 a, u16 b) { return fold(op, 1, a, b, 0); }
  u16 select(u16 condition, u16 a, u16 b);
  u16 extend(u16 a, u32 width) { return nodes_[a].width == width ? a : fold(Op::kZeroExtend, width, a, 0, 0); }
  u16 extend_signed(u16 a, u32 width) { return nodes_[a].width == width ? a : fold(Op::kSignExtend, width, a, 0, 0); }
  u16 truncate(u16 a, u32 width);
  u16 inverse(u16 condition);
  // A number from its pieces of `width` bits, the lowest first; and its pieces.
  u16 join(std::span<const u16> pieces, u32 width);
  std::vector<u16> split(u16 whole, u32 total, u32 width);

 private:
  u16 fold(Op op, u32 width, u16 a, u16 b, u16 c);
  std::optional<u16> select_of_bits(u16 condition, u16 a, u16 b);
  // What a number is zero-extended from, if that has 32 bits.
  std::optional<u16> low_half(u16 node) const;
  bool may_be_narrow(u16 node) const;
  std::optional<u16> select_of_halves(u16 condition, u16 a, u16 b);
  // op(before, one) or before: op(before, one or what changes nothing), so that recurrences show.
  std::optional<u16> select_of_operand(u16 condition, u16 a, u16 b);
  bool is_before(u16 node) const;
  std::optional<u16> changed_by(u16 node, Op op, u16 before);
  // "N differs from V" of a - b, which is a < b; and "a <= b and a != b".
  std::optional<u16> order_of_flags(u16 n, u16 v);
  std::optional<u16> strict_order(u16 order, u16 unequal);
  std::optional<u16> weak_order(u16 order, u16 equal);
  u16 make_truncated(u16 a, u32 width);

  struct Pieces {
    std::vector<u16> nodes;
    u32 width;
  };
  std::vector<Node>& nodes_;
  const std::set<u64>* wide_ = nullptr;
  std::set<u16> narrowed_;
  std::map<u16, Pieces> joined_, split_;  // by the whole
  std::map<std::pair<u16, u32>, u16> truncated_;
};

}  // namespace kvrm::accelerate
