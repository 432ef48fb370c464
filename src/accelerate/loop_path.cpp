#include "accelerate/loop_path.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "accelerate/loop_graph.h"
#include "accelerate/loop_values.h"
#include "base/cpu.h"

namespace kvrm::accelerate {
namespace {

using llvm::BasicBlock;
using llvm::Value;

constexpr std::size_t kMostNodes = 800, kMostAccesses = 48;
constexpr u16 kAlways = kNoNode;

// Where paths join, a value is selected by the conditions of the edges that lead there.
class Path final : private LoopValues {
 public:
  // Of the inputs in `wide` the upper halves may be anything.
  Path(llvm::Function& function, const LoopGraph& graph, const std::set<u64>& wide)
      : function_(function), graph_(graph) {
    build_.keep_wide(&wide);
  }

  // False: refusal() says why.
  bool walk(u64 head);
  const std::string& refusal() const { return LoopValues::refusal(); }
  Iteration take();
  // An input that was taken for one of 32 bits and gets more.
  static std::optional<u64> widened(const Iteration& iteration);

 private:
  using State = std::map<u64, u16>;  // what was written, by offset

  Parts load(llvm::LoadInst& load) override;
  Parts call(llvm::CallInst& call) override;
  void instruction(llvm::Instruction& instruction);
  void enter(BasicBlock& block);
  void leave(BasicBlock& block);
  u16 edge_condition(BasicBlock* from, BasicBlock* to);
  u16 condition_between(BasicBlock* from, BasicBlock* to);
  u16 joined(BasicBlock* at, const std::function<u16(BasicBlock*)>& value);
  State joined_state(BasicBlock* at);
  Parts joined_parts(llvm::PHINode& phi);
  u16 both(u16 one, u16 other) {
    return one == kAlways ? other : other == kAlways ? one : build_.binary(Op::kAnd, one, other);
  }
  std::optional<u64> state_offset(Value* pointer);
  static Node input_at(u64 offset) { return {Op::kInput, static_cast<u8>(cell_size(offset) * 8), 0, 0, 0, offset}; }
  u16 part_before(u64 offset) { return build_.add(input_at(offset)); }
  u16 part(u64 offset);
  Parts load_state(u64 offset, llvm::Type* type);
  void store_state(u64 offset, llvm::Type* type, const Parts& parts);
  void require(u16 condition, bool holds);
  void require_where(u16 guard, u16 condition);
  static u32 cell_size(u64 offset);
  // What becomes of a part: `value` where `when` holds, otherwise it stays.
  struct Change {
    u16 when, value;
  };
  Change change_of(u16 node, u16 before);
  u16 as_change(u16 node, u16 before);

  llvm::Function& function_;
  const LoopGraph& graph_;
  std::map<BasicBlock*, u16> guards_;  // when a block runs, if the iteration ends at the head
  std::map<BasicBlock*, State> states_;  // after it
  State state_;
  BasicBlock* block_ = nullptr;
};

// Flags are bytes, vector registers two of eight bytes, all else has its C++ type.
u32 Path::cell_size(u64 offset) {
  if (offset >= offsetof(Cpu, n) && offset < offsetof(Cpu, fpcr)) return 1;
  if (offset >= offsetof(Cpu, fpcr) && offset < offsetof(Cpu, fault_address)) return 4;
  return 8;
}

bool Path::walk(u64 head) {
  for (BasicBlock* block : graph_.blocks()) {
    enter(*block);
    for (llvm::Instruction& one : *block) {
      if (!one.isTerminator()) instruction(one);
      if (iteration_.nodes.size() > kMostNodes || iteration_.accesses.size() > kMostAccesses) fail("too long");
      if (!refusal().empty()) return false;
    }
    leave(*block);
  }
  const u16 pc = joined(nullptr, [&](BasicBlock* from) {
    return node_of(llvm::cast<llvm::ReturnInst>(from->getTerminator())->getReturnValue());
  });
  const Node found = build_.at(pc);
  if (found.op == Op::kConstant) {
    if (found.value != head) fail("no path back");
  } else {
    require(build_.compare(Op::kEqual, pc, build_.constant(head, 64)), true);
  }
  state_ = joined_state(nullptr);
  return refusal().empty();
}

void Path::enter(BasicBlock& block) {
  block_ = &block;
  if (BasicBlock* as = graph_.as_often_as(&block)) {
    guards_[&block] = guards_[as];
  } else if (graph_.before(&block).empty()) {
    guards_[&block] = kAlways;
  } else {
    u16 any = build_.constant(0, 1);
    for (BasicBlock* from : graph_.before(&block)) {
      const u16 one = edge_condition(from, &block);
      any = any == kAlways || one == kAlways ? kAlways : build_.binary(Op::kOr, any, one);
    }
    guards_[&block] = any;
  }
  state_ = joined_state(&block);
}

// What must hold at its end so that the iteration comes back to the head.
void Path::leave(BasicBlock& block) {
  states_[&block] = state_;
  auto* end = block.getTerminator();
  if (llvm::isa<llvm::ReturnInst>(end)) return;
  std::set<BasicBlock*> on, off;
  for (u32 i = 0; i < end->getNumSuccessors(); ++i)
    (graph_.leads(&block, end->getSuccessor(i)) ? on : off).insert(end->getSuccessor(i));
  if (off.empty()) return;
  u16 any = build_.constant(0, 1);
  for (BasicBlock* to : on) any = build_.binary(Op::kOr, any, condition_between(&block, to));
  require_where(guards_[&block], any);
}

void Path::require_where(u16 guard, u16 condition) {
  if (guard == kAlways) return require(condition, true);
  const u16 either = build_.binary(Op::kOr, build_.inverse(guard), condition);
  if (!build_.is_constant(either, 1)) iteration_.conditions.push_back(either);
}

// The terminator's choice of this edge.
u16 Path::condition_between(BasicBlock* from, BasicBlock* to) {
  auto* end = from->getTerminator();
  if (auto* branch = llvm::dyn_cast<llvm::BranchInst>(end)) {
    if (!branch->isConditional() || branch->getSuccessor(0) == branch->getSuccessor(1)) return build_.constant(1, 1);
    const u16 condition = node_of(branch->getCondition());
    return branch->getSuccessor(0) == to ? condition : build_.inverse(condition);
  }
  auto* many = llvm::dyn_cast<llvm::SwitchInst>(end);
  if (!many) return fail("a branch of an unknown kind").nodes[0];
  const u16 value = node_of(many->getCondition());
  u16 any = build_.constant(many->getDefaultDest() == to, 1);
  for (const auto& one : many->cases()) {
    const u16 number = build_.constant(one.getCaseValue()->getZExtValue(), build_.at(value).width);
    const u16 same = build_.compare(Op::kEqual, value, number);
    // Of the default's edge, the other cases are taken away.
    if (one.getCaseSuccessor() == to) {
      any = build_.select(same, build_.constant(1, 1), any);
    } else {
      any = build_.select(same, build_.constant(0, 1), any);
    }
  }
  return any;
}

// When control takes this edge, if the iteration ends at the head.
u16 Path::edge_condition(BasicBlock* from, BasicBlock* to) {
  const auto at = guards_.find(to);
  const u16 guard = to && at != guards_.end() && at->second == guards_[from] ? kAlways : guards_[from];
  std::set<BasicBlock*> on;
  auto* end = from->getTerminator();
  for (u32 i = 0; i < end->getNumSuccessors(); ++i)
    if (graph_.leads(from, end->getSuccessor(i))) on.insert(end->getSuccessor(i));
  return on.size() < 2 ? guard : both(guard, condition_between(from, to));
}

u16 Path::joined(BasicBlock* at, const std::function<u16(BasicBlock*)>& value) {
  const std::vector<BasicBlock*>& from = graph_.before(at);
  u16 result = value(from.back());
  for (std::size_t i = from.size() - 1; i-- > 0;) {
    const u16 one = value(from[i]);
    if (one == result) continue;
    const u16 when = edge_condition(from[i], at);
    result = when == kAlways ? one : build_.select(when, one, result);
  }
  return result;
}

Path::State Path::joined_state(BasicBlock* at) {
  State result;
  for (BasicBlock* from : graph_.before(at)) {
    for (const auto& [offset, node] : states_[from]) result[offset] = node;
  }
  for (auto& [offset, node] : result) {
    const u64 where = offset;
    node = joined(at, [&](BasicBlock* from) {
      const auto found = states_[from].find(where);
      return found != states_[from].end() ? found->second : part_before(where);
    });
  }
  return result;
}

Parts Path::joined_parts(llvm::PHINode& phi) {
  const std::vector<BasicBlock*>& from = graph_.before(block_);
  Parts result = parts_of(phi.getIncomingValueForBlock(from[0]));
  for (std::size_t i = 0; i < result.nodes.size(); ++i) {
    result.nodes[i] = joined(block_, [&](BasicBlock* one) {
      const Parts parts = parts_of(phi.getIncomingValueForBlock(one));
      return i < parts.nodes.size() ? parts.nodes[i] : fail("a vector where a number is expected").nodes[0];
    });
  }
  return result;
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

Path::Change Path::change_of(u16 node, u16 before) {
  if (node == before) return {build_.constant(0, 1), before};
  const Node chosen = build_.at(node);
  if (chosen.op != Op::kSelect) return {build_.constant(1, 1), node};
  const Change yes = change_of(chosen.b, before), no = change_of(chosen.c, before);
  const u16 when = build_.select(chosen.a, yes.when, no.when);
  if (build_.is_constant(when, 1)) return {when, node};
  const u16 value = build_.is_constant(yes.when, 0)  ? no.value
                    : build_.is_constant(no.when, 0) ? yes.value
                                                     : build_.select(chosen.a, yes.value, no.value);
  return {when, value};
}

// The same with one select between what was before and what is new, if the part stays on some paths.
u16 Path::as_change(u16 node, u16 before) {
  const Change change = change_of(node, before);
  return build_.is_constant(change.when, 1) ? node : build_.select(change.when, change.value, before);
}

Iteration Path::take() {
  for (const auto& [offset, node] : state_) {
    if (offset == kLengthAt) continue;
    u16 changed = node;
    if (const std::optional<u16> before = build_.find(input_at(offset))) {
      const Node after = build_.at(node);
      const bool is_narrow = after.op == Op::kZeroExtend && build_.at(after.a).width == 32;
      changed =
          is_narrow ? build_.extend(as_change(after.a, build_.truncate(*before, 32)), 64) : as_change(node, *before);
      if (changed == *before) continue;
    }
    iteration_.outputs.push_back({static_cast<u16>(offset), static_cast<u8>(cell_size(offset)), changed});
  }
  const u16 length = part(kLengthAt);
  if (build_.at(length).op == Op::kConstant) {
    iteration_.words = static_cast<u32>(build_.at(length).value);
  } else {
    iteration_.length = length;
  }
  for (const u16 input : build_.narrowed()) iteration_.narrow.push_back(input);
  return std::move(iteration_);
}

std::optional<u64> Path::widened(const Iteration& iteration) {
  for (const u16 input : iteration.narrow) {
    const u64 offset = iteration.nodes[input].value;
    for (const Output& output : iteration.outputs) {
      const Node& after = iteration.nodes[output.node];
      const bool is_narrow = after.op == Op::kZeroExtend && iteration.nodes[after.a].width <= 32;
      if (output.offset == offset && !is_narrow) return offset;
    }
  }
  return std::nullopt;
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
    values_[&one] = joined_parts(*phi);
    return;
  }
  if (llvm::isa<llvm::GetElementPtrInst>(one)) return;
  if (auto* marker = llvm::dyn_cast<llvm::IntrinsicInst>(&one)) {
    if (marker->isLifetimeStartOrEnd() || marker->getIntrinsicID() == llvm::Intrinsic::assume) return;
    if (marker->getType()->isStructTy()) return;  // its parts are computed where they are taken
  }
  values_[&one] = compute(one);
}

Parts Path::load(llvm::LoadInst& one) {
  const auto offset = state_offset(one.getPointerOperand());
  return offset ? load_state(*offset, one.getType()) : fail("a table");
}

Parts Path::call(llvm::CallInst& one) {
  const llvm::Function* callee = one.getCalledFunction();
  const llvm::StringRef name = callee ? callee->getName() : "";
  const bool is_store = name.starts_with("kvrm_loop_store_");
  if (!is_store && !name.starts_with("kvrm_loop_load_"))
    return fail(name == "kvrm_loop_atomic" ? "an atomic access or a barrier" : "a function of the semantics");
  const auto size = static_cast<u8>(name.back() - '0');
  Access access{is_store,       size, node_of(one.getArgOperand(0)), 0, static_cast<u16>(iteration_.conditions.size()),
                guards_[block_]};
  if (is_store) {
    access.value = node_of(one.getArgOperand(1));
    iteration_.accesses.push_back(access);
    return {{access.value}, 64};
  }
  access.value = build_.add({Op::kLoad, static_cast<u8>(size * 8), 0, 0, 0, iteration_.accesses.size()});
  iteration_.accesses.push_back(access);
  return {{access.value}, size * 8u};
}

std::optional<u64> Path::state_offset(Value* pointer) {
  llvm::APInt offset(64, 0);
  const llvm::DataLayout& layout = function_.getParent()->getDataLayout();
  const Value* base = pointer->stripAndAccumulateConstantOffsets(layout, offset, true);
  if (base != function_.getArg(0)) return std::nullopt;
  return offset.getZExtValue();
}

u16 Path::part(u64 offset) {
  const auto written = state_.find(offset);
  return written != state_.end() ? written->second : part_before(offset);
}

Parts Path::load_state(u64 offset, llvm::Type* type) {
  const u32 cell = cell_size(offset);
  const u64 bytes = type->getPrimitiveSizeInBits().getFixedValue() / 8;
  if (!is_plain(type) || bytes % cell != 0 || offset % cell != 0) return fail("a part of the state's part");
  Parts cells{{}, cell * 8};
  for (u64 at = offset; at < offset + bytes; at += cell) cells.nodes.push_back(part(at));
  return cast_bits(cells, type);
}

void Path::store_state(u64 offset, llvm::Type* type, const Parts& parts) {
  const u32 cell = cell_size(offset);
  const u64 bytes = type->getPrimitiveSizeInBits().getFixedValue() / 8;
  const bool is_rare = offset >= offsetof(Cpu, fpcr) && offset != kLengthAt &&
                       (offset < offsetof(Cpu, q) || offset >= offsetof(Cpu, tpidr_el0));
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
  for (u64 i = 0; i < bytes / cell; ++i) state_[offset + i * cell] = whole.nodes[i];
}

// These leave the loop.
bool has_atomics(llvm::Function& function) {
  return std::ranges::any_of(llvm::instructions(function), [](const llvm::Instruction& one) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&one);
    return call && call->getCalledFunction() && call->getCalledFunction()->getName() == "kvrm_loop_atomic";
  });
}

}  // namespace

std::optional<Iteration> path_to(llvm::Function& function, u64 head, std::string& refusal) {
  const std::optional<LoopGraph> graph = LoopGraph::of(function, head, refusal);
  if (!graph) {
    if (has_atomics(function)) refusal = "an atomic access or a barrier";
    return std::nullopt;
  }
  for (std::set<u64> wide;;) {
    Path path(function, *graph, wide);
    if (!path.walk(head)) {
      refusal = path.refusal();
      return std::nullopt;
    }
    Iteration iteration = path.take();
    const std::optional<u64> widened = Path::widened(iteration);
    if (!widened) return iteration;
    wide.insert(*widened);
  }
}

}  // namespace kvrm::accelerate
