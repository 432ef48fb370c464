#include "translator/passes/conditions.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/Local.h>

#include <optional>

namespace kvrm::translator {
namespace {

using llvm::CmpInst;
using llvm::Instruction;
using llvm::Value;
using namespace llvm::PatternMatch;  // NOLINT(google-build-using-namespace)

struct Compare {
  CmpInst::Predicate predicate;
  Value* a;
  Value* b;
};
using Found = std::optional<Compare>;

auto borrow_of(Value*& a, Value*& b) {  // of a - b
  return m_Intrinsic<llvm::Intrinsic::usub_with_overflow>(m_Value(a), m_Value(b));
}

// a - b as "a != b", which holds if it is not zero. A constant b may have become an addend.
Found difference_in(Value* value) {
  Value *a = nullptr, *b = nullptr;
  const llvm::APInt* addend = nullptr;
  if (match(value, m_Sub(m_Value(a), m_Value(b))) || match(value, m_ExtractValue<0>(borrow_of(a, b)))) {
    return Compare{CmpInst::ICMP_NE, a, b};
  }
  if (match(value, m_Add(m_Value(a), m_APInt(addend)))) {
    return Compare{CmpInst::ICMP_NE, a, llvm::ConstantInt::get(value->getType(), -*addend)};
  }
  return std::nullopt;
}

// Whether this bit is the overflow of a - b. With a constant b that is a compare of a.
bool is_overflow_of(Value* bit, Value* a, Value* b) {
  if (match(bit, m_ExtractValue<1>(m_Intrinsic<llvm::Intrinsic::ssub_with_overflow>(m_Specific(a), m_Specific(b)))))
    return true;
  const llvm::APInt *subtrahend = nullptr, *limit = nullptr;
  CmpInst::Predicate predicate{};
  if (!match(b, m_APInt(subtrahend)) || !match(bit, m_ICmp(predicate, m_Specific(a), m_APInt(limit)))) return false;
  const unsigned bits = subtrahend->getBitWidth();
  return subtrahend->isStrictlyPositive()
             ? predicate == CmpInst::ICMP_SLT && *limit == llvm::APInt::getSignedMinValue(bits) + *subtrahend
             : predicate == CmpInst::ICMP_SGT && *limit == llvm::APInt::getSignedMaxValue(bits) + *subtrahend;
}

// "N differs from V" of a subtraction: a < b.
Found less_by(Value* n, Value* v) {
  Value *result = nullptr, *overflow = nullptr;
  const llvm::APInt* shift = nullptr;
  if (!match(n, m_Trunc(m_LShr(m_Value(result), m_APInt(shift)))) || !match(v, m_ZExt(m_Value(overflow))) ||
      *shift != result->getType()->getIntegerBitWidth() - 1) {
    return std::nullopt;
  }
  Found found = difference_in(result);
  if (!found || !is_overflow_of(overflow, found->a, found->b)) return std::nullopt;
  found->predicate = CmpInst::ICMP_SLT;
  return found;
}

Found inverse(Found found) {
  if (found) found->predicate = CmpInst::getInversePredicate(found->predicate);
  return found;
}

// A test of one or two flags as a compare of the operands: LT and GE, EQ and NE, CC and CS.
Found question_of(Value* condition) {
  CmpInst::Predicate predicate{};
  Value *x = nullptr, *y = nullptr, *a = nullptr, *b = nullptr;
  if (match(condition, m_Not(m_Value(x)))) return inverse(question_of(x));
  if (match(condition, m_ExtractValue<1>(borrow_of(a, b)))) return Compare{CmpInst::ICMP_ULT, a, b};
  if (!match(condition, m_ICmp(predicate, m_Value(x), m_Value(y))) || !llvm::ICmpInst::isEquality(predicate))
    return std::nullopt;
  Found found = match(y, m_Zero()) ? difference_in(x) : less_by(x, y);
  if (!found) found = less_by(y, x);
  return predicate == CmpInst::ICMP_NE ? found : inverse(found);
}

// "a < b or a == b", signed or not.
Found or_equal(Found order, const Found& equality) {
  if (!order || !equality || order->a != equality->a || order->b != equality->b) return std::nullopt;
  if (equality->predicate != CmpInst::ICMP_EQ) return std::nullopt;
  if (order->predicate != CmpInst::ICMP_SLT && order->predicate != CmpInst::ICMP_ULT) return std::nullopt;
  order->predicate = CmpInst::getNonStrictPredicate(order->predicate);
  return order;
}

// Two compares at once: LE and GT, LS and HI.
Found joined(Value* condition) {
  Value *x = nullptr, *y = nullptr;
  const auto either = [](const Found& one, const Found& other) {
    const Found found = or_equal(one, other);
    return found ? found : or_equal(other, one);
  };
  if (match(condition, m_Or(m_Value(x), m_Value(y)))) return either(question_of(x), question_of(y));
  if (match(condition, m_And(m_Value(x), m_Value(y)))) {
    return inverse(either(inverse(question_of(x)), inverse(question_of(y))));
  }
  return std::nullopt;
}

// A branch or select uses it; what only computes a flag from it stays.
bool decides(const llvm::Use& use) {
  if (const auto* choice = llvm::dyn_cast<llvm::SelectInst>(use.getUser())) return &use == &choice->getOperandUse(0);
  return llvm::isa<llvm::BranchInst>(use.getUser());
}

// A result that the guest keeps exists anyway, and so does its compare with zero.
bool only_flags_use_result(Value* condition) {
  Value* result = nullptr;
  if (!match(condition, m_ICmp(m_Value(result), m_Zero()))) return true;
  return llvm::all_of(result->users(), [](const llvm::User* user) {
    return match(user, m_LShr(m_Value(), m_Value())) || llvm::isa<llvm::ICmpInst>(user);
  });
}

}  // namespace

void compare_operands(llvm::Function& function) {
  llvm::SmallVector<llvm::WeakTrackingVH> unused;
  for (Instruction& instruction : llvm::instructions(function)) {
    if (!instruction.getType()->isIntegerTy(1) || llvm::none_of(instruction.uses(), decides)) continue;
    Found found = joined(&instruction);
    if (!found && only_flags_use_result(&instruction)) found = question_of(&instruction);
    if (!found) continue;
    llvm::IRBuilder<> builder(&instruction);
    Value* compare = builder.CreateICmp(found->predicate, found->a, found->b);
    instruction.replaceUsesWithIf(compare, decides);
    if (instruction.use_empty()) unused.push_back(&instruction);
  }
  llvm::RecursivelyDeleteTriviallyDeadInstructions(unused);
}

}  // namespace kvrm::translator
