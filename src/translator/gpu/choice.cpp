#include "translator/gpu/choice.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <tuple>
#include <utility>

#include "interpreter/freestanding/lane_region.h"
#include "isa/a64_operands.h"
#include "isa/decode.h"

namespace kvrm::translator {
namespace {

constexpr u64 kWordBytes = 4;
constexpr u32 kSideExitPart = 4;  // a region at a side exit may hold one in so many of a region's words
constexpr u32 kMostEntryPoints = 64;  // of a region
constexpr u32 kFewestWords = 8;  // of a region at a side exit: a call costs as much as a few instructions
constexpr u32 kGoodPart = 4, kAnyPart = 1024;  // one in so many words
// An entry into the middle of a region costs each lane that comes by, and a call for an access each lane that runs it:
// worth it where lanes lose more than one instruction in so many.
constexpr u32 kEntryShare = 200, kMissShare = 500;
constexpr u32 kSliceEnds = static_cast<u32>(interpreter::SampleKind::kSliceEnd);
constexpr u32 kSources = static_cast<u32>(interpreter::SampleKind::kSource);
constexpr u32 kMostMissed = 4;  // accesses of which one may have missed
constexpr u32 kLookAhead = 32;  // words of a block: a sample among them shows that it runs

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

// Vectors element by element, and floating point that the GPU's own does not do: microseconds.
bool may_take_long(isa::Row row) {
  using isa::Group;
  switch (const Group group = isa::facts(row).group) {
    case Group::kFloatConditionalSelect:
    case Group::kFloatImmediate:
    case Group::kSimdCopy:
    case Group::kSimdExtract:
    case Group::kSimdModifiedImmediate:
    case Group::kSimdPermute: return false;
    default: return group >= Group::kFloatDataProcessing1Source;  // and all groups after it
  }
}

// Whether the first block can be reached from a block.
bool leads_to_first(const Plan& plan, u32 block) { return reached_from(plan, {block})[0]; }

// The header of the innermost loop around the first word of the plan.
std::optional<u64> loop_around(const Plan& plan) {
  const u64 pc = plan.blocks.front().address;
  const std::vector<bool> reached = reached_from(plan, {0});
  std::optional<u64> header;
  for (u32 from = 0; from < plan.blocks.size(); ++from) {
    const PlanBlock& last = plan.blocks[from];
    for (const PlanBlock::Edge& edge : last.edges) {
      if (!edge.block || !reached[from]) continue;
      const bool is_around = edge.target <= pc && last.address + last.words.size() * kWordBytes > pc;
      if (is_around && (!header || edge.target > *header) && leads_to_first(plan, *edge.block)) header = edge.target;
    }
  }
  return header;
}

}  // namespace

std::vector<GpuChoice::Candidate> GpuChoice::add_samples(std::span<const SharedCode> codes,
                                                         std::span<const u32> samples, u32 slice, u64& all) {
  std::vector<Candidate> candidates;
  u64 interpreted = 0, ends = 0;
  const std::size_t words = samples.size() / interpreter::kSampleKinds;
  seen_.resize(std::max(seen_.size(), words));
  for (u32 code = 0; code < codes.size(); ++code) {
    for (u32 i = 0; i < codes[code].words.size(); ++i) {
      const u32 word = codes[code].first_word + i;
      if (word >= words) break;
      const u64 sampled = u64{samples[word]} * limits_.side_exits, left = samples[word + words];
      interpreted += sampled;
      ends += samples[word + kSliceEnds * words];
      if (sampled + left + samples[word + kSliceEnds * words] != 0) seen_[word] = true;
      if (sampled + left >= u64{limits_.fewest} * limits_.side_exits)
        candidates.push_back({sampled + left, code, i, left > sampled, samples[word + kSources * words]});
    }
  }
  all = std::max(interpreted, ends * slice / interpreter::kSamplePeriod * limits_.side_exits);
  std::ranges::sort(candidates, [](const Candidate& a, const Candidate& b) {
    return std::tie(b.weight, a.code, a.index) < std::tie(a.weight, b.code, b.index);
  });
  mark_l2_lookups(codes, samples.subspan(2 * words, words),
                  std::max(u64{limits_.fewest} * limits_.side_exits, all / kMissShare));
  return candidates;
}

bool GpuChoice::choose(std::span<const SharedCode> codes, std::span<const u32> samples, u32 slice,
                       bool default_fp_mode) {
  default_fp_mode_ = default_fp_mode;
  grown_ = false;
  ++rounds_;
  u64 all = 0;
  const std::vector<Candidate> candidates = add_samples(codes, samples, slice, all);
  leave_new_loops(codes);
  const std::size_t before = regions_.size();
  const u64 most = before + u64{limits_.regions_a_round} * rounds_;
  for (const Candidate& hot : candidates) {
    if (regions_.size() >= limits_.regions || regions_.size() >= most) break;
    if (hot.weight * limits_.smallest_share < all) break;
    const SharedCode& code = codes[hot.code];
    const u64 pc = code.start + hot.index * kWordBytes;
    if (hot.is_side_exit) {
      add_side_exit(code, hot.code, pc, hot.source ? region_entered_at(hot.source - 1) : std::nullopt);
    } else {
      add_sampled(code, hot.code, pc, hot.weight * kEntryShare >= all);
    }
  }
  return grown_ || regions_.size() > before;
}

// --- loops of bulk steps -------------------------------------------------------------------------------------------

std::optional<u64> GpuChoice::loop_head(const SharedCode& code, u64 pc) const {
  const u32 word = code.first_word + static_cast<u32>((pc - code.start) / kWordBytes);
  auto after = loops_.upper_bound(word);
  if (after == loops_.begin() || word >= (--after)->second || after->first < code.first_word) return std::nullopt;
  return code.start + (after->first - code.first_word) * kWordBytes;
}

bool GpuChoice::is_loop(u32 region) const {
  const auto entry = std::ranges::find(entries_, region, &GpuRegionEntry::region);
  return entry != entries_.end() && loops_.contains(entry->word);
}

void GpuChoice::add_loop(const SharedCode& code, u32 index, u64 head) {
  if (region_at_.contains({index, head})) return;
  Plan plan = plan_at(code, {&head, 1}, part(limits_, 1));
  if (plan.blocks.empty()) return;
  const u32 region = static_cast<u32>(regions_.size());
  add_entry(code, index, head, region);
  regions_.push_back({});
  set_plan(region, code, index, std::move(plan));
  grown_ = true;
}

// Regions that hold the word are made again without it.
void GpuChoice::leave_loop(const SharedCode& code, u32 index, u64 head) {
  for (u32 region = static_cast<u32>(regions_.size()); region-- > 0;) {
    const auto has_head = [&](const PlanBlock& block) { return holds(block, head); };
    if (code_of(region) != index || std::ranges::none_of(regions_[region].plan.blocks, has_head)) continue;
    const std::vector<u64> entry_pcs = entry_pcs_of(region);
    remove_region(region);
    for (const u64 pc : entry_pcs) {
      if (!loop_head(code, pc)) add_region(code, index, pc, plan_at(code, {&pc, 1}, part(limits_, 1)), kGoodPart);
    }
    grown_ = true;
  }
  add_loop(code, index, head);
}

void GpuChoice::leave_loops(std::span<const GpuCodeRange> loops) {
  std::map<u32, u32> now;
  for (const GpuCodeRange& loop : loops) {
    now.emplace(loop.first, loop.end);
    if (!loops_.contains(loop.first)) new_loops_.push_back(loop.first);
  }
  loops_ = std::move(now);  // those that are gone have ordinary regions, which others may join
}

// Those of the last round.
void GpuChoice::leave_new_loops(std::span<const SharedCode> codes) {
  for (const u32 head : std::exchange(new_loops_, {})) {
    if (!loops_.contains(head)) continue;
    for (u32 index = 0; index < codes.size(); ++index) {
      const SharedCode& code = codes[index];
      if (head >= code.first_word && head - code.first_word < code.words.size())
        leave_loop(code, index, code.start + (head - code.first_word) * kWordBytes);
    }
  }
}

void GpuChoice::resume(std::span<const SharedCode> codes, std::span<const u32> samples,
                       std::span<const GpuRegionEntry> entries, std::span<const GpuCodeRange> ranges,
                       bool default_fp_mode) {
  default_fp_mode_ = default_fp_mode;
  u64 all = 0;
  (void)add_samples(codes, samples, 0, all);
  std::map<u32, std::vector<GpuRegionEntry>> by_region;
  for (const GpuRegionEntry& entry : entries) {
    if (entry.code >= codes.size()) continue;
    const SharedCode& code = codes[entry.code];
    const u64 at = (entry.pc - code.start) / kWordBytes;
    if (at < code.words.size() && entry.pc % kWordBytes == 0) by_region[entry.region].push_back(entry);
  }
  std::map<u32, std::vector<GpuCodeRange>> held;
  for (const GpuCodeRange& range : ranges) held[range.region].push_back(range);
  for (auto& [region, of_region] : by_region) {
    std::ranges::sort(of_region, {}, &GpuRegionEntry::entry_point);
    resume_region(codes, of_region, held[region]);
  }
}

void GpuChoice::resume_region(std::span<const SharedCode> codes, std::span<const GpuRegionEntry> entries,
                              std::span<const GpuCodeRange> ranges) {
  const u32 index = entries.front().code;
  const SharedCode& code = codes[index];
  std::vector<u64> entry_pcs;
  for (const GpuRegionEntry& entry : entries) {
    if (entry.code == index && !region_at_.contains({index, entry.pc})) entry_pcs.push_back(entry.pc);
  }
  if (entry_pcs.size() > 1) std::erase_if(entry_pcs, [&](u64 pc) { return loop_head(code, pc) == pc; });
  std::set<u64> within;
  const u32 last = code.first_word + static_cast<u32>(code.words.size());
  for (const GpuCodeRange& range : ranges) {
    for (u32 word = std::max(range.first, code.first_word); word < std::min(range.end, last); ++word)
      within.insert(code.start + (word - code.first_word) * kWordBytes);
  }
  Plan plan = entry_pcs.empty() ? Plan() : plan_at(code, entry_pcs, joined(limits_), &within);
  if (plan.blocks.empty()) return;
  const u32 region = static_cast<u32>(regions_.size());
  for (const u64 pc : entry_pcs) add_entry(code, index, pc, region);
  regions_.push_back({});
  set_plan(region, code, index, std::move(plan));
}

// The next entry point of a region.
void GpuChoice::add_entry(const SharedCode& code, u32 index, u64 pc, u32 region) {
  const u32 word = code.first_word + static_cast<u32>((pc - code.start) / kWordBytes);
  const auto entry_point = static_cast<u32>(entry_pcs_of(region).size());
  region_at_.emplace(Site{index, pc}, region);
  entries_.push_back({pc, index, word, 0, 0, region, entry_point, 0});
}

// An access that often leaves its region because it misses the L1 TLB is worth a call that reads the L2 TLB. A region
// is left at the first access of a segment (passes/segments.h), so the ones that follow it may have missed as well.
void GpuChoice::mark_l2_lookups(std::span<const SharedCode> codes, std::span<const u32> missed, u64 least) {
  std::set<Site> often;
  const auto is_access = [](u32 word) { return isa::facts(isa::decode(word)).routing == isa::Class::kLoadStore; };
  for (u32 index = 0; index < codes.size(); ++index) {
    const SharedCode& code = codes[index];
    for (u32 i = 0; i < code.words.size() && code.first_word + i < missed.size(); ++i) {
      const u32 count = missed[code.first_word + i];
      if (count < least || count == 0 || !is_access(code.words[i])) continue;
      for (u32 at = i, accesses = 0; at < code.words.size() && accesses < kMostMissed; ++at) {
        if (is_access(code.words[at])) {
          ++accesses;
          often.insert({index, code.start + at * kWordBytes});
        }
        if (isa::facts(isa::decode(code.words[at])).flow != isa::Flow::kNext) break;
      }
    }
  }
  l2_sites_.insert(often.begin(), often.end());
  for (u32 region = 0; region < regions_.size(); ++region) {
    const u32 index = code_of(region);
    const auto lacks = [&](const PlanBlock& block) {
      const auto first = often.lower_bound({index, block.address});
      const auto end = often.lower_bound({index, block.address + block.words.size() * kWordBytes});
      return std::any_of(first, end, [&](const Site& site) {
        const u32 word = static_cast<u32>((site.second - block.address) / kWordBytes);
        return std::ranges::find(block.l2_lookups, word) == block.l2_lookups.end();
      });
    };
    if (std::ranges::none_of(regions_[region].plan.blocks, lacks)) continue;
    set_plan(region, codes[index], index, Plan(regions_[region].plan));
    grown_ = true;
  }
}

std::vector<GpuCodeRange> GpuChoice::ranges() const {
  std::vector<GpuCodeRange> ranges;
  for (const GpuRegionEntry& entry : entries_) {
    if (entry.entry_point != 0) continue;
    const u64 start = entry.pc - (entry.word * kWordBytes);
    for (const PlanBlock& block : regions_[entry.region].plan.blocks) {
      const u32 first = static_cast<u32>((block.address - start) / kWordBytes);
      ranges.push_back({entry.region, first, first + static_cast<u32>(block.words.size())});
    }
  }
  return ranges;
}

// Everything that the entries lead to. Where that is too much, or much of it is in other regions: what the region holds
// and `more`.
Plan GpuChoice::joined_plan(const SharedCode& code, u32 index, std::span<const u64> entry_pcs, u32 region,
                            const Plan& more) const {
  const PlanLimits limits = joined(limits_);
  Plan plan = plan_at(code, entry_pcs, limits);
  const u32 least = std::max(regions_[region].plan.words, more.words);  // a cut plan may lose code
  if (!is_cut(plan, limits) && plan.words >= least && words_in_others(index, plan, region) * kGoodPart < plan.words)
    return plan;
  std::set<u64> within;
  for (const Plan* part : {&regions_[region].plan, &more}) add_words(*part, within);
  return plan_at(code, entry_pcs, limits, &within);
}

Plan GpuChoice::plan_at(const SharedCode& code, std::span<const u64> entry_pcs, const PlanLimits& limits,
                        const std::set<u64>* within) const {
  CodeView view;
  // A loop of bulk steps has a region for itself.
  const std::optional<u64> own = entry_pcs.size() == 1 ? loop_head(code, entry_pcs.front()) : std::nullopt;
  const bool is_own = own && *own == entry_pcs.front();
  view.word = [&, is_own](u64 address) -> std::optional<u32> {
    const u64 at = (address - code.start) / kWordBytes;
    if (address < code.start || at >= code.words.size() || (within && !within->contains(address))) return std::nullopt;
    if (!loops_.empty()) {
      const std::optional<u64> head = loop_head(code, address);
      if (is_own ? head != own : head == address) return std::nullopt;
    }
    return code.words[at];
  };
  // Code without a sample up to the next branch never ran, and is left out.
  view.follow = [&](const Transition& transition) {
    const u64 address = transition.to;
    for (u64 at = (address - code.start) / kWordBytes, i = 0; i < kLookAhead && at < code.words.size(); ++at, ++i) {
      if (seen_[code.first_word + at]) return true;
      if (isa::facts(isa::decode(code.words[at])).flow != isa::Flow::kNext) return false;
    }
    return false;
  };
  view.default_fp_mode = default_fp_mode_;
  return make_plan(entry_pcs, view, limits);
}

// The nearest call target before a pc, among calls that ran; the pc itself if there is none.
u64 GpuChoice::function_of(const SharedCode& code, u64 pc) const {
  constexpr u64 kFarthest = 1024 * kWordBytes;
  u64 best = 0;
  for (u64 i = 0; i < code.words.size(); ++i) {
    if (isa::decode(code.words[i]) != isa::Row::BL || !seen_[code.first_word + i]) continue;
    const auto offset = static_cast<i64>(isa::BL::decode(code.words[i]).simm26);
    const u64 target = code.start + (i + static_cast<u64>(offset)) * kWordBytes;
    if (target <= pc && target > best && pc - target < kFarthest) best = target;
  }
  return best != 0 ? best : pc;
}

// The region that holds the code at a pc.
std::optional<u32> GpuChoice::region_of(u32 index, u64 pc) const {
  if (const auto entered = region_at_.find({index, pc}); entered != region_at_.end()) return entered->second;
  const auto held = covered_.find({index, pc});
  return held != covered_.end() ? std::optional(held->second.region) : std::nullopt;
}

std::optional<u32> GpuChoice::region_entered_at(u32 word) const {
  const auto entry = std::ranges::find(entries_, word, &GpuRegionEntry::word);
  return entry != entries_.end() ? std::optional(entry->region) : std::nullopt;
}

// Lanes often leave the region `source` for this pc. Control should stay inside one region: the two become one, or the
// code there joins the region it was left from. Where that would be too much, it is a region of its own.
void GpuChoice::add_side_exit(const SharedCode& code, u32 index, u64 pc, std::optional<u32> source) {
  if (const auto head = loop_head(code, pc)) return add_loop(code, index, *head);
  if (!region_at_.contains({index, pc})) {
    if (const auto holder = region_of(index, pc)) {
      if (add_entry_point(code, index, pc, *holder)) return;
    } else if (source && add_entry_point(code, index, pc, *source)) {
      return;
    }
    Plan plan = plan_at(code, {&pc, 1}, part(limits_, kSideExitPart));
    // Lanes that alternate between two regions with common code are better off with one.
    if (plan.words >= kFewestWords) add_region(code, index, pc, std::move(plan), kAnyPart);
  }
  const auto target = region_of(index, pc);
  if (source && target && *source != *target) (void)join(code, index, *source, *target);
}

// The code at this pc becomes part of a region that can be entered there.
bool GpuChoice::add_entry_point(const SharedCode& code, u32 index, u64 pc, u32 region) {
  std::vector<u64> entry_pcs = entry_pcs_of(region);
  if (code_of(region) != index || entry_pcs.size() >= kMostEntryPoints || is_loop(region)) return false;
  entry_pcs.push_back(pc);
  Plan plan = joined_plan(code, index, entry_pcs, region, plan_at(code, {&pc, 1}, part(limits_, kSideExitPart)));
  if (is_cut(plan, joined(limits_)) || plan.words < regions_[region].plan.words) return false;
  add_entry(code, index, pc, region);
  set_plan(region, code, index, std::move(plan));
  return grown_ = true;
}

// Two regions become one, which has the smaller number.
bool GpuChoice::join(const SharedCode& code, u32 index, u32 first, u32 second) {
  const auto [region, gone] = std::minmax(first, second);
  if (code_of(region) != index || code_of(gone) != index || is_loop(region) || is_loop(gone)) return false;
  const Plan &one = regions_[region].plan, &other = regions_[gone].plan;
  const PlanLimits limits = joined(limits_);
  std::vector<u64> entry_pcs = entry_pcs_of(region);
  const std::vector<u64> more = entry_pcs_of(gone);
  if (one.words + other.words > limits.words || one.blocks.size() + other.blocks.size() > limits.blocks ||
      entry_pcs.size() + more.size() > kMostEntryPoints)
    return false;
  entry_pcs.insert(entry_pcs.end(), more.begin(), more.end());
  std::set<u64> within;
  for (const Plan* part : {&one, &other}) add_words(*part, within);
  Plan plan = plan_at(code, entry_pcs, limits, &within);
  if (is_cut(plan, limits) || plan.words < std::max(one.words, other.words)) return false;
  remove_region(gone);
  for (const u64 pc : entry_pcs) {
    if (!region_at_.contains({index, pc})) add_entry(code, index, pc, region);
  }
  set_plan(region, code, index, std::move(plan));
  return grown_ = true;
}

// The last region takes its number.
void GpuChoice::remove_region(u32 region) {
  const u32 last = static_cast<u32>(regions_.size()) - 1;
  std::erase_if(entries_, [&](const GpuRegionEntry& entry) { return entry.region == region; });
  std::erase_if(region_at_, [&](const auto& entry) { return entry.second == region; });
  std::erase_if(covered_, [&](const auto& word) { return word.second.region == region; });
  for (GpuRegionEntry& entry : entries_) entry.region = entry.region == last ? region : entry.region;
  for (auto& [site, number] : region_at_) number = number == last ? region : number;
  for (auto& [site, held] : covered_) held.region = held.region == last ? region : held.region;
  regions_[region] = std::move(regions_[last]);
  regions_.pop_back();
}

// A region for the loop or the function around a hot word.
void GpuChoice::add_sampled(const SharedCode& code, u32 index, u64 pc, bool may_enter) {
  if (const auto head = loop_head(code, pc)) return add_loop(code, index, *head);
  // A region of this round that holds the word will run it. Lanes may bypass older ones, or leave them too early.
  const auto covered = covered_.find({index, pc});
  if (covered != covered_.end() && covered->second.round == rounds_) return;
  const std::optional<u32> holder = covered != covered_.end() ? std::optional(covered->second.region) : std::nullopt;
  // Calls are followed, so that a loop around a call is found and a return is no loop.
  const PlanLimits following{.blocks = limits_.blocks, .words = limits_.words, .calls = limits_.calls};
  const Plan around = plan_at(code, {&pc, 1}, following);
  if (around.blocks.empty()) return;
  const auto loop = loop_around(around);
  u64 entry_pc = loop ? *loop : function_of(code, pc);
  if (region_at_.contains({index, entry_pc})) {
    if (grow(code, index, entry_pc, pc)) return;
    entry_pc = pc;
  }
  // Lanes come to code of a region without passing an entry.
  if (region_at_.contains({index, pc})) return;
  if (holder && (!may_enter || add_entry_point(code, index, pc, *holder))) return;
  Plan plan = plan_at(code, {&entry_pc, 1}, part(limits_, 1));
  const auto held = [&](const PlanBlock& block) { return holds(block, pc); };
  if (std::ranges::none_of(plan.blocks, held)) {
    entry_pc = pc;
    plan = plan_at(code, {&entry_pc, 1}, part(limits_, 1));
  }
  add_region(code, index, entry_pc, std::move(plan), kGoodPart);
}

void GpuChoice::add_region(const SharedCode& code, u32 index, u64 entry_pc, Plan plan, u32 part) {
  if (plan.blocks.empty() || region_at_.contains({index, entry_pc})) return;
  // A multiprocessor's caches do not hold the same code twice.
  if (const auto region = most_overlapping(index, plan, part)) {
    std::vector<u64> entry_pcs = entry_pcs_of(*region);
    entry_pcs.push_back(entry_pc);
    Plan both = entry_pcs.size() <= kMostEntryPoints ? joined_plan(code, index, entry_pcs, *region, plan) : Plan();
    if (!is_cut(both, joined(limits_)) && both.words >= std::max(regions_[*region].plan.words, plan.words)) {
      add_entry(code, index, entry_pc, *region);
      set_plan(*region, code, index, std::move(both));
      grown_ = true;
      return;
    }
  }
  const u32 region = static_cast<u32>(regions_.size());
  add_entry(code, index, entry_pc, region);
  regions_.push_back({});
  set_plan(region, code, index, std::move(plan));
}

// How many of the plan's words each region holds.
std::map<u32, u32> GpuChoice::overlaps_of(u32 index, const Plan& plan) const {
  std::map<u32, u32> shared;
  for (const PlanBlock& block : plan.blocks) {
    for (u32 i = 0; i < block.words.size(); ++i) {
      const auto held = covered_.find({index, block.address + i * kWordBytes});
      if (held != covered_.end()) ++shared[held->second.region];
    }
  }
  return shared;
}

u32 GpuChoice::words_in_others(u32 index, const Plan& plan, u32 region) const {
  u32 words = 0;
  for (const auto& [other, shared] : overlaps_of(index, plan)) words += other != region ? shared : 0;
  return words;
}

// The region that holds most of the plan's words, at least one in `part`.
std::optional<u32> GpuChoice::most_overlapping(u32 index, const Plan& plan, u32 part) const {
  const std::map<u32, u32> shared = overlaps_of(index, plan);
  const auto most = std::ranges::max_element(shared, {}, [](const auto& count) { return count.second; });
  if (most == shared.end() || most->second * part < plan.words || is_loop(most->first)) return std::nullopt;
  return most->first;
}

u32 GpuChoice::code_of(u32 region) const { return std::ranges::find(entries_, region, &GpuRegionEntry::region)->code; }

// In the order of the entry points.
std::vector<u64> GpuChoice::entry_pcs_of(u32 region) const {
  std::vector<u64> entry_pcs;
  for (const GpuRegionEntry& entry : entries_) {
    if (entry.region == region) entry_pcs.push_back(entry.pc);
  }
  return entry_pcs;
}

// Replans a region of which more code has run by now.
bool GpuChoice::grow(const SharedCode& code, u32 index, u64 entry_pc, u64 pc) {
  const u32 region = region_at_.at({index, entry_pc});
  const std::vector<u64> entry_pcs = entry_pcs_of(region);
  Plan plan = entry_pcs.size() == 1
                  ? plan_at(code, entry_pcs, part(limits_, 1))
                  : joined_plan(code, index, entry_pcs, region, plan_at(code, {&pc, 1}, part(limits_, 1)));
  if (plan.words <= regions_[region].plan.words) return false;
  const auto held = [&](const PlanBlock& block) { return holds(block, pc); };
  if (std::ranges::none_of(plan.blocks, held)) return false;
  set_plan(region, code, index, std::move(plan));
  grown_ = true;
  return true;
}

void GpuChoice::set_plan(u32 region, const SharedCode& code, u32 index, Plan plan) {
  if (!regions_[region].plan.blocks.empty())
    std::erase_if(covered_, [&](const auto& word) { return word.second.region == region; });
  std::size_t l2_lookups = 0;
  for (PlanBlock& block : plan.blocks) {
    block.l2_lookups.clear();
    for (u32 i = 0; i < block.words.size(); ++i) {
      const Site site{index, block.address + i * kWordBytes};
      covered_[site] = {region, rounds_};
      if (l2_sites_.contains(site)) block.l2_lookups.push_back(i);
    }
    l2_lookups += block.l2_lookups.size();
  }
  const bool takes_long = std::ranges::any_of(
      plan.blocks, [](const PlanBlock& block) { return std::ranges::any_of(block.rows, may_take_long); });
  for (GpuRegionEntry& entry : entries_) {
    if (entry.region != region) continue;
    entry.from = static_cast<u32>((plan.from() - code.start) / kWordBytes);
    entry.until = static_cast<u32>((plan.until() - code.start) / kWordBytes);
    entry.most = takes_long ? limits_.at_a_time + plan.words : interpreter::LaneRegion::kNoLimit;
  }
  char name[80];
  std::snprintf(name, sizeof name, "kvrm_region_%u_%llx_%u_%zu_%zu", index, plan.blocks.front().address, plan.words,
                plan.entry_points.size(), l2_lookups);
  regions_[region] = {std::move(plan), name};
}

}  // namespace kvrm::translator
