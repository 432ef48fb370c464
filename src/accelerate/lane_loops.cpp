#include "accelerate/lane_loops.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "accelerate/freestanding/step.h"
#include "accelerate/lane_memory.h"
#include "accelerate/ranking.h"
#include "interpreter/handlers.h"
#include "interpreter/predecode.h"

namespace kvrm::accelerate {
namespace {

using interpreter::Entry;
using memory::kPageSize;

// Without regions, traces of so many instructions are taken after so many others: at first, and while they show loops
// that are not proposed yet.
constexpr u32 kTraceSteps = 32;
constexpr u64 kTracePeriod = u64{1} << 16;
constexpr u64 kLongestBurst = u64{1} << 20;
constexpr std::size_t kMostCandidates = std::size_t{1} << 14;
// Fewer iterations are not worth a step.
constexpr u64 kLeastIterations = 2;
// After so many tries a lane decides whether a loop's steps pay; of each so many it measures one.
constexpr u64 kTries = 256, kMeasured = 8;
// What an instruction of a loop takes at least, in translated code and in the interpreter.
constexpr double kTranslatedSeconds = 1e-10, kInterpreterSeconds = 1.2e-9;

}  // namespace

LaneLoops::LaneLoops(std::shared_ptr<Loops> loops, interpreter::Interpreter& engine, translator::LaneRegions* inner,
                     bool eager)
    : loops_(std::move(loops)), engine_(engine), mmu_(engine.mmu()), inner_(inner), eager_(eager) {
  engine_.use_regions(this);
  engine_.context().bulk_steps = this;
}

LaneLoops::~LaneLoops() {
  report();
  engine_.use_regions(nullptr);
  engine_.context().bulk_steps = nullptr;
}

// --- what is hot ---------------------------------------------------------------------------------------------------

interpreter::Regions::Pace LaneLoops::between_bursts(const Cpu& cpu, u64 retired) {
  cpu_ = &cpu;
  last_head_ = 0;
  propose_hot();
  if (inner_) return inner_->between_bursts(cpu, retired);
  if (tracing_) period_ = std::exchange(shows_more_, false) ? kTracePeriod : std::min(2 * period_, kLongestBurst);
  if (eager_) period_ = 1;
  since_trace_ = tracing_ ? 0 : since_trace_ + retired;
  tracing_ = since_trace_ >= period_;
  if (tracing_) return {kLongestBurst, kTraceSteps};
  return {period_ - since_trace_, 0};
}

void LaneLoops::stepped(u64 from, u64 to) {
  if (inner_) inner_->stepped(from, to);
  ++sampled_;
  if (const auto ends = heads_.find(from); ends != heads_.end() && ends->second != to)
    ++candidates_[ends->second].exits;
  if (!is_branch_back(from, to)) return;
  if (candidates_.size() >= kMostCandidates || heads_.size() >= kMostCandidates) {
    candidates_.clear();
    heads_.clear();
  }
  heads_[from] = to;
  Candidate& candidate = candidates_[to];
  newly_found_ += candidate.samples == 0;
  candidate.branch = from;
  ++candidate.samples;
  shows_more_ |= !candidate.settled;
  if (loops_->ranking() && !candidate.settled) note_registers(to, candidate);
  if (!candidate.settled && is_hot(candidate)) hot_.push_back(to);
}

// A region holds the whole of a nest of loops and loses by a piece that is taken out of it; so beside regions a loop
// has to be longer.
bool LaneLoops::is_hot(const Candidate& candidate) const {
  const u64 samples = inner_ ? 128 : 24, trips = inner_ ? 128 : 8;
  return eager_ || (candidate.samples >= samples && candidate.samples >= trips * candidate.exits);
}

std::optional<LoopCode> LaneLoops::code_at(u64 head, u64 branch) {
  const memory::Mmu::CodePage page = mmu_.code_page(head);
  if (page.trap != Trap::kNone) return std::nullopt;
  LoopCode code{head, std::vector<u32>((branch - head) / 4 + 1)};
  std::memcpy(code.words.data(), page.bytes + head % kPageSize, code.words.size() * sizeof(u32));
  return code;
}

bool LaneLoops::holds(const u8* page, const LoopCode& code) const {
  return std::memcmp(page + code.head % kPageSize, code.words.data(), code.words.size() * sizeof(u32)) == 0;
}

// Two iterations that followed each other.
void LaneLoops::note_registers(u64 head, Candidate& candidate) {
  if (candidate.registers.size() < 2) {
    if (std::exchange(last_head_, head) != head) candidate.registers.clear();
    candidate.registers.push_back(registers_of(*cpu_));
  }
}

// Without a ranking all that are hot; with one the most promising, one at a time.
void LaneLoops::propose_hot() {
  if (!loops_->ranking()) {
    for (const u64 head : hot_) propose(head, candidates_[head]);
    hot_.clear();
    return;
  }
  std::ranges::sort(hot_);
  hot_.erase(std::unique(hot_.begin(), hot_.end()), hot_.end());
  std::erase_if(hot_, [&](u64 head) { return !candidates_.contains(head) || candidates_[head].settled; });
  u64 best_head = 0;
  double best = -1;
  for (const u64 head : hot_) {
    Candidate& candidate = candidates_[head];
    if (candidate.chance < 0) candidate.chance = chance_of(head, candidate);
    const u64 words = (candidate.branch - head) / 4 + 1;
    const double gain = static_cast<double>(candidate.samples * words) * candidate.chance;
    if (gain > best) best = gain, best_head = head;
  }
  if (best < 0) return;
  Candidate& candidate = candidates_[best_head];
  propose(best_head, candidate);
  if (!candidate.code.words.empty()) loops_->add_guess(candidate.chance >= 0.5, proven_.contains(best_head));
}

double LaneLoops::chance_of(u64 head, const Candidate& candidate) {
  const std::optional<LoopCode> code = code_at(head, candidate.branch);
  if (!code) return 0;
  const double begin = now_seconds();
  const auto& registers = candidate.registers;
  const double chance = accelerate::chance_of(loops_->ranking()->guess(
      *code, registers.empty() ? nullptr : &registers[0], registers.size() < 2 ? nullptr : &registers[1]));
  loops_->add_ranked(now_seconds() - begin);
  return chance;
}

void LaneLoops::propose(u64 head, Candidate& candidate) {
  if (candidate.settled || mmu_.is_shared()) return;
  candidate.settled = true;
  const std::optional<LoopCode> code = code_at(head, candidate.branch);
  if (!code) return;
  candidate.code = *code;
  auto loop = loops_->prove(*code);
  if (!loop) return;
  Proven& proven = proven_[head];
  if (proven.slot) {  // other code at the same address
    proven.slot->run = &interpreter::run_undecoded;
    uninstall(proven);
  }
  proven = {};
  proven.code = *code;
  scratch_.resize(std::max<u64>(scratch_.size(), loop->scratch()));
  proven.loop = std::move(loop);
  if (inner_) inner_->leave_loop(head);
  undecode(head);
}

// Decoding it again installs the loop, or what else there is.
void LaneLoops::undecode(u64 head) {
  Entry* const slot = engine_.cache().find(head);
  if (slot) slot->run = &interpreter::run_undecoded;
}

// --- entries -------------------------------------------------------------------------------------------------------

Entry LaneLoops::entry_for(u64 pc, const u8* page, Entry* slot, const Entry& plain) {
  const Entry entry = inner_ ? inner_->entry_for(pc, page, slot, plain) : plain;
  const auto found = proven_.find(pc);
  if (found == proven_.end() || found->second.left_out || !holds(page, found->second.code)) return entry;
  Proven& proven = found->second;
  if (proven.slot && proven.slot != slot) proven.slot->run = &interpreter::run_undecoded;
  uninstall(proven);
  if (const auto other = installed_.find(slot); other != installed_.end()) uninstall(*other->second);
  proven.page = page;
  proven.slot = slot;
  proven.next = entry.run;
  installed_[slot] = &proven;
  // Its words are for one address.
  engine_.cache().bind(page, pc & ~(kPageSize - 1));
  return {&interpreter::run_bulk_step, entry.operands};
}

// Its entry is not there any more, or belongs to something else.
void LaneLoops::uninstall(Proven& proven) {
  if (proven.slot) installed_.erase(proven.slot);
  proven.page = nullptr;
  proven.slot = nullptr;
}

void LaneLoops::uninstall_page(const u8* page) {
  std::vector<Proven*> there;
  for (const auto& [slot, proven] : installed_) {
    if (proven->page == page) there.push_back(proven);
  }
  for (Proven* proven : there) uninstall(*proven);
}

void LaneLoops::code_written(const u8* page) {
  uninstall_page(page);
  if (inner_) inner_->code_written(page);
}

void LaneLoops::code_elsewhere(const u8* page) {
  uninstall_page(page);
  if (inner_) inner_->code_elsewhere(page);
}

void LaneLoops::code_remapped() {
  if (inner_) inner_->code_remapped();
}

void LaneLoops::other_lane_wrote_code() {
  if (inner_) inner_->other_lane_wrote_code();
}

void LaneLoops::all_forgotten() {
  for (auto& [head, proven] : proven_) uninstall(proven);
  if (inner_) inner_->all_forgotten();
}

// --- steps ---------------------------------------------------------------------------------------------------------

interpreter::BulkSteps::Done LaneLoops::step(const Entry* entry, Cpu& cpu, u64 budget) {
  const auto installed = installed_.find(entry);
  if (installed == installed_.end()) return {0, &interpreter::run_undecoded};
  Proven& proven = *installed->second;
  const u64 words = proven.code.words.size();
  const u64 most = budget / words;
  if (most < kLeastIterations) return {0, proven.next};
  const bool measures = ++proven.tries % kMeasured == 0;
  const double begin = measures ? now_seconds() : 0;
  LaneMemory memory(mmu_);
  Step<LaneMemory> step(proven.loop->program(), cpu, memory, scratch_.data());
  const u64 count = step.run(most);
  // A page that was prepared may have moved the code to another frame: then the entry is empty.
  const bool is_there = proven.slot == entry;
  const interpreter::Handler next = is_there ? proven.next : &interpreter::run_undecoded;
  proven.steps += count != 0;
  proven.iterations += count;
  proven.done += count;
  if (measures) {
    proven.seconds += now_seconds() - begin;
    ++proven.measured;
  }
  if (proven.tries >= kTries && is_there) judge(proven);
  return {count * words, next};
}

// Steps that take longer than what they do took before are given up.
void LaneLoops::judge(Proven& proven) {
  const double instruction = inner_ ? kTranslatedSeconds : kInterpreterSeconds;
  const double spent = proven.seconds / static_cast<double>(proven.measured) * static_cast<double>(proven.tries);
  const double saved = static_cast<double>(proven.done * proven.code.words.size()) * instruction;
  proven.tries = proven.measured = proven.done = 0;
  proven.seconds = 0;
  if (!eager_ && saved < spent) leave_out(proven);
}

void LaneLoops::leave_out(Proven& proven) {
  proven.left_out = proven.newly_left_out = true;
  proven.slot->run = proven.next;
  uninstall(proven);
  if (inner_) inner_->return_loop(proven.code.head);
}

void LaneLoops::report() {
  loops_->add_found(std::exchange(newly_found_, 0), std::exchange(sampled_, 0));
  for (auto& [head, candidate] : candidates_) {
    if (candidate.settled) loops_->report(candidate.code, std::exchange(candidate.samples, 0), 0, 0, false);
  }
  for (auto& [head, proven] : proven_) {
    loops_->report(proven.code, 0, std::exchange(proven.steps, 0), std::exchange(proven.iterations, 0),
                   std::exchange(proven.newly_left_out, false));
  }
}

}  // namespace kvrm::accelerate
