#include "translator/gpu_choice.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <tuple>

#include "isa/a64_operands.h"
#include "isa/decode.h"

namespace kvrm::translator {
namespace {

constexpr u64 kWordBytes = 4;
constexpr u32 kWaysOutPerFinding = 64;  // that cost as much: lanes go on in the interpreter for a while
constexpr u32 kFewestWords = 8;  // of a region for a way out: a call costs as much as a few instructions
constexpr u32 kLargeShare = 100;  // so many to one, for ways out: there are many of them
constexpr u32 kLookAhead = 32;  // words of a block in which a finding shows that it runs

bool holds(const PlanBlock& block, u64 address) {
  return address >= block.address && address < block.address + block.words.size() * kWordBytes;
}

// What is reached from the first block, or from where it is reached.
std::vector<bool> connected(const Plan& plan, bool forward) {
  std::vector<bool> found(plan.blocks.size());
  found[0] = true;
  for (bool more = true; more;) {
    more = false;
    for (u32 from = 0; from < plan.blocks.size(); ++from) {
      for (const PlanBlock::Edge& edge : plan.blocks[from].edges) {
        if (!edge.block) continue;
        const u32 known = forward ? from : *edge.block, next = forward ? *edge.block : from;
        if (found[known] && !found[next]) found[next] = more = true;
      }
    }
  }
  return found;
}

// The head of the innermost loop around the first word of the plan, none if it is in no loop.
std::optional<u64> loop_around(const Plan& plan) {
  const u64 place = plan.blocks.front().address;
  const std::vector<bool> before = connected(plan, false), behind = connected(plan, true);
  std::optional<u64> head;
  for (u32 from = 0; from < plan.blocks.size(); ++from) {
    const PlanBlock& last = plan.blocks[from];
    for (const PlanBlock::Edge& edge : last.edges) {
      if (!edge.block || !behind[from] || !before[*edge.block]) continue;
      const bool is_around = edge.target <= place && last.address + last.words.size() * kWordBytes > place;
      if (is_around && (!head || edge.target > *head)) head = edge.target;
    }
  }
  return head;
}

}  // namespace

bool GpuChoice::choose(std::span<const SharedCode> codes, std::span<const u32> heat, bool usual_float) {
  struct Place {
    u64 weight;
    u32 code, index;
    bool is_way_out;
  };
  std::vector<Place> places;
  u64 all = 0;
  const std::size_t words = heat.size() / 2;
  seen_.resize(std::max(seen_.size(), words));
  for (u32 code = 0; code < codes.size(); ++code) {
    for (u32 i = 0; i < codes[code].words.size(); ++i) {
      const u32 entry = codes[code].entry + i;
      if (entry >= words) break;
      const u64 found = u64{heat[entry]} * kWaysOutPerFinding, left = heat[entry + words];
      all += found;
      if (found + left != 0) seen_[entry] = true;
      if (found + left >= u64{limits_.fewest} * kWaysOutPerFinding)
        places.push_back({found + left, code, i, left > found});
    }
  }
  std::ranges::sort(places, [](const Place& a, const Place& b) {
    return std::tie(b.weight, a.code, a.index) < std::tie(a.weight, b.code, b.index);
  });
  usual_float_ = usual_float;
  grown_ = false;
  ++rounds_;
  const std::size_t before = regions_.size();
  for (const Place& place : places) {
    if (regions_.size() >= limits_.regions || regions_.size() >= before + limits_.regions_a_round) break;
    if (place.weight * limits_.smallest_share < all) break;
    if (place.is_way_out && place.weight * kLargeShare >= all) {
      const u64 head = codes[place.code].start + place.index * kWordBytes;
      Plan plan = plan_at(codes[place.code], head, 4);
      if (plan.words >= kFewestWords) make(codes[place.code], place.code, head, std::move(plan));
    } else if (!place.is_way_out) {
      add(codes[place.code], place.code, place.index);
    }
  }
  return grown_ || regions_.size() > before;
}

Plan GpuChoice::plan_at(const SharedCode& code, u64 head, u32 share) const {
  CodeView view;
  view.word = [&](u64 address) -> std::optional<u32> {
    const u64 at = (address - code.start) / kWordBytes;
    return address >= code.start && at < code.words.size() ? std::optional(code.words[at]) : std::nullopt;
  };
  // Code that never ran is left out: no lane was found between here and the next branch.
  view.follow = [&](u64 address) {
    for (u64 at = (address - code.start) / kWordBytes, i = 0; i < kLookAhead && at < code.words.size(); ++at, ++i) {
      if (seen_[code.entry + at]) return true;
      if (isa::facts(isa::decode(code.words[at])).flow != isa::Flow::kNext) return false;
    }
    return false;
  };
  view.usual_float = usual_float_;
  return make_plan(head, view,
                   {.blocks = limits_.blocks / share, .words = limits_.words / share, .calls = limits_.calls});
}

// The nearest place before this one that code that ran calls.
u64 GpuChoice::function_of(const SharedCode& code, u64 place) const {
  constexpr u64 kFarthest = 1024 * kWordBytes;
  u64 best = 0;
  for (u64 i = 0; i < code.words.size(); ++i) {
    if (isa::decode(code.words[i]) != isa::Row::BL || !seen_[code.entry + i]) continue;
    const auto distance = static_cast<i64>(isa::BL::decode(code.words[i]).simm26);
    const u64 target = code.start + (i + static_cast<u64>(distance)) * kWordBytes;
    if (target <= place && target > best && place - target < kFarthest) best = target;
  }
  return best != 0 ? best : place;
}

void GpuChoice::add(const SharedCode& code, u32 number, u32 index) {
  const u64 place = code.start + index * kWordBytes;
  // What a region of this round holds will run there. In older ones lanes may come from elsewhere, or leave too early.
  const auto covered = covered_.find({number, place});
  if (covered != covered_.end() && covered->second == rounds_) return;
  const Plan around = plan_at(code, place);
  if (around.blocks.empty()) return;
  const auto loop = loop_around(around);
  u64 head = loop ? *loop : function_of(code, place);
  if (known_.contains({number, head})) {
    if (grow(code, number, head, place) || covered != covered_.end()) return;
    head = place;
  }
  Plan plan = head == place ? around : plan_at(code, head);
  const auto held = [&](const PlanBlock& block) { return holds(block, place); };
  if (std::ranges::none_of(plan.blocks, held)) {
    head = place;
    plan = around;
  }
  make(code, number, head, std::move(plan));
}

void GpuChoice::make(const SharedCode& code, u32 number, u64 head, Plan plan) {
  if (plan.blocks.empty() || !known_.emplace(Where{number, head}, regions_.size()).second) return;
  regions_.push_back({});
  heads_.push_back({head, number, code.entry + static_cast<u32>((head - code.start) / kWordBytes)});
  put(static_cast<u32>(regions_.size() - 1), number, head, std::move(plan));
}

// A loop that has a region, and more of whose code has run by now.
bool GpuChoice::grow(const SharedCode& code, u32 number, u64 head, u64 place) {
  const u32 region = known_.at({number, head});
  Plan plan = plan_at(code, head);
  if (plan.words <= regions_[region].plan.words) return false;
  const auto held = [&](const PlanBlock& block) { return holds(block, place); };
  if (std::ranges::none_of(plan.blocks, held)) return false;
  put(region, number, head, std::move(plan));
  grown_ = true;
  return true;
}

void GpuChoice::put(u32 region, u32 number, u64 head, Plan plan) {
  for (const PlanBlock& block : plan.blocks) {
    for (u32 i = 0; i < block.words.size(); ++i) covered_[{number, block.address + i * kWordBytes}] = rounds_;
  }
  char name[64];
  std::snprintf(name, sizeof name, "kvrm_region_%u_%llx_%u", number, head, plan.words);
  regions_[region] = {std::move(plan), name};
}

}  // namespace kvrm::translator
