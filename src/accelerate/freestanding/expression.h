// What one iteration of a loop computes, as expressions over the state before it. Made of the rows' IR
// (accelerate/extract.h), so no instruction is described here.
#pragma once

#include "base/types.h"

namespace kvrm::accelerate {

enum class Op : u8 {
  kConstant,  // value
  kInput,     // the part of Cpu at offset `value`, before the iteration
  kLoad,      // what access number `value` loads
  kAdd,
  kSub,
  kMul,
  kAnd,
  kOr,
  kXor,
  kShiftLeft,
  kShiftRight,
  kShiftRightSigned,
  kSelect,  // a ? b : c
  kZeroExtend,
  kSignExtend,
  kTruncate,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kLessSigned,
  kLessEqualSigned,
};

// A value of up to 64 bits, kept zero-extended. Operands have lower numbers.
struct Node {
  Op op = Op::kConstant;
  u8 width = 64;
  u16 a = 0, b = 0, c = 0;
  u64 value = 0;
  friend bool operator==(const Node&, const Node&) = default;
};

constexpr u64 mask_of(u32 width) { return width >= 64 ? ~u64{0} : (u64{1} << width) - 1; }

constexpr i64 sign_extended(u64 value, u32 width) {
  const u32 rest = 64 - width;
  return static_cast<i64>(value << rest) >> rest;
}

constexpr u32 operand_count(Op op) {
  switch (op) {
    case Op::kConstant:
    case Op::kInput:
    case Op::kLoad: return 0;
    case Op::kZeroExtend:
    case Op::kSignExtend:
    case Op::kTruncate: return 1;
    case Op::kSelect: return 3;
    default: return 2;
  }
}

constexpr bool is_compare(Op op) { return op >= Op::kEqual; }

// A node's value from its operands'; `width` is the node's, `from` its first operand's.
constexpr u64 evaluate(Op op, u32 width, u32 from, u64 a, u64 b, u64 c) {
  const u64 mask = mask_of(width);
  const u64 shift = b & 63;
  switch (op) {
    case Op::kAdd: return (a + b) & mask;
    case Op::kSub: return (a - b) & mask;
    case Op::kMul: return (a * b) & mask;
    case Op::kAnd: return a & b;
    case Op::kOr: return a | b;
    case Op::kXor: return a ^ b;
    case Op::kShiftLeft: return b < width ? (a << shift) & mask : 0;
    case Op::kShiftRight: return b < width ? a >> shift : 0;
    case Op::kShiftRightSigned: {
      const u64 most = b < width ? shift : width - 1;
      return static_cast<u64>(sign_extended(a, width) >> most) & mask;
    }
    case Op::kSelect: return a ? b : c;
    case Op::kZeroExtend: return a;
    case Op::kSignExtend: return static_cast<u64>(sign_extended(a, from)) & mask;
    case Op::kTruncate: return a & mask;
    case Op::kEqual: return a == b;
    case Op::kNotEqual: return a != b;
    case Op::kLess: return a < b;
    case Op::kLessEqual: return a <= b;
    case Op::kLessSigned: return sign_extended(a, from) < sign_extended(b, from);
    case Op::kLessEqualSigned: return sign_extended(a, from) <= sign_extended(b, from);
    default: return 0;
  }
}

}  // namespace kvrm::accelerate
