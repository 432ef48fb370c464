#include "translator/lane_regions.h"

#include <algorithm>
#include <span>

#include "base/device.h"
#include "interpreter/handlers.h"
#include "interpreter/predecode.h"
#include "semantics/float_format.h"

namespace kvrm::translator {
namespace {

using interpreter::Entry;
using memory::kPageSize;

// Bursts are short while there is something to find out, so that hot code is found soon.
constexpr u64 kFirstBurst = u64{1} << 14;
constexpr u64 kLongestBurst = u64{1} << 20;
// Code that changed so often under its regions is left to the interpreter.
constexpr u32 kMostChanges = 16;
// How many times a place must be passed to count as found running once.
constexpr u32 kPasses = 1000;
constexpr u64 kJumpsToNote = 8;
constexpr u32 kMostUnusual = 1000;

// What is found so often is warm: the next run of the program translates it when it is found as often again. A program
// that is run again and again is worth more work than one that is run once.
u32 warm_at(u32 threshold) { return std::max(1u, threshold / 16); }

// Another lane may be writing it.
u32 word_at(const u8* page, u64 address) {
  return sync::load<sync::kRelaxed, sync::kDevice>(reinterpret_cast<const u32*>(page + address % kPageSize));
}

}  // namespace

LaneRegions::LaneRegions(std::shared_ptr<Translator> translator, memory::AddressSpace& space,
                         interpreter::Interpreter& engine)
    : translator_(std::move(translator)), space_(space), engine_(engine), burst_(kFirstBurst) {
  engine_.use_regions(this);
}

LaneRegions::~LaneRegions() {
  engine_.use_regions(nullptr);
  if (!program_ || translator_->settings().threshold == 0) return;
  const u32 enough = warm_at(translator_->settings().threshold);
  WarmPlaces warm;
  for (const auto& [pc, heat] : heats_) {
    if (std::max(heat.findings, heat.passes / kPasses) >= enough) warm.insert(pc);
  }
  translator_->remember(*program_, warm);
}

const u8* LaneRegions::page_at(u64 address) {
  if (address >= memory::kAddressLimit) return nullptr;
  const auto page = space_.code_page(address);
  return page.trap == Trap::kNone ? page.bytes : nullptr;
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

std::optional<Entry> LaneRegions::install(const RegionPointer& region, Entry* place, const Entry& plain) {
  std::vector<const u8*> pages = pages_of(region->source);
  if (pages.empty()) return std::nullopt;
  const Entry entry{region->handler, plain.operands};
  Installed& installed = installed_[region->source.head];
  if (installed.region) released_.push_back(std::move(installed.region));
  installed = {region, place, std::move(pages), plain.run};
  if (translator_->settings().threshold != 0) {
    for (const u64 exit : region->source.exits) probe(exit);
  }
  return entry;
}

Plan LaneRegions::plan_at(u64 pc) {
  const bool all = translator_->settings().threshold == 0;
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
  view.follow = [&](u64 address) { return all || engine_.cache().has_run(address); };
  view.row = [&](u32 word, u64 address) { return engine_.router().row(word, address); };
  view.usual_float = usual_float_;
  view.barriers_end = space_.is_common();
  return make_plan(pc, view, translator_->settings().limits);
}

Entry LaneRegions::entry_for(u64 pc, const u8* page, Entry* place, const Entry& plain) {
  if (!program_) begin_program(pc, page);
  const auto find = [&](bool usual_float) {
    return translator_->find(
        pc, [&](const Source& source) { return source.usual_float == usual_float && !pages_of(source).empty(); });
  };
  // At the start of a program nothing has been inexact yet.
  const bool everything = translator_->settings().threshold == 0;
  RegionPointer region = !everything || usual_float_ ? find(true) : nullptr;
  if (!region) region = find(false);
  if (!region && translator_->settings().threshold != 0) {
    return to_probe_.erase(pc) != 0 ? probing(pc, plain, place) : plain;
  }
  if (!region) {
    const Plan plan = plan_at(pc);
    if (!plan.blocks.empty()) region = translator_->translate(plan, *program_);
  }
  return region ? install(region, place, plain).value_or(plain) : plain;
}

bool LaneRegions::owns(const Entry& entry) {
  return entry.run == &run_probe || std::ranges::any_of(installed_, [&](const auto& installed) {
           return installed.second.region->handler == entry.run;
         });
}

// A program is known by the page it starts in, and by where that is.
void LaneRegions::begin_program(u64 pc, const u8* page) {
  program_ = cache::content_hash(std::as_bytes(std::span(page, kPageSize)), pc);
  warm_before_ = translator_->open(*program_);
}

void LaneRegions::take_finished() {
  for (const RegionPointer& region : translator_->finished(finished_seen_)) {
    put(region);
  }
}

// Where its head is decoded already; otherwise it is found when that happens.
void LaneRegions::put(const RegionPointer& region) {
  Entry* place = engine_.cache().find(region->source.head);
  if (!place || place->run == &interpreter::run_undecoded) return;
  Entry plain = *place;
  const auto installed = installed_.find(region->source.head);
  const auto probed = probes_.find(place);
  if (plain.run == &run_probe && probed != probes_.end()) {
    plain.run = probed->second.real;
  } else if (installed != installed_.end() && installed->second.region->handler == plain.run) {
    plain.run = installed->second.plain;
  }
  if (auto entry = install(region, place, plain)) *place = *entry;
}

// It may only be that nothing was inexact yet. If it stays so, a region that does not care takes its place.
interpreter::Handler LaneRegions::unusual(Entry* place, u64 pc) {
  const auto found = installed_.find(pc);
  if (found == installed_.end()) return place->run = &interpreter::run_undecoded;
  const interpreter::Handler plain = found->second.plain;
  if (++found->second.unusual < kMostUnusual) return plain;
  place->run = plain;
  released_.push_back(std::move(found->second.region));
  installed_.erase(found);
  usual_float_ = false;
  translate(pc, kMostUnusual);
  return plain;
}

u64 LaneRegions::between_bursts(const Cpu& cpu, u64 retired) {
  const u64 pc = cpu.pc;
  unseen_ += retired;
  usual_float_ = cpu.fpcr == 0 && (cpu.fpsr & semantics::kInexact) != 0;
  released_.clear();
  current_ = this;
  engine_.context().jumps_to_note = 0;
  if (translator_->settings().threshold == 0 || !program_) return kLongestBurst;
  take_finished();
  if (installed_.contains(pc)) {
    burst_ = std::min(burst_ * 2, kLongestBurst);
  } else {
    burst_ = kFirstBurst;
    // A system call ends a burst as well; that alone finds nothing out.
    if (unseen_ < kFirstBurst / 2) return burst_;
    unseen_ = 0;
    found_running(pc);
  }
  engine_.context().jumps_to_note = kJumpsToNote;
  return burst_;
}

void LaneRegions::found_running(u64 pc) {
  auto& [times, passes, enough] = heat_of(pc);
  // Asked again now and then: what leads on from there may have run in the meantime.
  if (times > 64 * enough || ++times < enough || (times != enough && times % (8 * enough) != 0)) return;
  translate(pc, times);
}

void LaneRegions::translate(u64 pc, u32 urgency) {
  const auto changes = given_up_.find(pc);
  if (changes != given_up_.end() && changes->second >= kMostChanges) return;
  Plan plan = plan_at(pc);
  if (plan.blocks.empty()) return;
  if (translator_->settings().in_background) {
    translator_->request(std::move(plan), urgency, *program_);
    return;
  }
  const RegionPointer region = translator_->translate(plan, *program_);
  if (region) put(region);
}

void LaneRegions::jumped(u64 pc) {
  if (!installed_.contains(pc)) found_running(pc);
}

LaneRegions::Heat& LaneRegions::heat_of(u64 pc) {
  const auto [place, is_new] = heats_.try_emplace(pc);
  Heat& heat = place->second;
  const u32 threshold = translator_->settings().threshold;
  if (is_new) heat.enough = warm_before_.contains(pc) ? warm_at(threshold) : threshold;
  return heat;
}

Entry LaneRegions::probing(u64 pc, const Entry& plain, const Entry* place) {
  probes_[place] = {plain.run, &heat_of(pc)};
  return {&run_probe, plain.operands};
}

void LaneRegions::probe(u64 pc) {
  if (installed_.contains(pc)) return;
  Entry* place = engine_.cache().find(pc);
  if (!place || place->run == &interpreter::run_undecoded) {
    to_probe_.insert(pc);
  } else if (place->run != &run_probe && !probes_.contains(place)) {
    *place = probing(pc, *place, place);
  }
}

KVRM_HANDLER interpreter::Next LaneRegions::run_probe(Cpu* cpu, const Entry* entry, interpreter::Context* context,
                                                      i64 credit) {
  const interpreter::Handler next = current_->pass(const_cast<Entry*>(entry), interpreter::address_of(*context, entry));
#if KVRM_TAIL_CALLS
  [[clang::musttail]] return next(cpu, entry, context, credit);
#else
  return next(cpu, entry, context, credit);
#endif
}

// Counts, and gives the handler that runs the entry now.
interpreter::Handler LaneRegions::pass(Entry* place, u64 pc) {
  const auto found = probes_.find(place);
  Heat& heat = *found->second.heat;
  if (++heat.passes / kPasses < heat.enough) return found->second.real;
  place->run = found->second.real;
  const interpreter::Handler real = place->run;
  translate(pc, heat.enough);
  // A region that was put in place runs at once.
  return place->run == &run_probe ? real : place->run;
}

template <class Condition>
void LaneRegions::uninstall_if(Condition condition) {
  for (auto at = installed_.begin(); at != installed_.end();) {
    Installed& installed = at->second;
    if (!condition(installed)) {
      ++at;
      continue;
    }
    *installed.place = {&interpreter::run_undecoded, 0};
    released_.push_back(std::move(installed.region));
    at = installed_.erase(at);
  }
}

void LaneRegions::code_written(const u8* page) {
  uninstall_if([&](const Installed& installed) {
    if (std::ranges::find(installed.pages, page) == installed.pages.end()) return false;
    ++given_up_[installed.region->source.head];
    return true;
  });
}

// A region in one page goes with its page, whatever address that has; the others must be looked at again.
void LaneRegions::code_remapped() {
  uninstall_if([](const Installed& installed) { return installed.pages.size() > 1; });
}

void LaneRegions::code_of_others() {
  uninstall_if([&](const Installed& installed) { return pages_of(installed.region->source).empty(); });
}

void LaneRegions::all_forgotten() {
  for (auto& [head, installed] : installed_) released_.push_back(std::move(installed.region));
  installed_.clear();
  probes_.clear();
}

}  // namespace kvrm::translator
