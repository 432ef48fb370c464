// What a bulk step knows of the state and of expressions before, between and after its rounds. No memory: steps on the
// CPU (rounds.h) and on a warp (warp_step.h) have it in common.
#pragma once

#include "accelerate/freestanding/program.h"
#include "accelerate/freestanding/trips.h"
#include "base/cpu.h"

namespace kvrm::accelerate {

// Whether a part of the state, given by its offset in a WholeCpu, is one of a vector register, or lies after them.
inline constexpr u32 kVectorsAt = __builtin_offsetof(WholeCpu, q), kVectorBytes = sizeof(U128) * 32;
constexpr bool is_vector_part(u64 offset) { return offset >= kVectorsAt && offset < kVectorsAt + kVectorBytes; }
constexpr bool is_after_vectors(u64 offset) { return offset >= kVectorsAt + kVectorBytes; }

// Where it is. Of a state whose vector registers are apart: not what lies after them.
KVRM_INLINE u8* state_at(WholeCpu& cpu, u64 offset) { return reinterpret_cast<u8*>(&cpu) + offset; }
KVRM_INLINE u8* state_at(BasicCpu<U128*>& cpu, u64 offset) {
  return is_vector_part(offset) ? reinterpret_cast<u8*>(cpu.q) + (offset - kVectorsAt)
                                : reinterpret_cast<u8*>(&cpu) + offset;
}

inline constexpr u32 kMostLinearParts = 8;
// For the matrix of a loop's linear parts.
struct LinearSpace {
  struct Matrix {
    u64 at[kMostLinearParts][kMostLinearParts + 1];  // the last column is what is added
  };
  Matrix power, result, product;
};

template <class State>
class StepValues {
 public:
  // Numbers of scratch space.
  static constexpr u64 size(u64 nodes, u64 carried) { return 3 * nodes + 2 * carried; }

  StepValues(const LoopProgram& loop, State& cpu, u64* scratch)
      : loop_(loop),
        cpu_(cpu),
        values_(scratch),
        steps_(values_ + loop.nodes.count),
        last_(steps_ + loop.nodes.count),
        before_(last_ + loop.nodes.count),
        after_(before_ + loop.carried.count) {}

 protected:
  u64 read_state(u16 input) const;
  void write_state(const Output& output, u64 value);
  // Of a node of the setup, whose operands have theirs.
  void set_value(u16 number);
  void set_step(u16 number);
  void set_carried_step(const Carried& carried);
  // How many iterations one condition allows.
  u64 trips_of_test(const Test& test) const;
  u64 trips_without_wrap(u16 number) const;
  void advance_value(u16 number, u64 count) {
    if (loop_.shapes[number] != Shape::kAffine) return;
    values_[number] = (values_[number] + steps_[number] * count) & mask_of(loop_.nodes[number].width);
  }
  void linear_before(u64 count, LinearSpace& space);
  u64 final_value(u16 node) const;
  u64 value_for_parts(u16 node) const;
  bool is_affine(u16 node) const { return loop_.shapes[node] <= Shape::kAffine; }

  const LoopProgram& loop_;
  State& cpu_;
  u64* const values_;  // of invariant and affine nodes, in the next iteration
  u64* const steps_;
  u64* const last_;    // of nodes with columns and of all nodes at the end, in the last iteration
  u64* const before_;  // of carried parts, before the last iteration
  u64* const after_;   // and after it
  u64 done_ = 0;
};

template <class State>
u64 StepValues<State>::read_state(u16 input) const {
  const Node& node = loop_.nodes[input];
  const u8* at = state_at(cpu_, node.value);
  if (node.width == 8) return *at;
  if (node.width == 32) {
    u32 value;
    __builtin_memcpy(&value, at, sizeof(value));
    return value;
  }
  u64 value;
  __builtin_memcpy(&value, at, sizeof(value));
  return value;
}

template <class State>
void StepValues<State>::write_state(const Output& output, u64 value) {
  u8* at = state_at(cpu_, output.offset);
  if (output.size == 1) {
    *at = static_cast<u8>(value);
  } else if (output.size == 4) {
    const u32 narrow = static_cast<u32>(value);
    __builtin_memcpy(at, &narrow, sizeof(narrow));
  } else {
    __builtin_memcpy(at, &value, sizeof(value));
  }
}

template <class State>
void StepValues<State>::set_value(u16 number) {
  const Node& node = loop_.nodes[number];
  steps_[number] = 0;
  if (node.op == Op::kConstant) {
    values_[number] = node.value;
  } else if (node.op == Op::kInput) {
    values_[number] = read_state(number);
  } else {
    values_[number] =
        evaluate(node.op, node.width, loop_.nodes[node.a].width, values_[node.a], values_[node.b], values_[node.c]);
  }
}

template <class State>
void StepValues<State>::set_carried_step(const Carried& carried) {
  if (carried.carry != Carry::kAffine) return;
  const u64 step = carried.subtracts ? 0 - values_[carried.term] : values_[carried.term];
  steps_[carried.input] = static_cast<u64>(sign_extended(step & mask_of(carried.width), carried.width));
}

template <class State>
void StepValues<State>::set_step(u16 number) {
  const Node& node = loop_.nodes[number];
  if (loop_.shapes[number] != Shape::kAffine || node.op == Op::kInput) return;
  const u64 a = steps_[node.a], b = steps_[node.b];
  u64 step = a;
  switch (node.op) {
    case Op::kAdd: step = a + b; break;
    case Op::kSub: step = a - b; break;
    case Op::kMul: step = a * values_[node.b] + b * values_[node.a]; break;
    case Op::kShiftLeft: step = evaluate(node.op, node.width, node.width, a, values_[node.b], 0); break;
    case Op::kZeroExtend:
    case Op::kSignExtend: step = static_cast<u64>(sign_extended(a, loop_.nodes[node.a].width)); break;
    default: break;
  }
  steps_[number] = step & mask_of(node.width);
}

template <class State>
u64 StepValues<State>::trips_of_test(const Test& test) const {
  return trips_of(test.op, !test.inverted, values_[test.a], steps_[test.a], values_[test.b], steps_[test.b],
                  loop_.nodes[test.a].width);
}

template <class State>
u64 StepValues<State>::trips_without_wrap(u16 number) const {
  const Node& node = loop_.nodes[number];
  // Of 32 bits, zero-extended.
  if (node.op == Op::kInput) return trips_within(values_[number], steps_[number], 0, mask_of(32), 32);
  const u32 width = loop_.nodes[node.a].width;
  const u64 half = node.op == Op::kSignExtend ? u64{1} << (width - 1) : 0;
  const u64 mask = mask_of(width);
  return trips_within((values_[node.a] + half) & mask, steps_[node.a] & mask, 0, mask, width);
}

// Inputs of linear parts before iteration `count`: the matrix of the loop by repeated squaring.
template <class State>
void StepValues<State>::linear_before(u64 count, LinearSpace& space) {
  using Matrix = LinearSpace::Matrix;
  u32 parts[kMostLinearParts], n = 0;
  for (u32 i = 0; i < loop_.carried.count; ++i) {
    if (loop_.carried[i].carry == Carry::kLinear) parts[n++] = i;
  }
  if (n == 0) return;
  Matrix &power = space.power, &result = space.result;
  power = result = {};
  const auto outputs_into = [&](u32 column) {
    for (const u16 number : loop_.finals) last_[number] = value_for_parts(number);
    for (u32 row = 0; row < n; ++row)
      power.at[row][column] = last_[loop_.outputs[loop_.carried[parts[row]].output].node];
  };
  for (u32 i = 0; i < n; ++i) before_[parts[i]] = 0;
  outputs_into(n);
  for (u32 column = 0; column < n; ++column) {
    for (u32 i = 0; i < n; ++i) before_[parts[i]] = i == column;
    outputs_into(column);
    for (u32 row = 0; row < n; ++row) power.at[row][column] -= power.at[row][n];
  }
  for (u32 i = 0; i < n; ++i) result.at[i][i] = 1;
  const auto multiply = [&](const Matrix& a, const Matrix& b, Matrix& into) {
    Matrix& c = space.product;
    for (u32 i = 0; i < n; ++i) {
      for (u32 j = 0; j <= n; ++j) {
        u64 sum = j == n ? a.at[i][n] : 0;
        for (u32 k = 0; k < n; ++k) sum += a.at[i][k] * b.at[k][j];
        c.at[i][j] = sum;
      }
    }
    for (u32 i = 0; i < n; ++i) {
      for (u32 j = 0; j <= n; ++j) into.at[i][j] = c.at[i][j];
    }
  };
  for (u64 left = count; left != 0; left >>= 1) {
    if (left & 1) multiply(power, result, result);
    if (left > 1) multiply(power, power, power);
  }
  for (u32 i = 0; i < n; ++i) {
    u64 sum = result.at[i][n];
    for (u32 k = 0; k < n; ++k) sum += result.at[i][k] * after_[parts[k]];
    before_[parts[i]] = count == 0 ? after_[parts[i]] : sum & mask_of(loop_.carried[parts[i]].width);
  }
}

// A node where the linear parts are before_; it may depend on these and on invariants.
template <class State>
u64 StepValues<State>::value_for_parts(u16 number) const {
  const Node& node = loop_.nodes[number];
  if (loop_.shapes[number] == Shape::kInvariant) return values_[number];
  if (loop_.shapes[number] == Shape::kVarying) return last_[number];  // the linear parts do not depend on it
  if (node.op == Op::kInput) {
    for (u32 i = 0; i < loop_.carried.count; ++i) {
      if (loop_.carried[i].carry == Carry::kLinear && loop_.carried[i].input == number) return before_[i];
    }
    return 0;
  }
  return evaluate(node.op, node.width, loop_.nodes[node.a].width, last_[node.a], last_[node.b], last_[node.c]);
}

// A node in the last iteration; its operands are known. values_ are those of the iteration after it.
template <class State>
u64 StepValues<State>::final_value(u16 number) const {
  const Node& node = loop_.nodes[number];
  if (loop_.shapes[number] == Shape::kInvariant || loop_.shapes[number] == Shape::kAffine)
    return (values_[number] - steps_[number]) & mask_of(node.width);
  if (loop_.column_of[number] != kNoNode) return last_[number];
  if (node.op == Op::kInput) {
    for (u32 i = 0; i < loop_.carried.count; ++i) {
      if (loop_.carried[i].input == number) return before_[i];
    }
  }
  return evaluate(node.op, node.width, loop_.nodes[node.a].width, last_[node.a], last_[node.b], last_[node.c]);
}

}  // namespace kvrm::accelerate
