#include "translator/gpu_choice.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <tuple>

#include "interpreter/lane_region.h"
#include "isa/a64_operands.h"
#include "isa/decode.h"

namespace kvrm::translator {
namespace {

constexpr u64 kWordBytes = 4;
constexpr u32 kPartForAWayOut = 4;  // of what a region may hold, one in so many
constexpr u32 kMostWaysIn = 24;  // of a region
constexpr u32 kFewestWords = 8;  // of a region for a way out: a call costs as much as a few instructions
constexpr u32 kLargeShare = 100;  // so many to one, for ways out: there are many of them
constexpr u32 kGoodPart = 4, kAnyPart = 1024;  // one in so many words
constexpr u32 kLookAhead = 32;  // words of a block in which a finding shows that it runs

PlanLimits part(const GpuLimits& limits, u32 of) {
  return {.blocks = limits.blocks / of, .words = limits.words / of, .once = true};
}

PlanLimits joined(const GpuLimits& limits) {
  return {.blocks = limits.blocks * 2, .words = limits.words * 2, .once = true};
}

bool is_cut(const Plan& plan, const PlanLimits& limits) {
  return plan.words >= limits.words || plan.blocks.size() >= limits.blocks;
}

void add_words(const Plan& plan, std::set<u64>& words) {
  for (const PlanBlock& block : plan.blocks) {
    for (u64 i = 0; i < block.words.size(); ++i) words.insert(block.address + i * kWordBytes);
  }
}

bool holds(const PlanBlock& block, u64 address) {
  return address >= block.address && address < block.address + block.words.size() * kWordBytes;
}

// Vectors element by element, and floating point that is not left to the GPU's: microseconds.
bool may_take_long(isa::Row row) {
  using isa::Group;
  switch (const Group group = isa::facts(row).group) {
    case Group::kFloatConditionalSelect:
    case Group::kFloatImmediate:
    case Group::kSimdCopy:
    case Group::kSimdExtract:
    case Group::kSimdModifiedImmediate:
    case Group::kSimdPermute: return false;
    default: return group >= Group::kFloatDataProcessing1Source;  // all that follow are of this kind
  }
}

// Whether the first block can be reached from a block.
bool leads_to_first(const Plan& plan, u32 block) { return reached_from(plan, {block})[0]; }

// The head of the innermost loop around the first word of the plan, none if it is in no loop.
std::optional<u64> loop_around(const Plan& plan) {
  const u64 place = plan.blocks.front().address;
  const std::vector<bool> behind = reached_from(plan, {0});
  std::optional<u64> head;
  for (u32 from = 0; from < plan.blocks.size(); ++from) {
    const PlanBlock& last = plan.blocks[from];
    for (const PlanBlock::Edge& edge : last.edges) {
      if (!edge.block || !behind[from]) continue;
      const bool is_around = edge.target <= place && last.address + last.words.size() * kWordBytes > place;
      if (is_around && (!head || edge.target > *head) && leads_to_first(plan, *edge.block)) head = edge.target;
    }
  }
  return head;
}

}  // namespace

std::vector<GpuChoice::Place> GpuChoice::take_in(std::span<const SharedCode> codes, std::span<const u32> heat,
                                                 u64& all) {
  std::vector<Place> places;
  all = 0;
  const std::size_t words = heat.size() / interpreter::kNotedParts;
  seen_.resize(std::max(seen_.size(), words));
  for (u32 code = 0; code < codes.size(); ++code) {
    for (u32 i = 0; i < codes[code].words.size(); ++i) {
      const u32 entry = codes[code].entry + i;
      if (entry >= words) break;
      const u64 found = u64{heat[entry]} * limits_.ways_out, left = heat[entry + words];
      all += found;
      if (found + left != 0) seen_[entry] = true;
      if (found + left >= u64{limits_.fewest} * limits_.ways_out)
        places.push_back({found + left, code, i, left > found});
    }
  }
  std::ranges::sort(places, [](const Place& a, const Place& b) {
    return std::tie(b.weight, a.code, a.index) < std::tie(a.weight, b.code, b.index);
  });
  mark_far(codes, heat.subspan(2 * words), std::max(u64{limits_.fewest} * limits_.ways_out, all / kLargeShare));
  return places;
}

bool GpuChoice::choose(std::span<const SharedCode> codes, std::span<const u32> heat, bool usual_float) {
  usual_float_ = usual_float;
  grown_ = false;
  ++rounds_;
  u64 all = 0;
  const std::vector<Place> places = take_in(codes, heat, all);
  const std::size_t before = regions_.size();
  for (const Place& place : places) {
    if (regions_.size() >= limits_.regions || regions_.size() >= before + limits_.regions_a_round) break;
    if (place.weight * limits_.smallest_share < all) break;
    if (place.is_way_out && place.weight * kLargeShare >= all) {
      const u64 head = codes[place.code].start + place.index * kWordBytes;
      Plan plan = plan_at(codes[place.code], {&head, 1}, part(limits_, kPartForAWayOut));
      // Where lanes go from one region to another and back, one is better, if they have any code in common.
      if (plan.words >= kFewestWords) make(codes[place.code], place.code, head, std::move(plan), kAnyPart);
    } else if (!place.is_way_out) {
      add(codes[place.code], place.code, place.index);
    }
  }
  return grown_ || regions_.size() > before;
}

void GpuChoice::resume(std::span<const SharedCode> codes, std::span<const u32> heat, std::span<const GpuHead> heads,
                       std::span<const GpuStretch> stretches, bool usual_float) {
  usual_float_ = usual_float;
  u64 all = 0;
  (void)take_in(codes, heat, all);
  std::map<u32, std::vector<GpuHead>> by_region;
  for (const GpuHead& head : heads) {
    if (head.code >= codes.size()) continue;
    const SharedCode& code = codes[head.code];
    const u64 index = (head.address - code.start) / kWordBytes;
    if (index < code.words.size() && head.address % kWordBytes == 0) by_region[head.region].push_back(head);
  }
  std::map<u32, std::vector<GpuStretch>> held;
  for (const GpuStretch& stretch : stretches) held[stretch.region].push_back(stretch);
  for (auto& [number, known] : by_region) {
    const u32 code = known.front().code;
    std::ranges::sort(known, {}, &GpuHead::way_in);
    std::vector<u64> ways_in;
    for (const GpuHead& head : known) {
      if (head.code == code && !known_.contains({code, head.address})) ways_in.push_back(head.address);
    }
    std::set<u64> within;
    const u32 last = codes[code].entry + static_cast<u32>(codes[code].words.size());
    for (const GpuStretch& stretch : held[number]) {
      for (u32 word = std::max(stretch.first, codes[code].entry); word < std::min(stretch.end, last); ++word)
        within.insert(codes[code].start + (word - codes[code].entry) * kWordBytes);
    }
    Plan plan = ways_in.empty() ? Plan() : plan_at(codes[code], ways_in, joined(limits_), &within);
    if (plan.blocks.empty()) continue;
    const u32 region = static_cast<u32>(regions_.size());
    for (u32 i = 0; i < ways_in.size(); ++i) {
      const u32 entry = codes[code].entry + static_cast<u32>((ways_in[i] - codes[code].start) / kWordBytes);
      known_.emplace(Where{code, ways_in[i]}, region);
      heads_.push_back({ways_in[i], code, entry, 0, 0, region, i, 0});
    }
    regions_.push_back({});
    put(region, codes[code], code, std::move(plan));
  }
}

// Where lanes leave regions so often, the access is worth a call that looks farther.
void GpuChoice::mark_far(std::span<const SharedCode> codes, std::span<const u32> missed, u64 least) {
  std::map<u32, u32> again;  // regions, and the code they are of
  for (u32 number = 0; number < codes.size(); ++number) {
    const SharedCode& code = codes[number];
    for (u32 i = 0; i < code.words.size() && code.entry + i < missed.size(); ++i) {
      if (missed[code.entry + i] < least || missed[code.entry + i] == 0) continue;
      if (isa::facts(isa::decode(code.words[i])).routing != isa::Class::kLoadStore) continue;
      const Where where{number, code.start + i * kWordBytes};
      const auto held = covered_.find(where);
      if (far_.insert(where).second && held != covered_.end()) again[held->second.region] = number;
    }
  }
  for (const auto& [region, number] : again) {
    put(region, codes[number], number, Plan(regions_[region].plan));
    grown_ = true;
  }
}

std::vector<GpuStretch> GpuChoice::stretches() const {
  std::vector<GpuStretch> stretches;
  for (const GpuHead& head : heads_) {
    if (head.way_in != 0) continue;
    const u64 start = head.address - (head.entry * kWordBytes);
    for (const PlanBlock& block : regions_[head.region].plan.blocks) {
      const u32 first = static_cast<u32>((block.address - start) / kWordBytes);
      stretches.push_back({head.region, first, first + static_cast<u32>(block.words.size())});
    }
  }
  return stretches;
}

// All that its code leads to. Where that is too much, or a good part of it in other regions, what the region holds, and
// more.
Plan GpuChoice::joined_plan(const SharedCode& code, u32 number, std::span<const u64> heads, u32 region,
                            const Plan& more) const {
  const PlanLimits limits = joined(limits_);
  Plan plan = plan_at(code, heads, limits);
  const u32 least = std::max(regions_[region].plan.words, more.words);  // what lies behind a part that was cut is lost
  if (!is_cut(plan, limits) && plan.words >= least && in_others(number, plan, region) * kGoodPart < plan.words)
    return plan;
  std::set<u64> within;
  for (const Plan* part : {&regions_[region].plan, &more}) add_words(*part, within);
  return plan_at(code, heads, limits, &within);
}

Plan GpuChoice::plan_at(const SharedCode& code, std::span<const u64> heads, const PlanLimits& limits,
                        const std::set<u64>* within) const {
  CodeView view;
  view.word = [&](u64 address) -> std::optional<u32> {
    const u64 at = (address - code.start) / kWordBytes;
    if (address < code.start || at >= code.words.size() || (within && !within->contains(address))) return std::nullopt;
    return code.words[at];
  };
  // Code that never ran is left out: no lane was found between here and the next branch.
  view.follow = [&](const Transition& transition) {
    const u64 address = transition.to;
    for (u64 at = (address - code.start) / kWordBytes, i = 0; i < kLookAhead && at < code.words.size(); ++at, ++i) {
      if (seen_[code.entry + at]) return true;
      if (isa::facts(isa::decode(code.words[at])).flow != isa::Flow::kNext) return false;
    }
    return false;
  };
  view.usual_float = usual_float_;
  return make_plan(heads, view, limits);
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
  if (covered != covered_.end() && covered->second.round == rounds_) return;
  // With functions where they are called: what lies in between is a loop then, and returning from one is not.
  const PlanLimits following{.blocks = limits_.blocks, .words = limits_.words, .calls = limits_.calls};
  const Plan around = plan_at(code, {&place, 1}, following);
  if (around.blocks.empty()) return;
  const auto loop = loop_around(around);
  u64 head = loop ? *loop : function_of(code, place);
  if (known_.contains({number, head})) {
    if (grow(code, number, head, place) || covered != covered_.end()) return;
    head = place;
  }
  Plan plan = plan_at(code, {&head, 1}, part(limits_, 1));
  const auto held = [&](const PlanBlock& block) { return holds(block, place); };
  if (std::ranges::none_of(plan.blocks, held)) {
    head = place;
    plan = plan_at(code, {&head, 1}, part(limits_, 1));
  }
  make(code, number, head, std::move(plan), kGoodPart);
}

void GpuChoice::make(const SharedCode& code, u32 number, u64 head, Plan plan, u32 part) {
  if (plan.blocks.empty() || known_.contains({number, head})) return;
  const u32 entry = code.entry + static_cast<u32>((head - code.start) / kWordBytes);
  // The same code twice would be more than a multiprocessor's caches hold.
  if (const auto region = most_alike(number, plan, part)) {
    std::vector<u64> heads = heads_of(*region);
    heads.push_back(head);
    Plan both = heads.size() <= kMostWaysIn ? joined_plan(code, number, heads, *region, plan) : Plan();
    if (!is_cut(both, joined(limits_)) && both.words >= std::max(regions_[*region].plan.words, plan.words)) {
      known_.emplace(Where{number, head}, *region);
      heads_.push_back({head, number, entry, 0, 0, *region, static_cast<u32>(heads.size() - 1), 0});
      put(*region, code, number, std::move(both));
      grown_ = true;
      return;
    }
  }
  const u32 region = static_cast<u32>(regions_.size());
  known_.emplace(Where{number, head}, region);
  heads_.push_back({head, number, entry, 0, 0, region, 0, 0});
  regions_.push_back({});
  put(region, code, number, std::move(plan));
}

// How many of the plan's words regions hold.
std::map<u32, u32> GpuChoice::shared_with(u32 number, const Plan& plan) const {
  std::map<u32, u32> shared;
  for (const PlanBlock& block : plan.blocks) {
    for (u32 i = 0; i < block.words.size(); ++i) {
      const auto held = covered_.find({number, block.address + i * kWordBytes});
      if (held != covered_.end()) ++shared[held->second.region];
    }
  }
  return shared;
}

u32 GpuChoice::in_others(u32 number, const Plan& plan, u32 region) const {
  u32 words = 0;
  for (const auto& [other, shared] : shared_with(number, plan)) words += other != region ? shared : 0;
  return words;
}

// The region that holds most of the plan's words, if that is one in `part` of them.
std::optional<u32> GpuChoice::most_alike(u32 number, const Plan& plan, u32 part) const {
  const std::map<u32, u32> shared = shared_with(number, plan);
  const auto most = std::ranges::max_element(shared, {}, [](const auto& count) { return count.second; });
  return most != shared.end() && most->second * part >= plan.words ? std::optional(most->first) : std::nullopt;
}

// In the order of its ways in.
std::vector<u64> GpuChoice::heads_of(u32 region) const {
  std::vector<u64> heads;
  for (const GpuHead& head : heads_) {
    if (head.region == region) heads.push_back(head.address);
  }
  return heads;
}

// A loop that has a region, and more of whose code has run by now.
bool GpuChoice::grow(const SharedCode& code, u32 number, u64 head, u64 place) {
  const u32 region = known_.at({number, head});
  const std::vector<u64> heads = heads_of(region);
  Plan plan = heads.size() == 1
                  ? plan_at(code, heads, part(limits_, 1))
                  : joined_plan(code, number, heads, region, plan_at(code, {&place, 1}, part(limits_, 1)));
  if (plan.words <= regions_[region].plan.words) return false;
  const auto held = [&](const PlanBlock& block) { return holds(block, place); };
  if (std::ranges::none_of(plan.blocks, held)) return false;
  put(region, code, number, std::move(plan));
  grown_ = true;
  return true;
}

void GpuChoice::put(u32 region, const SharedCode& code, u32 number, Plan plan) {
  if (!regions_[region].plan.blocks.empty())
    std::erase_if(covered_, [&](const auto& word) { return word.second.region == region; });
  std::size_t far = 0;
  for (PlanBlock& block : plan.blocks) {
    block.far.clear();
    for (u32 i = 0; i < block.words.size(); ++i) {
      const Where where{number, block.address + i * kWordBytes};
      covered_[where] = {region, rounds_};
      if (far_.contains(where)) block.far.push_back(i);
    }
    far += block.far.size();
  }
  const bool takes_long = std::ranges::any_of(
      plan.blocks, [](const PlanBlock& block) { return std::ranges::any_of(block.rows, may_take_long); });
  for (GpuHead& head : heads_) {
    if (head.region != region) continue;
    head.from = static_cast<u32>((plan.from() - code.start) / kWordBytes);
    head.until = static_cast<u32>((plan.until() - code.start) / kWordBytes);
    head.most = takes_long ? limits_.at_a_time + plan.words : interpreter::LaneRegion::kNoLimit;
  }
  char name[80];
  std::snprintf(name, sizeof name, "kvrm_region_%u_%llx_%u_%zu_%zu", number, plan.blocks.front().address, plan.words,
                plan.ways_in.size(), far);
  regions_[region] = {std::move(plan), name};
}

}  // namespace kvrm::translator
