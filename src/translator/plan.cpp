#include "translator/plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "isa/a64_operands.h"
#include "semantics/meaning.h"

namespace kvrm::translator {
namespace {

constexpr u64 kWordBytes = 4;

// How many words a direct branch goes.
std::optional<i64> branch_offset(isa::Row row, u32 word) {
  switch (row) {
    case isa::Row::B: return isa::B::decode(word).simm26;
    case isa::Row::BL: return isa::BL::decode(word).simm26;
    case isa::Row::B_cond: return isa::B_cond::decode(word).simm19;
    case isa::Row::CBZ: return isa::CBZ::decode(word).simm19;
    case isa::Row::CBNZ: return isa::CBNZ::decode(word).simm19;
    case isa::Row::TBZ: return isa::TBZ::decode(word).simm14;
    case isa::Row::TBNZ: return isa::TBNZ::decode(word).simm14;
    default: return std::nullopt;
  }
}

constexpr bool is_implemented(isa::Row row) {
  switch (row) {
#define KVRM_IMPLEMENTED_CASE(name) case isa::Row::name:
    KVRM_FOR_EACH_IMPLEMENTED_ROW(KVRM_IMPLEMENTED_CASE)
#undef KVRM_IMPLEMENTED_CASE
    return true;
    default: return false;
  }
}

bool is_barrier(isa::Row row) { return row == isa::Row::DSB || row == isa::Row::DMB || row == isa::Row::ISB; }

// Whether the row reads FPCR and FPSR.
bool is_float(isa::Row row) {
  using isa::Group;
  switch (isa::facts(row).group) {
    case Group::kFloatDataProcessing1Source:
    case Group::kFloatDataProcessing2Source:
    case Group::kFloatDataProcessing3Source:
    case Group::kFloatCompare:
    case Group::kFloatConditionalCompare:
    case Group::kConvertFloatFixed:
    case Group::kConvertFloatInteger:
    case Group::kSimdThreeSameFloat:
    case Group::kSimdThreeSameHalf:
    case Group::kSimdTwoRegisterMiscFloat:
    case Group::kSimdTwoRegisterMiscHalf:
    case Group::kSimdAcrossLanesFloat:
    case Group::kSimdShiftImmediateFloat:
    case Group::kSimdVectorByElementFloat:
    case Group::kSimdScalarThreeSameFloat:
    case Group::kSimdScalarThreeSameHalf:
    case Group::kSimdScalarTwoRegisterMiscFloat:
    case Group::kSimdScalarTwoRegisterMiscHalf:
    case Group::kSimdScalarPairwiseFloat:
    case Group::kSimdScalarShiftImmediateFloat:
    case Group::kSimdScalarByElementFloat: return true;
    default: return false;
  }
}

// The same code reached through different calls is different blocks, so that each return has one target.
struct BlockKey {
  u64 address;
  std::vector<u64> returns;
  auto operator<=>(const BlockKey&) const = default;
};

class Planner {
 public:
  Planner(const CodeView& code, const PlanLimits& limits) : code_(code), limits_(limits) {}

  Plan run(std::span<const u64> entry_pcs) {
    for (const u64 pc : entry_pcs) {
      const auto found = numbers_.find({pc, {}});
      plan_.entry_points.push_back(found != numbers_.end() ? found->second : add_block({pc, {}}));
    }
    for (std::size_t next = 0; next < keys_.size(); ++next) fill(static_cast<u32>(next));
    for (const u32 block : plan_.entry_points) {
      if (plan_.blocks[block].words.empty()) return {};
    }
    for (const Call& call : calls_) add_returns(call);
    if (limits_.once) drop_unreached();
    plan_.dispatches = limits_.once && plan_.entry_points.size() > 1;
    mark_loop_headers();
    return std::move(plan_);
  }

 private:
  // A block calls a function, which returns to `back`.
  struct Call {
    u32 block, function;
    std::optional<u32> back;  // none: the plan leaves it out
  };

  std::optional<u32> block_at(const BlockKey& key, u64 from, isa::Flow flow) {
    const auto found = numbers_.find(key);
    if (found != numbers_.end()) return found->second;
    if (flow == isa::Flow::kCall && !limits_.copy_functions && holds(key.address)) return std::nullopt;
    if (limits_.once) {
      if (const auto part = split_at(key)) return part;
    }
    if (keys_.size() >= limits_.blocks || plan_.words >= limits_.words) return std::nullopt;
    if (!code_.follow({from, key.address, flow}) || !read(key.address)) return std::nullopt;
    return add_block(key);
  }

  // Whether the plan holds the function for another call: it is not copied.
  bool holds(u64 function) const {
    const auto found = numbers_.lower_bound({function, {}});
    return found != numbers_.end() && found->first.address == function;
  }

  // Splits the block that holds the pc there. None if no block does.
  std::optional<u32> split_at(const BlockKey& key) {
    const auto next = numbers_.upper_bound(key);
    if (next == numbers_.begin()) return std::nullopt;
    const u32 number = std::prev(next)->second;
    const u64 index = (key.address - plan_.blocks[number].address) / kWordBytes;
    if (index >= plan_.blocks[number].words.size()) return std::nullopt;
    const u32 part = add_block(key);
    PlanBlock& first = plan_.blocks[number];
    PlanBlock& second = plan_.blocks[part];
    const auto at = static_cast<std::ptrdiff_t>(index);
    second.words.assign(first.words.begin() + at, first.words.end());
    second.rows.assign(first.rows.begin() + at, first.rows.end());
    first.words.resize(index);
    first.rows.resize(index);
    second.edges = std::exchange(first.edges, {{key.address, part}});
    second.has_indirect_branch = std::exchange(first.has_indirect_branch, false);
    for (Call& call : calls_) {
      if (call.block == number) call.block = part;
    }
    rest_[part] = rest_[number];
    rest_[number] = part;
    return part;
  }
  // The block that holds the last word of what fill() made of this one.
  u32 last_part(u32 number) const {
    while (rest_[number] != 0) number = rest_[number];
    return number;
  }

  u32 add_block(const BlockKey& key) {
    const u32 number = static_cast<u32>(keys_.size());
    numbers_.emplace(key, number);
    keys_.push_back(key);
    plan_.blocks.emplace_back().address = key.address;
    rest_.push_back(0);
    return number;
  }

  // The word at an address, if a region may hold it. Traps, the clock and what is no instruction are for the
  // interpreter.
  std::optional<std::pair<u32, isa::Row>> read(u64 address) const {
    const auto word = code_.word(address);
    if (!word) return std::nullopt;
    const isa::Row row = code_.row(*word, address);
    if (row == isa::Row::kNone || !is_implemented(row) || isa::facts(row).flow == isa::Flow::kTrap) return std::nullopt;
    if (row == isa::Row::MRS && semantics::reads_clock(isa::MRS::decode(*word))) return std::nullopt;
    if (code_.default_fp_mode && row == isa::Row::MSR_reg) return std::nullopt;  // it may end the default FP mode
    if (code_.barriers_end && is_barrier(row)) return std::nullopt;
    return std::pair(*word, row);
  }

  // From the word at `address`, the last one that fill() added to this block.
  void add_edge(u32 from, u64 address, isa::Flow flow, u64 target, std::vector<u64> returns) {
    const auto block = block_at({target, std::move(returns)}, address, flow);
    plan_.blocks[last_part(from)].edges.push_back({target, block});
  }

  void fill(u32 number) {
    if (!plan_.blocks[number].words.empty()) return;  // split_at() filled it
    const BlockKey key = keys_[number];
    u64 address = key.address;
    for (;; address += kWordBytes) {
      const bool first = address == key.address;
      const auto instruction = read(address);
      if (!instruction || (plan_.words >= limits_.words && !first) ||
          (!first && numbers_.contains({address, key.returns}))) {
        if (!first) add_edge(number, address - kWordBytes, isa::Flow::kNext, address, key.returns);
        return;
      }
      const auto [word, row] = *instruction;
      plan_.blocks[number].words.push_back(word);
      plan_.blocks[number].rows.push_back(row);
      ++plan_.words;
      plan_.default_fp_mode |= code_.default_fp_mode && is_float(row);
      if (isa::facts(row).flow != isa::Flow::kNext) {
        branch(number, row, word, address, key.returns);
        return;
      }
    }
  }

  // Too deep: the outermost caller is forgotten.
  void push_return(std::vector<u64>& returns, u64 next) const {
    if (limits_.calls != 0) returns.push_back(next);
    if (returns.size() > limits_.calls) returns.erase(returns.begin());
  }

  // Those that the plan holds become edges. The others leave as targets do that were never seen: one exit for all.
  void add_seen_targets(u32 number, u64 address, isa::Flow flow, const std::vector<u64>& returns) {
    const std::vector<u64> seen = code_.targets(address);
    const auto is_here = [&](u64 target) {
      return numbers_.contains({target, returns}) || code_.follow({address, target, flow});
    };
    // Where most leave, the compares would cost more than they save.
    if (2 * std::ranges::count_if(seen, is_here) < std::ranges::ssize(seen)) return;
    for (const u64 target : seen) {
      const std::vector<PlanBlock::Edge>& edges = plan_.blocks[number].edges;
      if (std::ranges::find(edges, target, &PlanBlock::Edge::target) != edges.end()) continue;
      const auto block = block_at({target, returns}, address, flow);
      if (block) plan_.blocks[number].edges.push_back({target, block});
    }
  }

  void branch(u32 number, isa::Row row, u32 word, u64 address, std::vector<u64> returns) {
    const u64 next = address + kWordBytes;
    const isa::Flow flow = isa::facts(row).flow;
    const auto offset = branch_offset(row, word);
    if (!offset) {
      plan_.blocks[number].has_indirect_branch = true;
      if (flow == isa::Flow::kReturn) {
        // Without a known call the code after a return would be its callers': a copy for each function they call.
        if (returns.empty()) return;
        const u64 target = returns.back();
        returns.pop_back();
        add_edge(number, address, flow, target, std::move(returns));
      } else if (!limits_.once) {
        if (flow == isa::Flow::kCall) push_return(returns, next);
        add_seen_targets(number, address, flow, returns);
      }
      return;
    }
    const u64 target = address + static_cast<u64>(*offset) * kWordBytes;
    switch (flow) {
      case isa::Flow::kConditional:
        add_edge(number, address, flow, next, returns);
        if (target != next) add_edge(number, address, flow, target, std::move(returns));
        return;
      case isa::Flow::kCall:
        if (limits_.once) {
          add_edge(number, address, flow, target, {});
          const auto function = plan_.blocks[last_part(number)].edges.back().block;
          const auto back = function ? block_at({next, {}}, address, isa::Flow::kReturn) : std::nullopt;
          if (function) calls_.push_back({last_part(number), *function, back});
          return;
        }
        push_return(returns, next);
        add_edge(number, address, flow, target, std::move(returns));
        return;
      default: add_edge(number, address, flow, target, std::move(returns)); return;
    }
  }

  // Each return of the function may lead to the word after this call.
  void add_returns(const Call& call) {
    if (!call.back) return;
    std::set<u32> seen;
    std::vector<u32> open{call.function};
    while (!open.empty()) {
      const u32 number = open.back();
      open.pop_back();
      if (!seen.insert(number).second) continue;
      PlanBlock& block = plan_.blocks[number];
      const auto inner = std::ranges::find(calls_, number, &Call::block);
      if (inner != calls_.end()) {
        if (inner->back) open.push_back(*inner->back);
      } else if (!block.rows.empty() && isa::facts(block.rows.back()).flow == isa::Flow::kReturn) {
        const PlanBlock::Edge edge{plan_.blocks[*call.back].address, call.back};
        if (std::ranges::find(block.edges, edge.block, &PlanBlock::Edge::block) == block.edges.end())
          block.edges.push_back(edge);
      } else if (!block.has_indirect_branch) {
        for (const PlanBlock::Edge& edge : block.edges) {
          if (edge.block) open.push_back(*edge.block);
        }
      }
    }
  }

  // Drops the code after calls that never return, and what only that code leads to.
  void drop_unreached() {
    const std::vector<bool> found = reached_from(plan_, plan_.entry_points);
    std::vector<std::optional<u32>> numbers(plan_.blocks.size());
    std::vector<PlanBlock> reached;
    plan_.words = 0;
    plan_.default_fp_mode = false;
    for (u32 block = 0; block < plan_.blocks.size(); ++block) {
      if (!found[block]) continue;
      numbers[block] = static_cast<u32>(reached.size());
      reached.push_back(std::move(plan_.blocks[block]));
      plan_.words += static_cast<u32>(reached.back().words.size());
      plan_.default_fp_mode |= code_.default_fp_mode && std::ranges::any_of(reached.back().rows, is_float);
    }
    for (PlanBlock& block : reached) {
      for (PlanBlock::Edge& edge : block.edges) {
        if (edge.block) edge.block = numbers[*edge.block];
      }
    }
    for (u32& block : plan_.entry_points) block = *numbers[block];
    plan_.blocks = std::move(reached);
  }

  // Every cycle of the plan needs a loop header, which checks the budget. Every entry point is one, too.
  void mark_loop_headers() {
    enum class State { kNew, kOpen, kDone };
    std::vector<State> states(plan_.blocks.size(), State::kNew);
    for (const u32 block : plan_.entry_points) {
      plan_.blocks[block].is_loop_header = true;
      if (states[block] == State::kNew) mark_from(block, states);
    }
  }

  template <class State>
  void mark_from(u32 first, std::vector<State>& states) {
    std::vector<std::pair<u32, std::size_t>> path{{first, 0}};
    states[first] = State::kOpen;
    while (!path.empty()) {
      auto& [block, edge] = path.back();
      if (edge == plan_.blocks[block].edges.size()) {
        states[block] = State::kDone;
        path.pop_back();
        continue;
      }
      const auto to = plan_.blocks[block].edges[edge++].block;
      if (!to) continue;
      if (states[*to] == State::kOpen) plan_.blocks[*to].is_loop_header = true;
      if (states[*to] != State::kNew) continue;
      states[*to] = State::kOpen;
      path.emplace_back(*to, 0);
    }
  }

  const CodeView& code_;
  const PlanLimits& limits_;
  std::vector<Call> calls_;
  std::vector<u32> rest_;  // for each block, the block that follows it after a split; 0: none
  std::map<BlockKey, u32> numbers_;
  std::vector<BlockKey> keys_;
  Plan plan_;
};

}  // namespace

u64 Plan::from() const {
  u64 least = ~u64{0};
  for (const PlanBlock& block : blocks) least = std::min(least, block.address);
  return least;
}

u64 Plan::until() const {
  u64 most = 0;
  for (const PlanBlock& block : blocks) most = std::max(most, block.address + block.words.size() * sizeof(u32));
  return most;
}

std::vector<u64> Plan::addresses() const {
  std::set<u64> found;
  for (const PlanBlock& block : blocks) {
    for (u64 i = 0; i < block.words.size(); ++i) found.insert(block.address + i * kWordBytes);
  }
  return {found.begin(), found.end()};
}

std::vector<bool> reached_from(const Plan& plan, std::vector<u32> blocks, std::optional<u32> barred) {
  std::vector<bool> reached(plan.blocks.size());
  while (!blocks.empty()) {
    const u32 block = blocks.back();
    blocks.pop_back();
    if (reached[block] || block == barred) continue;
    reached[block] = true;
    for (const PlanBlock::Edge& edge : plan.blocks[block].edges) {
      if (edge.block) blocks.push_back(*edge.block);
    }
  }
  return reached;
}

Plan make_plan(std::span<const u64> entry_pcs, const CodeView& code, const PlanLimits& limits) {
  return Planner(code, limits).run(entry_pcs);
}
Plan make_plan(u64 pc, const CodeView& code, const PlanLimits& limits) {
  return make_plan(std::span(&pc, 1), code, limits);
}

}  // namespace kvrm::translator
