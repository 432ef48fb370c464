#include "accelerate/loop_path.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

#include "accelerate/node_builder.h"
#include "base/cpu.h"

namespace kvrm::accelerate {
namespace {

using llvm::BasicBlock;
using llvm::Value;

constexpr std::size_t kMostPaths = 64, kMostBlocks = 256;
constexpr std::size_t kMostNodes = 600, kMostAccesses = 48;

// The blocks of each path to a return.
void each_path(BasicBlock& block, std::vector<BasicBlock*>& path, std::vector<std::vector<BasicBlock*>>& found) {
  if (path.size() > kMostBlocks) {  // a loop
    found.resize(kMostPaths + 1);
    return;
  }
  path.push_back(&block);
  auto* end = block.getTerminator();
  if (llvm::isa<llvm::ReturnInst>(end)) {
    found.push_back(path);
  } else if (llvm::isa<llvm::BranchInst>(end) || llvm::isa<llvm::SwitchInst>(end)) {
    for (u32 i = 0; i < end->getNumSuccessors() && found.size() <= kMostPaths; ++i)
      each_path(*end->getSuccessor(i), path, found);
  }
  path.pop_back();
}

// A value: its elements, or one. Those of 128 bits are two of 64.
struct Parts {
  std::vector<u16> nodes;
  u32 width = 64;  // of each
};

class Path {
 public:
  explicit Path(llvm::Function& function) : function_(function), build_(iteration_.nodes) {}

  // Whether the path leads to `head`; refusal() says what it cannot say.
  bool walk(const std::vector<BasicBlock*>& blocks, u64 head);
  const std::string& refusal() const { return refusal_; }
  Iteration take();

 private:
  Parts fail(const std::string& why) {
    if (refusal_.empty()) refusal_ = why;
    return {{build_.constant(0, 64)}, 64};
  }
  static u32 element_bits(llvm::Type* type) {
    return static_cast<u32>(type->getScalarType()->getPrimitiveSizeInBits().getFixedValue());
  }
  static u32 element_count(llvm::Type* type) {
    auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    return vector ? vector->getNumElements() : 1;
  }
  static bool is_plain(llvm::Type* type) {
    return (type->isIntOrIntVectorTy() || type->isFPOrFPVectorTy()) && !llvm::isa<llvm::ScalableVectorType>(type);
  }

  Parts parts_of(Value* value);
  Parts constant_parts(llvm::Constant* constant);
  u16 node_of(Value* value);
  void instruction(llvm::Instruction& instruction);
  Parts compute(llvm::Instruction& instruction);
  Parts element_wise(llvm::Instruction& instruction);
  u16 scalar(llvm::Instruction& instruction, std::span<const u16> operands, u32 from);
  Parts cast_bits(const Parts& parts, llvm::Type* type);
  Parts shuffle(llvm::ShuffleVectorInst& shuffle);
  Parts wide(llvm::Instruction& instruction);
  Parts call(llvm::CallInst& call);
  Parts intrinsic(llvm::IntrinsicInst& call);
  Parts overflow(llvm::ExtractValueInst& part);
  std::optional<u64> state_offset(Value* pointer);
  Parts load_state(u64 offset, llvm::Type* type);
  void store_state(u64 offset, llvm::Type* type, const Parts& parts);
  void require(u16 condition, bool holds);
  bool arrives(Value* pc, u64 head);

  llvm::Function& function_;
  Iteration iteration_;
  NodeBuilder build_;
  std::map<Value*, Parts> values_;
  std::map<u64, Output> state_;  // what the path has written, by offset
  BasicBlock* from_ = nullptr;
  std::string refusal_;
};

// Flags are bytes, vector registers two of eight bytes, all else has its C++ type.
u32 cell_size(u64 offset) {
  if (offset >= offsetof(Cpu, n) && offset < offsetof(Cpu, fpcr)) return 1;
  if (offset >= offsetof(Cpu, fpcr) && offset < offsetof(Cpu, fault_address)) return 4;
  return 8;
}

bool Path::walk(const std::vector<BasicBlock*>& blocks, u64 head) {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    for (llvm::Instruction& one : *blocks[i]) {
      if (!one.isTerminator()) instruction(one);
      if (iteration_.nodes.size() > kMostNodes || iteration_.accesses.size() > kMostAccesses) {
        fail("too long");
        return true;
      }
    }
    auto* end = blocks[i]->getTerminator();
    if (auto* branch = llvm::dyn_cast<llvm::BranchInst>(end); branch && branch->isConditional()) {
      require(node_of(branch->getCondition()), branch->getSuccessor(0) == blocks[i + 1]);
    } else if (llvm::isa<llvm::SwitchInst>(end)) {
      fail("a switch");
    } else if (auto* back = llvm::dyn_cast<llvm::ReturnInst>(end)) {
      return arrives(back->getReturnValue(), head);
    }
    from_ = blocks[i];
  }
  return false;
}

// Whether the path's end may be the head; adds the condition for it.
bool Path::arrives(Value* pc, u64 head) {
  const u16 node = node_of(pc);
  const Node found = build_.at(node);
  if (found.op == Op::kConstant) return found.value == head;
  if (found.op == Op::kSelect) {
    const Node yes = build_.at(found.b), no = build_.at(found.c);
    if (yes.op == Op::kConstant && no.op == Op::kConstant) {
      if ((yes.value == head) == (no.value == head)) return yes.value == head;
      require(found.a, yes.value == head);
      return true;
    }
  }
  require(build_.compare(Op::kEqual, node, build_.constant(head, 64)), true);
  return true;
}

void Path::require(u16 condition, bool holds) {
  const Node node = build_.at(condition);
  if (node.op == Op::kConstant) {
    if ((node.value != 0) != holds) fail("a path that is never taken");
    return;
  }
  if (holds && node.op == Op::kAnd && node.width == 1) {
    require(node.a, true);
    require(node.b, true);
    return;
  }
  if (node.op == Op::kXor && node.width == 1 && build_.at(node.b).op == Op::kConstant) {
    require(node.a, holds != (build_.at(node.b).value != 0));
    return;
  }
  if (node.op == Op::kSelect && holds && build_.is_constant(node.c, 0)) {
    require(node.a, true);
    require(node.b, true);
    return;
  }
  if (!holds && node.op == Op::kOr && node.width == 1) {
    require(node.a, false);
    require(node.b, false);
    return;
  }
  iteration_.conditions.push_back(holds ? condition : build_.inverse(condition));
}

Iteration Path::take() {
  for (const auto& [offset, output] : state_) {
    const Node node = build_.at(output.node);
    if (node.op == Op::kInput && node.value == offset) continue;
    iteration_.outputs.push_back(output);
  }
  return std::move(iteration_);
}

u16 Path::node_of(Value* value) {
  const Parts parts = parts_of(value);
  if (parts.nodes.size() != 1) fail("a vector where a number is expected");
  return parts.nodes[0];
}

Parts Path::parts_of(Value* value) {
  if (auto* constant = llvm::dyn_cast<llvm::Constant>(value)) return constant_parts(constant);
  const auto found = values_.find(value);
  return found != values_.end() ? found->second : fail("a value of an unknown kind");
}

Parts Path::constant_parts(llvm::Constant* constant) {
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

void Path::instruction(llvm::Instruction& one) {
  if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&one)) {
    const auto offset = state_offset(store->getPointerOperand());
    if (offset) {
      store_state(*offset, store->getValueOperand()->getType(), parts_of(store->getValueOperand()));
    } else {
      fail("a store to memory of its own");
    }
    return;
  }
  if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&one)) {
    values_[&one] = parts_of(phi->getIncomingValueForBlock(from_));
    return;
  }
  if (llvm::isa<llvm::GetElementPtrInst>(one)) return;
  if (auto* marker = llvm::dyn_cast<llvm::IntrinsicInst>(&one)) {
    if (marker->isLifetimeStartOrEnd() || marker->getIntrinsicID() == llvm::Intrinsic::assume) return;
    if (marker->getType()->isStructTy()) return;  // its parts are computed where they are taken
  }
  values_[&one] = compute(one);
}

Parts Path::compute(llvm::Instruction& one) {
  if (auto* part = llvm::dyn_cast<llvm::ExtractValueInst>(&one)) return overflow(*part);
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&one)) {
    const auto offset = state_offset(load->getPointerOperand());
    return offset ? load_state(*offset, load->getType()) : fail("a table");
  }
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
Parts Path::wide(llvm::Instruction& one) {
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

Parts Path::element_wise(llvm::Instruction& one) {
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
    result.nodes.push_back(scalar(one, nodes, operands[0].width));
  }
  return result;
}

std::optional<Op> op_of(unsigned opcode) {
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

u16 Path::scalar(llvm::Instruction& one, std::span<const u16> operands, u32 from) {
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
  (void)from;
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
Parts Path::cast_bits(const Parts& parts, llvm::Type* type) {
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

Parts Path::shuffle(llvm::ShuffleVectorInst& one) {
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

Parts Path::call(llvm::CallInst& one) {
  const llvm::Function* callee = one.getCalledFunction();
  const llvm::StringRef name = callee ? callee->getName() : "";
  const bool is_store = name.starts_with("kvrm_loop_store_");
  if (!is_store && !name.starts_with("kvrm_loop_load_"))
    return fail(name == "kvrm_loop_atomic" ? "an atomic access or a barrier" : "a function of the semantics");
  const auto size = static_cast<u8>(name.back() - '0');
  Access access{is_store, size, node_of(one.getArgOperand(0)), 0, static_cast<u16>(iteration_.conditions.size())};
  if (is_store) {
    access.value = node_of(one.getArgOperand(1));
    iteration_.accesses.push_back(access);
    return {{access.value}, 64};
  }
  access.value = build_.add({Op::kLoad, static_cast<u8>(size * 8), 0, 0, 0, iteration_.accesses.size()});
  iteration_.accesses.push_back(access);
  return {{access.value}, size * 8u};
}

Parts Path::intrinsic(llvm::IntrinsicInst& one) {
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
Parts Path::overflow(llvm::ExtractValueInst& part) {
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

std::optional<u64> Path::state_offset(Value* pointer) {
  llvm::APInt offset(64, 0);
  const llvm::DataLayout& layout = function_.getParent()->getDataLayout();
  const Value* base = pointer->stripAndAccumulateConstantOffsets(layout, offset, true);
  if (base != function_.getArg(0)) return std::nullopt;
  return offset.getZExtValue();
}

Parts Path::load_state(u64 offset, llvm::Type* type) {
  const u32 cell = cell_size(offset);
  const u64 bytes = type->getPrimitiveSizeInBits().getFixedValue() / 8;
  if (!is_plain(type) || bytes % cell != 0 || offset % cell != 0) return fail("a part of the state's part");
  Parts cells{{}, cell * 8};
  for (u64 at = offset; at < offset + bytes; at += cell) {
    const auto written = state_.find(at);
    cells.nodes.push_back(written != state_.end() ? written->second.node
                                                  : build_.add({Op::kInput, static_cast<u8>(cell * 8), 0, 0, 0, at}));
  }
  return cast_bits(cells, type);
}

void Path::store_state(u64 offset, llvm::Type* type, const Parts& parts) {
  const u32 cell = cell_size(offset);
  const u64 bytes = type->getPrimitiveSizeInBits().getFixedValue() / 8;
  const bool is_rare =
      offset >= offsetof(Cpu, fpcr) && (offset < offsetof(Cpu, q) || offset >= offsetof(Cpu, tpidr_el0));
  if (!is_plain(type) || bytes == 0 || bytes % cell != 0 || offset % cell != 0 || is_rare) {
    fail(is_rare ? "a rare part of the state" : "a part of the state's part");
    return;
  }
  llvm::Type* cells = llvm::FixedVectorType::get(llvm::IntegerType::get(type->getContext(), cell * 8),
                                                 static_cast<unsigned>(bytes / cell));
  const Parts whole = cast_bits(parts, cells);
  if (whole.nodes.size() != bytes / cell) {
    fail("a part of the state's part");
    return;
  }
  for (u64 i = 0; i < bytes / cell; ++i) {
    const u64 at = offset + i * cell;
    state_[at] = {static_cast<u16>(at), static_cast<u8>(cell), whole.nodes[i]};
  }
}

}  // namespace

std::optional<Iteration> path_to(llvm::Function& function, u64 head, std::string& refusal) {
  std::vector<BasicBlock*> path;
  std::vector<std::vector<BasicBlock*>> paths;
  each_path(function.getEntryBlock(), path, paths);
  if (paths.size() > kMostPaths) {
    refusal = "branches inside";
    return std::nullopt;
  }
  std::optional<Iteration> found;
  for (const auto& blocks : paths) {
    Path walked(function);
    if (!walked.walk(blocks, head)) {
      if (refusal.empty()) refusal = walked.refusal();
      continue;
    }
    if (found) {
      refusal = "several paths";
      return std::nullopt;
    }
    if (!walked.refusal().empty()) {
      refusal = walked.refusal();
      return std::nullopt;
    }
    found = walked.take();
  }
  if (!found && refusal.empty()) refusal = "no path back";
  return found;
}

}  // namespace kvrm::accelerate
