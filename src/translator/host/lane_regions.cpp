#include "translator/host/lane_regions.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/atomics.h"
#include "interpreter/handlers.h"
#include "interpreter/predecode.h"
#include "semantics/float_format.h"

namespace kvrm::translator {
namespace {

using interpreter::Entry;
using memory::kPageSize;

constexpr u64 kLongestBurst = u64{1} << 20;
// Code that changed so often is left to the interpreter.
constexpr u32 kMostChanges = 16;
constexpr u32 kChangesForgotten = 4;  // what a freed region counts
constexpr std::size_t kMostGivenUp = std::size_t{1} << 14;  // entries whose changes are counted
constexpr u32 kMostFpModeMisses = 1000;
constexpr u32 kAllWords = ~0u;
// What an access costs that leaves its region, in instructions, and how much of that shows that a window does not help.
constexpr u64 kFallbackCost = 64, kMostFallbackCost = 20000 * kFallbackCost;
// Regions of up to so many words wait until they are affordable; code in pieces is slower.
constexpr double kGoodWords = 64, kTolerance = 1.25;
// How many candidates are planned at a time.
constexpr std::size_t kCandidates = 8;
// What a block must have cost the interpreter to join a region, as a share of what translating it costs: it will run
// on, and a side exit is expensive.
constexpr double kShareOfCost = 1.0 / 16;
// An entry that has not cost that much itself is not planned.
constexpr double kShareOfCandidate = 1.0 / 4;
// A function becomes part of a region that calls it if at least so many of its calls come from there.
constexpr double kShareOfCalls = 0.5;

// Another lane may be writing it.
u32 word_at(const u8* page, u64 address) {
  return sync::load<sync::kRelaxed, sync::kDevice>(reinterpret_cast<const u32*>(page + address % kPageSize));
}

}  // namespace

LaneRegions::LaneRegions(std::shared_ptr<Translator> translator, interpreter::Interpreter& engine)
    : translator_(std::move(translator)),
      engine_(engine),
      mmu_(engine.mmu()),
      pressure_seen_(translator_->pressure()),
      sampler_(translator_->settings().threshold.has_value()),
      quick_(translator_->quick_pages(), engine.cache(), translator_->settings().everything()) {
  engine_.use_regions(this);
  engine_.context().paused_region = interpreter::Context::kNoAddress;
}

LaneRegions::~LaneRegions() {
  engine_.use_regions(nullptr);
  if (current_ == this) current_ = nullptr;  // the next lane may have the same address
  if (!shared_ || sampler_.is_empty() || !has_regions()) return;
  const std::lock_guard lock(shared_->mutex);
  sampler_.bring_to(shared_->profile);
}

const u8* LaneRegions::page_at(u64 address) {
  if (address >= 0 - kPageSize) return nullptr;  // no region has code where an end would be 2^64
  const auto page = mmu_.code_page(address);
  return page.trap == Trap::kNone ? page.bytes : nullptr;
}

const u8* LaneRegions::page_in_trace(u64 address) {
  const u64 base = address & ~(kPageSize - 1);
  if (traced_.address != base) traced_ = {base, page_at(address)};
  return traced_.bytes;
}

std::vector<const u8*> LaneRegions::pages_of(const Source& source) {
  std::vector<const u8*> pages;
  for (const u64 address : source.pages()) {
    const u8* page = page_at(address);
    if (!page) return {};
    pages.push_back(page);
    const u64 end = address + kPageSize;
    for (const Span& span : source.spans) {
      const u64 span_end = span.address + span.words.size() * 4;
      const u64 from = std::max(address, span.address), to = std::min(end, span_end);
      if (from >= to) continue;
      for (u64 at = from; at < to; at += 4) {
        if (word_at(page, at) != span.words[(at - span.address) / 4]) return {};
      }
    }
  }
  return pages;
}

std::optional<Entry> LaneRegions::install(const RegionPointer& region, Entry* slot, const Entry& plain) {
  if (region->source.uses_window != uses_window_) return std::nullopt;
  std::vector<const u8*> pages = pages_of(region->source);
  if (pages.empty() || is_left_out(region->source.entry_pc) || holds_loop(region->source)) return std::nullopt;
  const Entry entry{region->handler, plain.operands};
  Installed& installed = installed_[region->source.entry_pc];
  if (installed.region) {
    // The same words in another page: that page's entry has no owner any more.
    if (installed.slot != slot) installed.slot->run = &interpreter::run_undecoded;
    release(installed);
  }
  installed = {region, slot, std::move(pages), plain.run};
  handlers_.insert(region->handler);
  return entry;
}

void LaneRegions::release(Installed& installed) {
  handlers_.erase(installed.region->handler);
  released_.push_back(std::move(installed.region));
}

Plan LaneRegions::plan_at(u64 pc, const Follow& follow, const Profile* profile, u32 most_words) {
  u64 last_address = 1;
  const u8* last_page = nullptr;
  CodeView view;
  view.word = [&](u64 address) -> std::optional<u32> {
    const u64 base = address & ~(kPageSize - 1);
    if (base != last_address) {
      last_address = base;
      last_page = page_at(address);
    }
    if (!last_page || address % 4 != 0) return std::nullopt;
    return word_at(last_page, address);
  };
  view.follow = follow;
  if (profile) view.targets = [profile](u64 address) { return profile->targets_of(address); };
  view.row = [&](u32 word, u64 address) { return engine_.router().row(word, address); };
  view.default_fp_mode = default_fp_mode_;
  view.barriers_end = mmu_.is_shared();
  PlanLimits limits = translator_->settings().limits;
  limits.words = std::min(limits.words, most_words);
  Plan plan = make_plan(pc, view, limits);
  plan.uses_window = uses_window_;
  return plan;
}

// Follows what has cost the interpreter enough. A region ends where another one starts.
LaneRegions::Follow LaneRegions::follow_what_pays(const Profile& profile) const {
  const double a_word = translator_->seconds_a_word() / sampler_.seconds_saved();
  const double needed = translator_->settings().threshold ? 1 : kShareOfCost * a_word;
  return [this, &profile, needed](const Transition& transition) {
    if (profile.is_settled(transition.to) || loop_heads_.contains(transition.to)) return false;
    if (static_cast<double>(profile.unpaid(transition.to)) < needed) return false;
    return transition.flow != isa::Flow::kCall ||
           profile.share_of_arrivals(transition.from, transition.to) >= kShareOfCalls;
  };
}

Translator::Matches LaneRegions::matches(bool default_fp_mode) {
  return [this, default_fp_mode](const Source& source) {
    return source.default_fp_mode == default_fp_mode && source.uses_window == uses_window_ && !holds_loop(source) &&
           !pages_of(source).empty();
  };
}

Entry LaneRegions::entry_for(u64 pc, const u8* page, Entry* slot, const Entry& plain) {
  if (!program_) begin_program(pc, page);
  // At the start of a program inexact is not set yet.
  const bool everything = translator_->settings().everything();
  RegionPointer region = !everything || default_fp_mode_ ? translator_->find(pc, matches(true)) : nullptr;
  if (!region) region = translator_->find(pc, matches(false));
  if (!region && everything && has_regions()) {
    const Plan plan = plan_at(pc, [](const Transition&) { return true; }, nullptr, kAllWords);
    if (!plan.blocks.empty()) region = translator_->translate(plan, *program_);
  }
  const interpreter::Handler quick = quick_.handler_for(pc, page);
  const Entry otherwise{quick ? quick : plain.run, plain.operands};
  return region ? install(region, slot, otherwise).value_or(otherwise) : otherwise;
}

// A program is identified by the page it starts in and its address.
void LaneRegions::begin_program(u64 pc, const u8* page) {
  program_ = cache::content_hash(std::as_bytes(std::span(page, kPageSize)), pc);
  shared_ = translator_->open(*program_);
  const std::lock_guard lock(shared_->mutex);
  if (!translator_->settings().threshold && quick_.has_pages()) {
    quick_.expect(shared_->busy_pages);
    left_out_ = shared_->profile.left_out();
  }
  if (shared_->profile.past().runs >= Profile::kEarlyRuns) sampler_.know_program();
}

// What ran while they were compiled is paid for, too.
void LaneRegions::take_finished() {
  const std::vector<RegionPointer> fresh = translator_->finished(finished_seen_);
  if (fresh.empty()) return;
  const std::lock_guard lock(shared_->mutex);
  for (const RegionPointer& region : fresh) {
    put(region);
    if (installed_.contains(region->source.entry_pc))
      shared_->profile.settle(region->source.entry_pc, region->source.addresses());
  }
}

// They are candidates again, a few times: what does not fit is not worth translating over and over, nor is what changes
// all the time.
void LaneRegions::reopen_forgotten() {
  const std::vector<u64> entry_pcs = translator_->forgotten(forgotten_seen_);
  if (entry_pcs.empty() && changed_.empty()) return;
  const std::lock_guard lock(shared_->mutex);
  for (const u64 entry_pc : changed_) shared_->profile.reopen(entry_pc);
  changed_.clear();
  for (const u64 entry_pc : entry_pcs) {
    if (installed_.contains(entry_pc)) continue;
    count_change(entry_pc, kChangesForgotten);
    shared_->profile.reopen(entry_pc);
  }
}

// If the entry is decoded already; otherwise decoding it installs the region.
void LaneRegions::put(const RegionPointer& region) {
  Entry* slot = engine_.cache().find(region->source.entry_pc);
  if (!slot || slot->run == &interpreter::run_undecoded) return;
  Entry plain = *slot;
  const auto installed = installed_.find(region->source.entry_pc);
  if (installed != installed_.end() && installed->second.region->handler == plain.run) {
    plain.run = installed->second.plain;
  }
  if (auto entry = install(region, slot, plain)) *slot = *entry;
}

// Perhaps inexact was just not set yet. If the region misses often, one without the requirement replaces it.
interpreter::Handler LaneRegions::in_other_fp_mode(Entry* slot, u64 pc) {
  const auto found = installed_.find(pc);
  if (found == installed_.end()) return slot->run = &interpreter::run_undecoded;
  const interpreter::Handler plain = found->second.plain;
  if (++found->second.fp_mode_misses < kMostFpModeMisses) return plain;
  slot->run = plain;
  const RegionPointer before = found->second.region;
  release(found->second);
  installed_.erase(found);
  default_fp_mode_ = false;
  if (const RegionPointer region = translator_->find(pc, matches(false))) {
    put(region);
  } else {
    const auto same_code = [&](const Transition& transition) { return before->source.holds(transition.to); };
    Plan plan;
    {
      const std::lock_guard lock(shared_->mutex);
      plan = plan_at(pc, same_code, &shared_->profile, kAllWords);
    }
    translate(std::move(plan), kMostFpModeMisses);
  }
  return plain;
}

// Regions are for the window while there is one. A guest whose accesses mostly leave regions, because of tags or of
// pages that a window cannot show, is faster without.
void LaneRegions::follow_window(u64 retired) {
  const interpreter::Context& context = engine_.context();
  fallback_cost_ -= std::min(fallback_cost_, retired);
  if (uses_window_ && context.step_next) fallback_cost_ += kFallbackCost;
  if (fallback_cost_ > kMostFallbackCost) mmu_.translation().give_up_window(memory::WindowLoss::kFallbacks);
  const bool has_window = context.window != nullptr && mmu_.translation().window() != nullptr;
  if (has_window == uses_window_) return;
  uses_window_ = has_window;
  uninstall_if([](const Installed&) { return true; });
  quick_.use_window(has_window);
}

LaneRegions::Pace LaneRegions::between_bursts(const Cpu& cpu, u64 retired) {
  default_fp_mode_ = cpu.fpcr == 0 && (cpu.fpsr & semantics::kInexact) != 0;
  if (const u64 pressure = translator_->pressure(); pressure != pressure_seen_) {
    pressure_seen_ = pressure;
    uninstall_if([](const Installed&) { return true; });
  }
  follow_window(retired);
  released_.clear();
  if (std::exchange(current_, this) != this || sampler_.has_moved()) sampler_.restart_clock();
  const u64 paused = std::exchange(engine_.context().paused_region, interpreter::Context::kNoAddress);
  if (translator_->settings().everything() || !program_) {
    changed_.clear();
    return {kLongestBurst, 0};
  }
  take_finished();
  reopen_forgotten();
  if (sampler_.is_tracing()) {
    end_trace();
  } else {
    sampler_.ran(retired);
  }
  if (!sampler_.is_due()) return {sampler_.due_in(), 0};
  const auto inside = installed_.find(paused);
  traced_.address = kNoPage;
  const u32 steps = sampler_.begin_trace(inside == installed_.end() ? nullptr : inside->second.region.get());
  return {kLongestBurst, steps};
}

isa::Flow LaneRegions::flow_at(u64 address) {
  const u8* page = page_in_trace(address);
  return page ? isa::facts(isa::decode(word_at(page, address))).flow : isa::Flow::kTrap;
}

void LaneRegions::stepped(u64 from, u64 to) {
  bool leaves = false;
  if (sampler_.inside() && !sampler_.inside()->source.holds(from)) {
    sampler_.leave_region();
    leaves = true;
  }
  if (!sampler_.inside()) {
    const auto found = installed_.find(from);
    if (found != installed_.end()) {
      sampler_.enter_region(found->second.region.get());
      visits_.enter(from);
    }
  }
  if (sampler_.inside()) {
    visits_.step(sampler_.inside()->source.entry_pc);
    sampler_.step_in_region();
  } else {
    TraceStep step{from, to, flow_at(from), leaves};
    step.enters_region = step.is_taken() && installed_.contains(to);
    sampler_.step(step);
  }
}

void LaneRegions::end_trace() {
  const u32 quick = quick_steps();
  const Translator::Run run = sampler_.end_trace(quick);
  quick_.earn(run.seconds);
  translator_->ran(*shared_, run);
  take_trace_to_quick();
  if (has_regions()) {
    leave_short_visits();
    link_stored();
  }
  if (sampler_.is_full()) consider();
}

u32 LaneRegions::quick_steps() {
  u32 count = 0;
  for (const TraceStep& step : sampler_.trace()) {
    const u8* page = page_in_trace(step.from);
    count += page && quick_.has_code(step.from, page);
  }
  return count;
}

// What was interpreted in the last trace; the quick tier's code counts for regions only.
void LaneRegions::take_trace_to_quick() {
  for (const TraceStep& step : sampler_.last_trace()) {
    if (const u8* page = page_in_trace(step.from)) quick_.interpreted(step.from, page, sampler_.last_weight());
  }
  quick_.consider(sampler_.seconds_interpreting(), [&](const Entry& entry) {
    return handlers_.contains(entry.run) || entry.run == &interpreter::run_bulk_step;
  });
}

void LaneRegions::leave_short_visits() {
  for (const u64 entry_pc : visits_.take_short()) {
    const u8* page = page_in_trace(entry_pc);
    // The interpreter is slower than any region.
    if (translator_->settings().threshold || !page || !quick_.has_code(entry_pc, page)) continue;
    if (left_out_.size() >= Profile::kMostLeftOut) left_out_.clear();
    left_out_.insert(entry_pc);
    uninstall_if([&](const Installed& installed) { return installed.region->source.entry_pc == entry_pc; });
    const std::lock_guard lock(shared_->mutex);
    shared_->profile.leave_out(entry_pc);
  }
}

// A region that exists already, linked or on disk.
RegionPointer LaneRegions::find_region(u64 entry_pc) {
  for (const bool default_fp_mode : {true, false}) {
    RegionPointer region = translator_->find(entry_pc, matches(default_fp_mode));
    if (!region) region = translator_->find_stored(entry_pc, matches(default_fp_mode));
    if (region) return region;
  }
  return nullptr;
}

void LaneRegions::link_stored() {
  bool linked = false;
  for (const TraceStep& step : sampler_.last_trace()) {
    if ((!step.is_taken() && !step.leaves_region) || step.enters_region) continue;
    const u64 entry_pc = step.leaves_region ? step.from : step.to;
    if (installed_.contains(entry_pc) || is_left_out(entry_pc)) continue;
    const RegionPointer region = find_region(entry_pc);
    if (!region) continue;
    put(region);
    const std::lock_guard lock(shared_->mutex);
    shared_->profile.settle(entry_pc, region->source.addresses());
    linked = true;
  }
  if (linked) sampler_.restart_clock();
}

void LaneRegions::consider() {
  if (has_regions()) {
    for (auto& [plan, urgency] : choose()) translate(std::move(plan), urgency);
  } else {
    sampler_.drop_traces();
  }
  sampler_.restart_clock();
}

std::vector<LaneRegions::Chosen> LaneRegions::choose() {
  const std::unique_lock lock(shared_->mutex, std::try_to_lock);
  if (!lock) return {};  // another lane holds the profile; later
  Profile& profile = shared_->profile;
  sampler_.bring_to(profile);
  const Settings& settings = translator_->settings();
  const double word = translator_->seconds_a_word(), instruction = sampler_.seconds_saved();
  const double least = settings.threshold ? 0 : kShareOfCandidate * word / instruction;
  const Follow follow = follow_what_pays(profile);
  double left = translator_->seconds_left(*shared_);
  std::vector<Chosen> chosen;
  for (const Profile::Candidate& candidate : profile.candidates(kCandidates, static_cast<u64>(least))) {
    if (settings.threshold && candidate.samples < *settings.threshold) continue;
    if (candidate.settled && installed_.contains(candidate.pc)) continue;
    if (is_left_out(candidate.pc)) {
      profile.set_aside(candidate.pc);
      continue;
    }
    const double affordable = settings.threshold ? kAllWords : left / word;
    const double most = std::clamp<double>(affordable, kGoodWords, kAllWords);
    Plan plan = plan_at(candidate.pc, follow, &profile, static_cast<u32>(most));
    if (plan.blocks.empty()) {  // an SVC, or a page that is gone
      profile.settle(candidate.pc, {});
      continue;
    }
    if (!settings.threshold && quick_.has_pages() &&
        profile.executions(plan) < Visits::kWorthwhile * profile.visits(plan)) {
      profile.set_aside(candidate.pc);
      continue;
    }
    const double cost = plan.words * word;
    const double gain = static_cast<double>(profile.unpaid(plan)) * instruction;
    if (!settings.threshold && gain < cost) {
      profile.set_aside(candidate.pc);
      continue;
    }
    if (plan.words > affordable * kTolerance) break;  // it will be affordable
    profile.settle(candidate.pc, plan.addresses());
    left -= cost;
    chosen.push_back({std::move(plan), gain / (cost + 1e-9)});
  }
  return chosen;
}

void LaneRegions::translate(Plan plan, double urgency) {
  if (plan.blocks.empty()) return;
  const auto changes = given_up_.find(plan.blocks.front().address);
  if (changes != given_up_.end() && changes->second >= kMostChanges) return;
  if (translator_->settings().in_background) {
    translator_->request(std::move(plan), urgency, *program_);
    return;
  }
  const RegionPointer region = translator_->translate(plan, *program_);
  if (region) put(region);
}

template <class Condition>
void LaneRegions::uninstall_if(Condition condition) {
  for (auto at = installed_.begin(); at != installed_.end();) {
    Installed& installed = at->second;
    if (!condition(installed)) {
      ++at;
      continue;
    }
    installed.slot->run = &interpreter::run_undecoded;  // quick code may still need the operands
    release(installed);
    at = installed_.erase(at);
  }
}

bool LaneRegions::holds_loop(const Source& source) const {
  return std::ranges::any_of(loop_heads_, [&](u64 head) { return source.holds(head); });
}

void LaneRegions::leave_loop(u64 head) {
  loop_heads_.insert(head);
  uninstall_if([&](const Installed& installed) { return installed.region->source.holds(head); });
}

void LaneRegions::count_change(u64 entry_pc, u32 count) {
  if (given_up_.size() >= kMostGivenUp) given_up_.clear();
  given_up_[entry_pc] += count;
}

void LaneRegions::code_elsewhere(const u8* page) { code_written(page); }

void LaneRegions::code_written(const u8* page) {
  traced_.address = kNoPage;
  uninstall_if([&](const Installed& installed) {
    if (std::ranges::find(installed.pages, page) == installed.pages.end()) return false;
    count_change(installed.region->source.entry_pc, 1);
    changed_.push_back(installed.region->source.entry_pc);
    return true;
  });
  quick_.forget(page);  // what the regions replaced was its code
}

// A region in one page goes with that page at any address; the others must be checked again.
void LaneRegions::code_remapped() {
  traced_.address = kNoPage;
  uninstall_if([](const Installed& installed) { return installed.pages.size() > 1; });
}

void LaneRegions::other_lane_wrote_code() {
  traced_.address = kNoPage;
  uninstall_if([&](const Installed& installed) { return pages_of(installed.region->source).empty(); });
}

void LaneRegions::all_forgotten() {
  traced_.address = kNoPage;
  for (auto& [entry_pc, installed] : installed_) release(installed);
  installed_.clear();
  quick_.forget_all();
}

}  // namespace kvrm::translator
