#include "accelerate/lane_loops.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "accelerate/freestanding/step.h"
#include "accelerate/lane_memory.h"
#include "accelerate/ranking.h"
#include "interpreter/handlers.h"
#include "interpreter/predecode.h"
#include "translator/host/thread_clock.h"

namespace kvrm::accelerate {
namespace {

using interpreter::Entry;
using memory::kPageSize;

// Without regions, traces of so many instructions are taken after so many others: at first, and while they show loops
// that are not proposed yet.
constexpr u32 kTraceSteps = 32;
constexpr u64 kTracePeriod = u64{1} << 16;
constexpr u64 kClockPeriod = u64{1} << 20;
constexpr u64 kLongestBurst = u64{1} << 20;
constexpr std::size_t kMostCandidates = std::size_t{1} << 14;
// Fewer iterations are not worth a step.
constexpr u64 kLeastIterations = 2;
// After so many tries a lane decides whether a loop's steps pay; of each so many it measures one.
constexpr u64 kTries = 256, kMeasured = 8;
// What an instruction of a loop takes at least, in translated code and in the interpreter.
constexpr double kTranslatedSeconds = 1e-10, kInterpreterSeconds = 1.2e-9;
// Beside the time that the interpreter would have taken, a step takes less.
constexpr double kMostSeconds = 5e-6;
// What a region loses where it ends at the loop and begins again after it.
constexpr double kExitSeconds = 5e-8;
// Beside regions a column has to save so many words: it costs as much as one or two.
constexpr double kWordsAColumn = 4;

}  // namespace

LaneLoops::LaneLoops(std::shared_ptr<Loops> loops, interpreter::Interpreter& engine, translator::LaneRegions* inner,
                     bool eager)
    : loops_(std::move(loops)),
      engine_(engine),
      mmu_(engine.mmu()),
      inner_(inner),
      eager_(eager),
      clock_(translator::thread_seconds()),
      thread_(std::this_thread::get_id()) {
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
  since_clock_ += retired;
  if (!hot_.empty() && (since_clock_ >= kClockPeriod || loops_->proves_at_once())) propose_hot();
  if (!waiting_.empty()) take_answers();
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
    hot_.clear();
  }
  heads_[from] = to;
  Candidate& candidate = candidates_[to];
  newly_found_ += candidate.samples == 0;
  candidate.branch = from;
  ++candidate.samples;
  shows_more_ |= !candidate.proposed;
  if (loops_->ranking() && !candidate.is_hot) note_registers(to, candidate);
  if (candidate.is_hot || !is_hot(candidate)) return;
  candidate.is_hot = true;
  hot_.push_back(to);
}

// A region holds the whole of a nest of loops and loses by a piece that is taken out of it; so beside regions a loop
// has to be longer, and there have to be enough samples to tell.
bool LaneLoops::is_hot(const Candidate& candidate) const {
  const bool at_once = loops_->proves_at_once();
  const u64 samples = !inner_ ? 24 : at_once ? 128 : 1024, trips = !inner_ ? 8 : at_once ? 256 : 512;
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

// Those that were hot first, or that are the most promising, come first, as far as there is time for proofs.
void LaneLoops::propose_hot() {
  const double now = translator::thread_seconds();
  const bool is_same_thread = std::exchange(thread_, std::this_thread::get_id()) == std::this_thread::get_id();
  double run = is_same_thread ? now - clock_ : 0;
  clock_ = now;
  since_clock_ = 0;
  while (!hot_.empty() && loops_->grants(std::exchange(run, 0))) {
    const auto next = loops_->ranking() ? most_promising() : hot_.begin();
    const u64 head = *next;
    hot_.erase(next);
    propose(head, candidates_[head]);
  }
}

// Of those that are hot, by the instructions that a proof is expected to save.
std::vector<u64>::iterator LaneLoops::most_promising() {
  for (const u64 head : hot_) {
    Candidate& candidate = candidates_[head];
    if (candidate.chance < 0) candidate.chance = chance_of(head, candidate);
  }
  const auto gain = [&](u64 head) {
    const Candidate& candidate = candidates_[head];
    const u64 words = (candidate.branch - head) / 4 + 1;
    return static_cast<double>(candidate.samples * words) * candidate.chance;
  };
  return std::ranges::max_element(hot_, {}, gain);
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

bool LaneLoops::has_company() const {
  return mmu_.is_shared() || (!eager_ && mmu_.translation().is_written_elsewhere());
}

void LaneLoops::propose(u64 head, Candidate& candidate) {
  if (candidate.proposed || has_company()) return;
  candidate.proposed = true;
  const std::optional<LoopCode> code = code_at(head, candidate.branch);
  if (!code) return;
  candidate.code = *code;
  if (auto loop = loops_->ask(*code)) return settle(*code, std::move(*loop));
  waiting_.push_back(*code);
}

void LaneLoops::take_answers() {
  if (const u64 answers = loops_->answers(); std::exchange(answers_seen_, answers) == answers) return;
  std::vector<LoopCode> waiting;
  for (LoopCode& code : std::exchange(waiting_, {})) {
    if (auto loop = loops_->ask(code)) {
      settle(code, std::move(*loop));
    } else {
      waiting.push_back(std::move(code));
    }
  }
  waiting_ = std::move(waiting);
}

// Beside regions only what is known to be several times as fast: taking a loop out of its regions costs them.
bool LaneLoops::may_pay(const ProvenLoop& loop) const {
  return eager_ || !inner_ || loop.work() * kWordsAColumn <= static_cast<double>(loop.program().words);
}

void LaneLoops::settle(const LoopCode& code, std::shared_ptr<const ProvenLoop> loop) {
  if (const auto found = candidates_.find(code.head); found != candidates_.end() && found->second.chance >= 0)
    loops_->add_guess(found->second.chance >= 0.5, loop != nullptr);
  if (!loop || !may_pay(*loop)) return;
  Proven& proven = proven_[code.head];
  if (proven.slot) {  // other code at the same address
    proven.slot->run = &interpreter::run_undecoded;
    uninstall(proven);
  }
  proven = {};
  proven.code = code;
  scratch_.resize(std::max<u64>(scratch_.size(), loop->scratch()));
  proven.loop = std::move(loop);
  if (inner_) inner_->leave_loop(code.head);
  undecode(code.head);
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
  const u64 most = budget / proven.code.words.size();
  if (most < kLeastIterations || has_company()) return {0, proven.next};
  const bool measures = ++proven.tries % kMeasured == 0;
  const double begin = measures ? now_seconds() : 0;
  LaneMemory memory(mmu_);
  Step<LaneMemory> step(proven.loop->program(), cpu, memory, scratch_.data());
  const u64 count = step.run(most);
  // A page that was prepared may have moved the code to another frame: then the entry is empty.
  const bool is_there = proven.slot == entry;
  const interpreter::Handler next = is_there ? proven.next : &interpreter::run_undecoded;
  proven.news.steps += count != 0;
  proven.news.iterations += count;
  proven.news.instructions += step.instructions();
  proven.done += step.instructions();
  if (measures) {
    // A lane that had to wait for a processor took no longer than this.
    const double longest = kMostSeconds + static_cast<double>(step.instructions()) * kInterpreterSeconds;
    proven.seconds += std::min(now_seconds() - begin, longest);
    ++proven.measured;
  }
  if (proven.tries >= kTries && is_there) judge(proven);
  return {step.instructions(), next};
}

// Steps that take longer than what they do took before are given up.
void LaneLoops::judge(Proven& proven) {
  const double instruction = inner_ ? kTranslatedSeconds : kInterpreterSeconds;
  const double spent = (proven.seconds / static_cast<double>(proven.measured) + (inner_ ? kExitSeconds : 0)) *
                       static_cast<double>(proven.tries);
  const double saved = static_cast<double>(proven.done) * instruction;
  proven.tries = proven.measured = proven.done = 0;
  proven.seconds = 0;
  if (!eager_ && saved < spent) leave_out(proven);
}

void LaneLoops::leave_out(Proven& proven) {
  proven.left_out = proven.news.left_out = true;
  proven.slot->run = proven.next;
  uninstall(proven);
  if (inner_) inner_->return_loop(proven.code.head);
}

void LaneLoops::report() {
  loops_->add_found(std::exchange(newly_found_, 0), std::exchange(sampled_, 0));
  for (auto& [head, candidate] : candidates_) {
    if (candidate.proposed) loops_->report(candidate.code, {.samples = std::exchange(candidate.samples, 0)});
  }
  for (auto& [head, proven] : proven_) loops_->report(proven.code, std::exchange(proven.news, {}));
}

}  // namespace kvrm::accelerate
