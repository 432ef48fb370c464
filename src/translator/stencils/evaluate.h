// The value of an expression for one word.
#pragma once

#include "translator/stencils/format.h"

namespace kvrm::translator::stencils {

struct WordValues {
  u64 operands, pc;
  u64 next_operands = 0;  // of the second word of a pair
};

namespace detail {

constexpr u64 low_bits(u64 value, u32 bits) { return bits >= 64 ? value : value & ((u64{1} << bits) - 1); }
constexpr i64 as_signed(u64 value, u32 bits) { return static_cast<i64>(value << (64 - bits)) >> (64 - bits); }
// Shifts by the width or more have no value in LLVM; nothing depends on them.
constexpr u64 shift(Operation operation, u64 value, u64 count, u32 bits) {
  if (count >= bits) return 0;
  if (operation == Operation::kShiftLeft) return value << count;
  if (operation == Operation::kShiftRight) return value >> count;
  return static_cast<u64>(as_signed(value, bits) >> count);
}
constexpr u64 funnel(Operation operation, u64 high, u64 low, u64 count, u32 bits) {
  count %= bits;
  const u64 left = operation == Operation::kFunnelLeft ? count : bits - count;
  if (left == 0) return high;
  if (left == bits) return low;
  return high << left | low >> (bits - left);
}
constexpr u64 count_bits(Operation operation, u64 value, u32 bits) {
  if (operation == Operation::kCountOnes) return static_cast<u64>(__builtin_popcountll(value));
  if (value == 0) return bits;
  if (operation == Operation::kCountTrailingZeros) return static_cast<u64>(__builtin_ctzll(value));
  return static_cast<u64>(__builtin_clzll(value)) - (64 - bits);
}

}  // namespace detail

// Makes a field of steps, if they are one.
inline bool to_field(const Step* steps, u32 count, Field& field) {
  field = {0, 0, ~u64{0}, 1, 0};
  if (count == 0 || steps[0].operation != Operation::kOperands) return false;
  Operation last = Operation::kOperands;
  for (u32 i = 1, before = 0; i < count; before = i, ++i) {
    if (steps[i].operation != Operation::kConstant || i + 1 == count) return false;
    const u64 constant = steps[i].constant;
    const Step& step = steps[++i];
    if (step.bits != 64 || step.a != before || step.b != i - 1) return false;
    if (step.operation == Operation::kShiftRight && last == Operation::kOperands && constant < 64) {
      field.shift = constant;
    } else if (step.operation == Operation::kAdd && last == Operation::kShiftRight) {
      field.added = constant;
    } else if (step.operation == Operation::kAnd && last != Operation::kAnd && last != Operation::kMultiply) {
      field.mask = constant;
    } else if (step.operation == Operation::kMultiply && last == Operation::kAnd) {
      field.factor = constant;
    } else if (step.operation == Operation::kAdd && (last == Operation::kAnd || last == Operation::kMultiply)) {
      field.constant = constant;
      return i + 1 == count;
    } else {
      return false;
    }
    last = step.operation;
  }
  return true;
}

inline u64 evaluate(const Field& field, const WordValues& word) {
  return (((word.operands >> field.shift) + field.added) & field.mask) * field.factor + field.constant;
}

inline u64 evaluate(const Step* steps, u32 count, const WordValues& word) {
  u64 values[kMostSteps];
  for (u32 i = 0; i < count; ++i) {
    const Step& step = steps[i];
    const u64 a = step.a < i ? values[step.a] : 0, b = step.b < i ? values[step.b] : 0;
    u64 value = 0;
    switch (step.operation) {
      case Operation::kOperands: value = word.operands; break;
      case Operation::kPc: value = word.pc; break;
      case Operation::kNextOperands: value = word.next_operands; break;
      case Operation::kNextPc: value = word.pc + sizeof(u32); break;
      case Operation::kConstant: value = step.constant; break;
      case Operation::kAdd: value = a + b; break;
      case Operation::kSubtract: value = a - b; break;
      case Operation::kMultiply: value = a * b; break;
      case Operation::kAnd: value = a & b; break;
      case Operation::kOr: value = a | b; break;
      case Operation::kXor: value = a ^ b; break;
      case Operation::kZeroExtend:
      case Operation::kTruncate: value = a; break;
      case Operation::kSignExtend:
        value = static_cast<u64>(detail::as_signed(a, static_cast<u32>(step.constant)));
        break;
      case Operation::kEqual: value = a == b; break;
      case Operation::kLess: value = a < b; break;
      case Operation::kLessSigned: {
        const auto bits = static_cast<u32>(step.constant);
        value = detail::as_signed(a, bits) < detail::as_signed(b, bits);
        break;
      }
      case Operation::kSelect: value = a ? b : values[step.c]; break;
      case Operation::kShiftLeft:
      case Operation::kShiftRight:
      case Operation::kShiftRightSigned: value = detail::shift(step.operation, a, b, step.bits); break;
      case Operation::kFunnelLeft:
      case Operation::kFunnelRight: value = detail::funnel(step.operation, a, b, values[step.c], step.bits); break;
      case Operation::kCountOnes:
      case Operation::kCountLeadingZeros:
      case Operation::kCountTrailingZeros: value = detail::count_bits(step.operation, a, step.bits); break;
    }
    values[i] = detail::low_bits(value, step.bits);
  }
  return values[count - 1];
}

}  // namespace kvrm::translator::stencils
