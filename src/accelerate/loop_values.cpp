#include "accelerate/loop_values.h"

#include <llvm/IR/Constants.h>

#include <algorithm>
#include <optional>

namespace kvrm::accelerate {

using llvm::Value;

u16 LoopValues::node_of(Value* value) {
  const Parts parts = parts_of(value);
  if (parts.nodes.size() != 1) fail("a vector where a number is expected");
  return parts.nodes[0];
}

Parts LoopValues::parts_of(Value* value) {
  if (auto* constant = llvm::dyn_cast<llvm::Constant>(value)) return constant_parts(constant);
  const auto found = values_.find(value);
  return found != values_.end() ? found->second : fail("a value of an unknown kind");
}

Parts LoopValues::constant_parts(llvm::Constant* constant) {
  llvm::Type* type = constant->getType();
  if (!is_plain(type)) return fail("a constant that is no number");
  const u32 bits = element_bits(type), count = element_count(type);
  Parts parts{{}, std::min(bits, 64u)};
  for (u32 i = 0; i < count; ++i) {
    llvm::Constant* element = count == 1 && !type->isVectorTy() ? constant : constant->getAggregateElement(i);
    llvm::APInt number(bits, 0);
    if (auto* integer = llvm::dyn_cast_or_null<llvm::ConstantInt>(element)) {
      number = integer->getValue();
    } else if (auto* real = llvm::dyn_cast_or_null<llvm::ConstantFP>(element)) {
      number = real->getValueAPF().bitcastToAPInt();
    } else if (!element || !llvm::isa<llvm::UndefValue>(element)) {
      return fail("a constant that is no number");
    }
    for (u32 at = 0; at < bits; at += 64) {
      const u32 width = std::min(bits - at, 64u);
      parts.nodes.push_back(build_.constant(number.extractBitsAsZExtValue(width, at), width));
    }
  }
  return parts;
}

Parts LoopValues::compute(llvm::Instruction& one) {
  if (auto* part = llvm::dyn_cast<llvm::ExtractValueInst>(&one)) return overflow(*part);
  if (auto* from = llvm::dyn_cast<llvm::LoadInst>(&one)) return load(*from);
  if (auto* marker = llvm::dyn_cast<llvm::IntrinsicInst>(&one)) return intrinsic(*marker);
  if (auto* other = llvm::dyn_cast<llvm::CallInst>(&one)) return call(*other);
  if (!is_plain(one.getType())) return fail("a value that is no number");
  if (auto* cast = llvm::dyn_cast<llvm::BitCastInst>(&one))
    return cast_bits(parts_of(cast->getOperand(0)), one.getType());
  if (llvm::isa<llvm::FreezeInst>(one)) return parts_of(one.getOperand(0));
  if (auto* mix = llvm::dyn_cast<llvm::ShuffleVectorInst>(&one)) return shuffle(*mix);
  if (auto* element = llvm::dyn_cast<llvm::ExtractElementInst>(&one)) {
    auto* index = llvm::dyn_cast<llvm::ConstantInt>(element->getIndexOperand());
    const Parts parts = parts_of(element->getVectorOperand());
    if (!index || index->getZExtValue() >= parts.nodes.size()) return fail("an element at a computed index");
    return {{parts.nodes[index->getZExtValue()]}, parts.width};
  }
  if (auto* insert = llvm::dyn_cast<llvm::InsertElementInst>(&one)) {
    auto* index = llvm::dyn_cast<llvm::ConstantInt>(insert->getOperand(2));
    Parts parts = parts_of(insert->getOperand(0));
    if (!index || index->getZExtValue() >= parts.nodes.size()) return fail("an element at a computed index");
    parts.nodes[index->getZExtValue()] = node_of(insert->getOperand(1));
    return parts;
  }
  const bool is_wide =
      element_bits(one.getType()) > 64 || (one.getNumOperands() != 0 && is_plain(one.getOperand(0)->getType()) &&
                                           element_bits(one.getOperand(0)->getType()) > 64);
  return is_wide ? wide(one) : element_wise(one);
}

// A few operations on 128 bits, which only take halves apart and put them together.
Parts LoopValues::wide(llvm::Instruction& one) {
  const Parts a = parts_of(one.getOperand(0));
  const u16 zero = build_.constant(0, 64);
  const auto shift = [&]() -> u64 {
    auto* by = llvm::dyn_cast<llvm::ConstantInt>(one.getOperand(1));
    return by ? by->getValue().getLimitedValue() : 0;
  };
  switch (one.getOpcode()) {
    case llvm::Instruction::Trunc: {
      const u32 to = element_bits(one.getType());
      if (to <= 64 && !one.getType()->isVectorTy()) return {{build_.truncate(a.nodes[0], to)}, to};
      break;
    }
    case llvm::Instruction::ZExt:
      if (a.nodes.size() == 1 && element_bits(one.getType()) == 128) return {{build_.extend(a.nodes[0], 64), zero}, 64};
      break;
    case llvm::Instruction::LShr:
      if (a.nodes.size() == 2 && shift() == 64) return {{a.nodes[1], zero}, 64};
      break;
    case llvm::Instruction::Shl:
      if (a.nodes.size() == 2 && shift() == 64) return {{zero, a.nodes[0]}, 64};
      break;
    case llvm::Instruction::Or:
    case llvm::Instruction::And:
    case llvm::Instruction::Xor: {
      const Parts b = parts_of(one.getOperand(1));
      if (a.nodes.size() != 2 || b.nodes.size() != 2) break;
      const Op op = one.getOpcode() == llvm::Instruction::Or    ? Op::kOr
                    : one.getOpcode() == llvm::Instruction::And ? Op::kAnd
                                                                : Op::kXor;
      return {{build_.binary(op, a.nodes[0], b.nodes[0]), build_.binary(op, a.nodes[1], b.nodes[1])}, 64};
    }
    default: break;
  }
  return fail(std::string("an operation on 128 bits: ") + one.getOpcodeName());
}

Parts LoopValues::element_wise(llvm::Instruction& one) {
  std::vector<Parts> operands;
  for (llvm::Value* operand : one.operands()) operands.push_back(parts_of(operand));
  if (operands.empty()) return fail(one.getOpcodeName());
  std::size_t count = 0;
  for (const Parts& parts : operands) count = std::max(count, parts.nodes.size());
  Parts result{{}, element_bits(one.getType())};
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<u16> nodes;
    for (const Parts& parts : operands) {
      if (parts.nodes.size() != count && parts.nodes.size() != 1) return fail("operands of different shapes");
      nodes.push_back(parts.nodes[parts.nodes.size() == 1 ? 0 : i]);
    }
    result.nodes.push_back(scalar(one, nodes));
  }
  return result;
}

static std::optional<Op> op_of(unsigned opcode) {
  switch (opcode) {
    case llvm::Instruction::Add: return Op::kAdd;
    case llvm::Instruction::Sub: return Op::kSub;
    case llvm::Instruction::Mul: return Op::kMul;
    case llvm::Instruction::And: return Op::kAnd;
    case llvm::Instruction::Or: return Op::kOr;
    case llvm::Instruction::Xor: return Op::kXor;
    case llvm::Instruction::Shl: return Op::kShiftLeft;
    case llvm::Instruction::LShr: return Op::kShiftRight;
    case llvm::Instruction::AShr: return Op::kShiftRightSigned;
    default: return std::nullopt;
  }
}

u16 LoopValues::scalar(llvm::Instruction& one, std::span<const u16> operands) {
  const u32 width = element_bits(one.getType());
  if (auto* compare = llvm::dyn_cast<llvm::ICmpInst>(&one)) {
    u16 a = operands[0], b = operands[1];
    switch (compare->getPredicate()) {
      case llvm::CmpInst::ICMP_EQ: return build_.compare(Op::kEqual, a, b);
      case llvm::CmpInst::ICMP_NE: return build_.compare(Op::kNotEqual, a, b);
      case llvm::CmpInst::ICMP_ULT: return build_.compare(Op::kLess, a, b);
      case llvm::CmpInst::ICMP_ULE: return build_.compare(Op::kLessEqual, a, b);
      case llvm::CmpInst::ICMP_UGT: return build_.compare(Op::kLess, b, a);
      case llvm::CmpInst::ICMP_UGE: return build_.compare(Op::kLessEqual, b, a);
      case llvm::CmpInst::ICMP_SLT: return build_.compare(Op::kLessSigned, a, b);
      case llvm::CmpInst::ICMP_SLE: return build_.compare(Op::kLessEqualSigned, a, b);
      case llvm::CmpInst::ICMP_SGT: return build_.compare(Op::kLessSigned, b, a);
      default: return build_.compare(Op::kLessEqualSigned, b, a);
    }
  }
  switch (one.getOpcode()) {
    case llvm::Instruction::Select: return build_.select(operands[0], operands[1], operands[2]);
    case llvm::Instruction::ZExt: return build_.extend(operands[0], width);
    case llvm::Instruction::SExt: return build_.extend_signed(operands[0], width);
    case llvm::Instruction::Trunc: return build_.truncate(operands[0], width);
    default: break;
  }
  if (!one.getType()->isIntOrIntVectorTy()) {
    fail("floating point");
    return operands[0];
  }
  const std::optional<Op> op = op_of(one.getOpcode());
  if (!op) {
    fail(std::string("an operation: ") + one.getOpcodeName());
    return operands[0];
  }
  auto* disjoint = llvm::dyn_cast<llvm::PossiblyDisjointInst>(&one);
  return build_.binary(disjoint && disjoint->isDisjoint() ? Op::kAdd : *op, operands[0], operands[1]);
}

// The same bits in elements of another size, by way of pieces of 64 bits.
Parts LoopValues::cast_bits(const Parts& parts, llvm::Type* type) {
  const u32 to = std::min(element_bits(type), 64u);
  if (parts.width == to) return parts;
  if (64 % to != 0 || 64 % parts.width != 0) return fail("elements of an odd size");
  const u64 total = parts.nodes.size() * parts.width;
  if (total <= 64) {
    const u16 whole = build_.join(parts.nodes, parts.width);
    return {build_.split(whole, static_cast<u32>(total), to), to};
  }
  Parts result{{}, to};
  for (std::size_t at = 0; at < parts.nodes.size(); at += 64 / parts.width) {
    const std::span<const u16> piece(parts.nodes.data() + at, 64 / parts.width);
    for (const u16 node : build_.split(build_.join(piece, parts.width), 64, to)) result.nodes.push_back(node);
  }
  return result;
}

Parts LoopValues::shuffle(llvm::ShuffleVectorInst& one) {
  const Parts a = parts_of(one.getOperand(0)), b = parts_of(one.getOperand(1));
  Parts result{{}, a.width};
  for (const int index : one.getShuffleMask()) {
    const auto at = static_cast<std::size_t>(std::max(index, 0));
    const std::size_t in_a = a.nodes.size();
    if (index >= 0 && at >= in_a + b.nodes.size()) return fail("a shuffle");
    result.nodes.push_back(index < 0 ? build_.constant(0, a.width) : at < in_a ? a.nodes[at] : b.nodes[at - in_a]);
  }
  return result;
}

Parts LoopValues::intrinsic(llvm::IntrinsicInst& one) {
  const u32 width = element_bits(one.getType());
  if (one.getType()->isVectorTy() || width > 64) return fail("an operation on vectors");
  const auto argument = [&](u32 i) { return node_of(one.getArgOperand(i)); };
  const auto pick = [&](Op op, bool first) {
    const u16 a = argument(0), b = argument(1);
    return Parts{{build_.select(build_.compare(op, a, b), first ? a : b, first ? b : a)}, width};
  };
  switch (one.getIntrinsicID()) {
    case llvm::Intrinsic::umin: return pick(Op::kLess, true);
    case llvm::Intrinsic::umax: return pick(Op::kLess, false);
    case llvm::Intrinsic::smin: return pick(Op::kLessSigned, true);
    case llvm::Intrinsic::smax: return pick(Op::kLessSigned, false);
    case llvm::Intrinsic::fshl:
    case llvm::Intrinsic::fshr: {
      auto* by = llvm::dyn_cast<llvm::ConstantInt>(one.getArgOperand(2));
      if (!by) break;
      u64 left = by->getZExtValue() % width;
      if (one.getIntrinsicID() == llvm::Intrinsic::fshr) left = (width - left) % width;
      if (left == 0) return {{argument(one.getIntrinsicID() == llvm::Intrinsic::fshr ? 1u : 0u)}, width};
      const u16 high = build_.binary(Op::kShiftLeft, argument(0), build_.constant(left, width));
      return {{build_.binary(Op::kOr, high,
                             build_.binary(Op::kShiftRight, argument(1), build_.constant(width - left, width)))},
              width};
    }
    default: break;
  }
  return fail(std::string("an operation: ") + llvm::Intrinsic::getBaseName(one.getIntrinsicID()).str());
}

// A sum or difference, or whether it overflowed.
Parts LoopValues::overflow(llvm::ExtractValueInst& part) {
  auto* sum = llvm::dyn_cast<llvm::WithOverflowInst>(part.getAggregateOperand());
  if (!sum || element_bits(sum->getLHS()->getType()) > 64) return fail("a value that is no number");
  const u16 a = node_of(sum->getLHS()), b = node_of(sum->getRHS());
  const bool adds = sum->getBinaryOp() == llvm::Instruction::Add;
  if (!adds && sum->getBinaryOp() != llvm::Instruction::Sub) return fail("an overflow of a product");
  const u16 result = build_.binary(adds ? Op::kAdd : Op::kSub, a, b);
  const u32 width = build_.at(a).width;
  if (part.getIndices()[0] == 0) return {{result}, width};
  if (!sum->isSigned()) return {{adds ? build_.compare(Op::kLess, result, a) : build_.compare(Op::kLess, a, b)}, 1};
  const u16 one = build_.binary(Op::kXor, a, adds ? result : b), two = build_.binary(Op::kXor, adds ? b : a, result);
  return {{build_.compare(Op::kLessSigned, build_.binary(Op::kAnd, one, two), build_.constant(0, width))}, 1};
}

}  // namespace kvrm::accelerate
