#include "translator/stencils/expressions.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include "translator/stencils/evaluate.h"

namespace kvrm::translator::stencils {
namespace {

using llvm::Instruction;
using llvm::Value;

// Writes down the steps of one expression, operands first.
class Program {
 public:
  explicit Program(const Leaves& leaves) : leaves_(leaves) {}

  std::optional<u16> add(const Value* value);
  const std::vector<Step>& steps() const { return steps_; }

 private:
  using Number = std::optional<u16>;
  Number step(Operation operation, u32 bits, Number a = 0, Number b = 0, Number c = 0, u64 constant = 0);
  Number instruction(const Instruction& instruction, u32 bits);
  Number binary(const Instruction& instruction, u32 bits);
  Number compare(const llvm::ICmpInst& compare);
  Number intrinsic(const llvm::IntrinsicInst& intrinsic, u32 bits);
  Number operand(const llvm::User& user, u32 index) { return add(user.getOperand(index)); }
  Number negated(Number number) { return step(Operation::kXor, 1, number, constant(1, 1)); }
  Number constant(u64 value, u32 bits) { return step(Operation::kConstant, bits, 0, 0, 0, value); }

  const Leaves& leaves_;
  std::map<const Value*, u16> done_;
  std::vector<Step> steps_;
};

Program::Number Program::step(Operation operation, u32 bits, Number a, Number b, Number c, u64 constant) {
  if (!a || !b || !c || steps_.size() >= kMostSteps) return std::nullopt;
  steps_.push_back({operation, static_cast<u8>(bits), *a, *b, *c, constant});
  return static_cast<u16>(steps_.size() - 1);
}

Program::Number Program::add(const Value* value) {
  if (!value->getType()->isIntegerTy() || value->getType()->getIntegerBitWidth() > 64) return std::nullopt;
  const auto found = done_.find(value);
  if (found != done_.end()) return found->second;
  const u32 bits = value->getType()->getIntegerBitWidth();
  Number result;
  const auto leaf = leaves_.find(value);
  if (leaf != leaves_.end()) {
    result = step(leaf->second, bits);
  } else if (const auto* number = llvm::dyn_cast<llvm::ConstantInt>(value)) {
    result = constant(number->getZExtValue(), bits);
  } else if (const auto* computed = llvm::dyn_cast<Instruction>(value)) {
    result = instruction(*computed, bits);
  }
  if (result) done_[value] = *result;
  return result;
}

Program::Number Program::instruction(const Instruction& instruction, u32 bits) {
  switch (instruction.getOpcode()) {
    case Instruction::ZExt: return step(Operation::kZeroExtend, bits, operand(instruction, 0));
    case Instruction::Trunc: return step(Operation::kTruncate, bits, operand(instruction, 0));
    case Instruction::SExt:
      return step(Operation::kSignExtend, bits, operand(instruction, 0), 0, 0,
                  instruction.getOperand(0)->getType()->getIntegerBitWidth());
    case Instruction::Select:
      return step(Operation::kSelect, bits, operand(instruction, 0), operand(instruction, 1), operand(instruction, 2));
    case Instruction::Freeze: return operand(instruction, 0);
    case Instruction::ICmp: return compare(llvm::cast<llvm::ICmpInst>(instruction));
    case Instruction::Call:
      if (const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) {
        return this->intrinsic(*intrinsic, bits);
      }
      return std::nullopt;
    default: return binary(instruction, bits);
  }
}

Program::Number Program::binary(const Instruction& instruction, u32 bits) {
  const auto both = [&](Operation operation) {
    return step(operation, bits, operand(instruction, 0), operand(instruction, 1));
  };
  switch (instruction.getOpcode()) {
    case Instruction::Add: return both(Operation::kAdd);
    case Instruction::Sub: return both(Operation::kSubtract);
    case Instruction::Mul: return both(Operation::kMultiply);
    case Instruction::And: return both(Operation::kAnd);
    case Instruction::Or: return both(Operation::kOr);
    case Instruction::Xor: return both(Operation::kXor);
    case Instruction::Shl: return both(Operation::kShiftLeft);
    case Instruction::LShr: return both(Operation::kShiftRight);
    case Instruction::AShr: return both(Operation::kShiftRightSigned);
    default: return std::nullopt;
  }
}

// Signed compares need the operands' width, which their steps have.
Program::Number Program::compare(const llvm::ICmpInst& compare) {
  if (!compare.getOperand(0)->getType()->isIntegerTy()) return std::nullopt;
  const Number a = operand(compare, 0), b = operand(compare, 1);
  const auto less = [&](Number x, Number y) { return step(Operation::kLess, 1, x, y); };
  const auto less_signed = [&](Number x, Number y) {
    return step(Operation::kLessSigned, 1, x, y, 0, compare.getOperand(0)->getType()->getIntegerBitWidth());
  };
  switch (compare.getPredicate()) {
    case llvm::CmpInst::ICMP_EQ: return step(Operation::kEqual, 1, a, b);
    case llvm::CmpInst::ICMP_NE: return negated(step(Operation::kEqual, 1, a, b));
    case llvm::CmpInst::ICMP_ULT: return less(a, b);
    case llvm::CmpInst::ICMP_UGT: return less(b, a);
    case llvm::CmpInst::ICMP_UGE: return negated(less(a, b));
    case llvm::CmpInst::ICMP_ULE: return negated(less(b, a));
    case llvm::CmpInst::ICMP_SLT: return less_signed(a, b);
    case llvm::CmpInst::ICMP_SGT: return less_signed(b, a);
    case llvm::CmpInst::ICMP_SGE: return negated(less_signed(a, b));
    case llvm::CmpInst::ICMP_SLE: return negated(less_signed(b, a));
    default: return std::nullopt;
  }
}

Program::Number Program::intrinsic(const llvm::IntrinsicInst& intrinsic, u32 bits) {
  const auto one = [&](Operation operation) { return step(operation, bits, operand(intrinsic, 0)); };
  const auto funnel = [&](Operation operation) {
    return step(operation, bits, operand(intrinsic, 0), operand(intrinsic, 1), operand(intrinsic, 2));
  };
  const auto least = [&](u32 first, u32 second) {
    return step(Operation::kSelect, bits, step(Operation::kLess, 1, operand(intrinsic, 0), operand(intrinsic, 1)),
                operand(intrinsic, first), operand(intrinsic, second));
  };
  switch (intrinsic.getIntrinsicID()) {
    case llvm::Intrinsic::fshl: return funnel(Operation::kFunnelLeft);
    case llvm::Intrinsic::fshr: return funnel(Operation::kFunnelRight);
    case llvm::Intrinsic::ctpop: return one(Operation::kCountOnes);
    case llvm::Intrinsic::ctlz: return one(Operation::kCountLeadingZeros);
    case llvm::Intrinsic::cttz: return one(Operation::kCountTrailingZeros);
    case llvm::Intrinsic::umin: return least(0, 1);
    case llvm::Intrinsic::umax: return least(1, 0);
    default: return std::nullopt;
  }
}

}  // namespace

bool is_of_word(const Value* value, const Leaves& leaves) {
  if (llvm::isa<llvm::Constant>(value)) return false;
  return Program(leaves).add(value).has_value();
}

std::optional<u32> Expressions::of(const Value* value, const Leaves& leaves) {
  Program program(leaves);
  if (!program.add(value)) return std::nullopt;
  const std::vector<Step>& steps = program.steps();
  std::string text;
  for (const Step& step : steps) {
    for (const u64 part : {u64(step.operation), u64{step.bits}, u64{step.a}, u64{step.b}, u64{step.c}, step.constant})
      text += std::to_string(part) + ',';
  }
  const auto [found, is_new] = known_.emplace(text, static_cast<u32>(expressions_.size()));
  if (is_new) {
    Expression& made = expressions_.emplace_back(static_cast<u32>(steps_.size()), static_cast<u32>(steps.size()));
    made.is_field = to_field(steps.data(), made.steps, made.field);
    steps_.insert(steps_.end(), steps.begin(), steps.end());
  }
  return found->second;
}

}  // namespace kvrm::translator::stencils
