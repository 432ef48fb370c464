// The loop around the engine, which handles the traps of raw lanes and of Linux programs.
#include "machine/cpu_lane.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "machine/stops.h"
#include "memory/window_faults.h"
#include "semantics/float_count.h"

namespace kvrm {
namespace {

// This thread's operations since `before`.
FloatStatistics floats_since(const semantics::FloatCounts& before) {
  const semantics::FloatCounts now = semantics::counted_floats();
  const u64 slow = now.cold - before.cold;
  return {now.operations - before.operations - slow, slow};
}

// Why the guest does without a window; null: it has one, or was to have none.
const char* text_of(memory::WindowLoss loss) {
  switch (loss) {
    case memory::WindowLoss::kNone: return nullptr;
    case memory::WindowLoss::kRefused: return "the host refuses";
    case memory::WindowLoss::kAbove: return "memory above it";
    case memory::WindowLoss::kHostWrites: return "memory shared with the host";
    case memory::WindowLoss::kMappings: return "too many mappings of the host";
    case memory::WindowLoss::kCodeChanges: return "code that changes often";
    case memory::WindowLoss::kFallbacks: return "accesses that leave regions";
  }
  return nullptr;
}

}  // namespace

Result<void> CpuLane::start(const linux_abi::Program& program, linux_abi::ProcessOptions options) {
  device_.engine().use_host_clock(options.clock == linux_abi::ClockSource::kHost);
  options.memory_limit = memory().limit_bytes();
  auto process = linux_abi::Process::create(std::move(options));
  if (!process) return process.error();
  process_.emplace(std::move(*process));
  return process_->start(program, cpu(), memory());
}

u32 CpuLane::word() { return word_at(cpu(), memory()); }

// How long the engine may run before the process must check its timers.
u64 CpuLane::until_deadline() const {
  constexpr u64 kNever = std::numeric_limits<u64>::max();
  if (!process_) return kNever;
  const auto deadline = process_->next_deadline_ns(&device_.cpu());
  if (!deadline) return kNever;
  const u64 now = device_.cpu().clock_ns;
  return *deadline > now ? *deadline - now : 0;
}

std::optional<Stop> CpuLane::after(const linux_abi::Outcome& outcome, RunControl& control) {
  auto stop = process_stop(cpu(), memory(), *process_, outcome);
  if (!stop) return stop;
  if (stop->reason == StopReason::kCancelled) {
    --instructions_;  // the SVC will run again
    control.progress.instructions.fetch_sub(1, std::memory_order_relaxed);
  } else {
    ended_ = stop;
  }
  return stop;
}

std::optional<Stop> CpuLane::serve(Trap trap, unsigned index, RunControl& control) {
  if (trap != Trap::kSystemCall) {
    return process_ ? after(process_->fault(cpu(), memory(), trap), control) : raw_stop(cpu(), word(), trap);
  }
  ++system_calls_;
  if (process_) return after(process_->system_call(cpu(), memory()), control);
  const auto immediate = static_cast<u32>(cpu().fault_address);
  if (control.system_call && control.system_call(index, immediate)) {
    check_window();
    return std::nullopt;
  }
  return stop_at(cpu(), word(), StopReason::kSystemCall);
}

Stop CpuLane::run_to_stop(u64 budget, unsigned index, RunControl& control) {
  for (u64 left = budget;;) {
    const u64 deadline = until_deadline();
    if (deadline == 0) {
      if (auto stop = after(process_->tick(cpu(), memory()), control)) return *stop;
      continue;
    }
    const auto outcome =
        device_.engine().run(cpu(), std::min(left, deadline), control.cancel, &control.progress.instructions);
    instructions_ += outcome.retired;
    left -= outcome.retired;
    if (outcome.cancelled) return stop_at(cpu(), word(), StopReason::kCancelled);
    if (outcome.trap != Trap::kNone) {
      if (auto stop = serve(outcome.trap, index, control)) return *stop;
    }
    if (left == 0) return stop_at(cpu(), word(), StopReason::kBudget);
  }
}

// Code that is not ours may have replaced the handler for faults, or blocked the signal.
void CpuLane::check_window() { device_.engine().allow_window(memory().window() && memory::window_faults_arrive()); }

Stop CpuLane::run(u64 budget, unsigned index, RunControl& control) {
  if (ended_) return *ended_;
  std::optional<memory::WindowFaultScope> faults;
  if (memory().window()) faults.emplace();
  check_window();
  if (process_) process_->set_cancel(&control.cancel);
  const u64 before = instructions_;
  const semantics::FloatCounts floats = semantics::counted_floats();
  Stop stop = run_to_stop(budget, index, control);
  if (semantics::kCountsFloat) floats_ = floats_.value_or(FloatStatistics{}) += floats_since(floats);
  if (process_) process_->set_cancel(nullptr);
  stop.instructions = instructions_ - before;
  return stop;
}

Statistics CpuLane::statistics() const {
  Statistics result;
  result.instructions = instructions_;
  result.system_calls = system_calls_;
  result.decoded_words = device_.engine().decoded_words();
  result.code_invalidations = device_.engine().code_invalidations();
  result.private_bytes = device_.space().private_bytes();
  if (const char* const why = text_of(device_.space().window_loss())) ++result.windows_given_up[why];
  result.dispatch = dispatched();
  result.floats = floats_;
  return result;
}

}  // namespace kvrm
