// The loop around the engine: what a trap means to a raw lane and to a Linux program.
#include "machine/cpu_lane.h"

#include <algorithm>
#include <limits>

#include "machine/stops.h"
#include "semantics/float_count.h"

namespace kvrm {
namespace {

// Adds what this thread has counted since `before`.
void add_floats(std::optional<FloatStatistics>& sum, const semantics::FloatCounts& before) {
  if (!semantics::kCountsFloat) return;
  const semantics::FloatCounts now = semantics::counted_floats();
  const u64 slow = now.cold - before.cold;
  if (!sum) sum.emplace();
  sum->fast += now.operations - before.operations - slow;
  sum->slow += slow;
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

// How far the engine may run before the process wants to look at its timers.
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
  if (control.system_call && control.system_call(index, immediate)) return std::nullopt;
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

LaneResult CpuLane::run(u64 budget, unsigned index, RunControl& control) {
  if (ended_) return {*ended_, 0};
  if (process_) process_->set_cancel(&control.cancel);
  const u64 before = instructions_;
  const semantics::FloatCounts floats = semantics::counted_floats();
  Stop stop = run_to_stop(budget, index, control);
  add_floats(floats_, floats);
  if (process_) process_->set_cancel(nullptr);
  return {std::move(stop), instructions_ - before};
}

void CpuLane::add_to(Statistics& statistics) const {
  statistics.instructions += instructions_;
  statistics.system_calls += system_calls_;
  statistics.decoded_words += device_.engine().decoded_words();
  statistics.code_invalidations += device_.engine().code_invalidations();
  statistics.private_bytes += device_.space().private_bytes();
  add(statistics.dispatch, dispatched());
  if (floats_) {
    if (!statistics.floats) statistics.floats.emplace();
    statistics.floats->fast += floats_->fast;
    statistics.floats->slow += floats_->slow;
  }
}

}  // namespace kvrm
