#include "interpreter/interpreter.h"

#include <algorithm>
#include <chrono>

#include "interpreter/clock.h"
#include "interpreter/handlers.h"
#include "interpreter/predecode.h"
#include "interpreter/regions.h"

namespace kvrm::interpreter {
namespace {

// A burst takes a few milliseconds: long enough to cost nothing, short enough to notice a cancel.
constexpr u64 kBurst = u64{1} << 20;
constexpr u64 kSharedBurst = u64{1} << 16;  // accesses to shared memory are slow
// Below this the loop might run past the budget before it checks, so the rest is stepped.
constexpr u64 kShortest = 2 * (kCheckInterval / kBudgetPerInstruction);

Next enter_loop(Cpu* cpu, const Entry* entry, Context* context, i64 biased_budget) {
  StateBase* const state = base_of(cpu);
  Next next = entry->run(entry, state, context, biased_budget, context->window);
  while (next.entry) next = next.entry->run(next.entry, state, context, next.biased_budget, context->window);
  return next;
}

}  // namespace

u64 host_clock_ns() {
  return static_cast<u64>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

Interpreter::Interpreter(memory::Translation& translation, const Dispatch& dispatch)
    : mmu_(translation), dispatch_(dispatch), context_(std::make_unique<Context>()) {
  context_->translations = &mmu_.tlb();
  context_->mmu = &mmu_;
  context_->fetch_fault = {&run_fetch_fault, 0};
  cache_ = std::make_unique<PredecodeCache>(mmu_, *context_, dispatch_.router);
  context_->cache = cache_.get();
}

Interpreter::~Interpreter() = default;

void Interpreter::use_regions(Regions* regions) {
  regions_ = regions;
  cache_->set_regions(regions);
}

void Interpreter::use_host_clock(bool host) { context_->host_clock = host; }
u64 Interpreter::decoded_words() const { return cache_->decoded_words(); }
u64 Interpreter::code_invalidations() const { return cache_->invalidations(); }

// Writes what the handlers keep outside the state back into it.
Interpreter::Burst Interpreter::finish(Cpu& cpu, u64 budget, i64 biased_budget) {
  const Entry* stopped = context_->stopped_at;
  u64 left = static_cast<u64>(remaining(stopped, biased_budget));
  if (context_->trap == Trap::kSystemCall) {
    --left;  // SVC retires and has moved pc itself
  } else {
    cpu.pc = address_of(*context_, stopped);
  }
  if (context_->trap != Trap::kNone) cpu.exclusive_size = 0;
  retired_ += budget - left;
  return {context_->trap, budget - left};
}

Interpreter::Burst Interpreter::run_burst(Cpu& cpu, u64 budget) {
  const Entry* entry = cache_->enter(cpu.pc);
  context_->retired_at_zero_budget = retired_ + budget;
  const i64 biased_budget = host_address(entry) + static_cast<i64>(budget) * kBudgetPerInstruction;
  const Next next = enter_loop(&cpu, entry, context_.get(), biased_budget);
  return finish(cpu, budget, next.biased_budget);
}

// One instruction, from a copy of its entry that a pause follows; any branch finds the budget used up.
Interpreter::Burst Interpreter::run_one(Cpu& cpu) {
  const Entry code[2] = {dispatch_.every ? cache_->enter_once(cpu.pc) : cache_->plain_entry(cpu.pc), {&run_pause, 0}};
  context_->entries = code;
  context_->page_address = cpu.pc;
  context_->retired_at_zero_budget = retired_ + 1;
  const i64 biased_budget = host_address(code) + kBudgetPerInstruction;
  const Next next = enter_loop(&cpu, code, context_.get(), biased_budget);
  return finish(cpu, 1, next.biased_budget);
}

// Instruction by instruction, so that the regions' profile records the control flow.
Interpreter::Burst Interpreter::run_trace(Cpu& cpu, u64 steps) {
  Burst sum{Trap::kNone, 0};
  for (u64 step = 0; step < steps && sum.trap == Trap::kNone; ++step) {
    const u64 from = cpu.pc;
    const Burst one = run_one(cpu);
    sum = {one.trap, sum.retired + one.retired};
    if (one.retired != 0) regions_->stepped(from, cpu.pc);
  }
  return sum;
}

Interpreter::Outcome Interpreter::run(Cpu& cpu, u64 budget, const std::atomic<bool>& cancel,
                                      std::atomic<u64>* progress) {
  Outcome outcome{Trap::kNone, 0, false};
  context_->clock_base = cpu.clock_ns;
  retired_ = 0;
  while (outcome.trap == Trap::kNone && outcome.retired < budget) {
    if (cancel.load(std::memory_order_relaxed)) {
      outcome.cancelled = true;
      break;
    }
    if (mmu_.is_shared()) mmu_.check_code_version();
    context_->window = allows_window_ ? mmu_.translation().window() : nullptr;  // the guest may have lost it
    const u64 left = budget - outcome.retired;
    const u64 longest = mmu_.is_shared() ? kSharedBurst : kBurst;
    const Regions::Pace pace = regions_ ? regions_->between_bursts(cpu, last_burst_) : Regions::Pace{longest, 0};
    const bool step = left < kShortest || context_->step_next || dispatch_.every;
    context_->step_next = false;
    const Burst burst = pace.steps != 0 ? run_trace(cpu, std::min<u64>(left, pace.steps))
                        : step          ? run_one(cpu)
                                        : run_burst(cpu, std::min(left, std::clamp(pace.burst, kShortest, longest)));
    outcome.trap = burst.trap;
    outcome.retired += burst.retired;
    last_burst_ = burst.retired;
    if (progress) progress->fetch_add(burst.retired, std::memory_order_relaxed);
  }
  cpu.clock_ns = context_->host_clock ? host_clock_ns() : context_->clock_base + retired_;
  return outcome;
}

}  // namespace kvrm::interpreter
