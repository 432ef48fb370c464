// The ways to run lanes.
#include <algorithm>
#include <utility>

#include "kvrm/machine.h"
#include "machine/parts.h"
#include "machine/stops.h"

namespace kvrm {
namespace {

bool can_continue(const Stop& stop) { return stop.reason == StopReason::kBudget; }

Signal signal_of(StopReason reason) {
  switch (reason) {
    case StopReason::kExit:
    case StopReason::kHalt: return Signal::kHalt;
    case StopReason::kBreakpoint: return Signal::kBreakpoint;
    case StopReason::kBudget: return Signal::kRunning;
    case StopReason::kSystemCall: return Signal::kSystemCall;
    case StopReason::kTimeout:  // of jobs only
    case StopReason::kCancelled: return Signal::kCancelled;
    case StopReason::kFault:
    case StopReason::kUndefined:
    case StopReason::kSignal:
    case StopReason::kDevice: return Signal::kFault;
  }
  return Signal::kFault;
}

// The order in which a batch picks a lane's signal: a lane that waits for the host, then lanes that can continue, then
// lanes that have ended.
int urgency(Signal signal) {
  switch (signal) {
    case Signal::kCancelled: return 5;
    case Signal::kSystemCall:
    case Signal::kBreakpoint: return 4;
    case Signal::kCheckpoint:
    case Signal::kRunning: return 3;
    case Signal::kFault: return 2;
    case Signal::kHalt: return 1;
  }
  return 0;
}

void summarize(std::span<const Stop> stops, Batch& batch) {
  batch.lanes_alive = 0;
  int most = 0;
  for (unsigned lane = 0; lane < stops.size(); ++lane) {
    const Stop& stop = stops[lane];
    batch.instructions += stop.instructions;
    if (can_continue(stop)) ++batch.lanes_alive;
    const Signal signal = signal_of(stop.reason);
    if (urgency(signal) <= most) continue;
    most = urgency(signal);
    batch.signal = signal;
    batch.lane = lane;
    batch.stop = stop;
  }
}

}  // namespace

Machine::Parts::Timer::~Timer() {
  parts_.cancel.store(false, std::memory_order_relaxed);
  parts_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

std::vector<Stop> Machine::Parts::run(Machine& machine, unsigned first, unsigned count, std::uint64_t budget) {
  if (const auto checked = origin.check(); !checked) return {count, device_stop(checked.error())};
  has_run.store(true, std::memory_order_relaxed);
  std::vector<Stop> stops_of_run(count);
  const Timer timer(*this);
  RunControl control{cancel, progress, {}};
  if (hook) {
    control.system_call = [&](unsigned lane, u32 immediate) {
      const std::lock_guard lock(hook_mutex);
      return hook(machine.lane(lane), immediate);
    };
  }
  backend->run(first, stops_of_run, budget, control);
  return stops_of_run;
}

Stop Lane::run(std::uint64_t budget) { return std::move(machine_->parts_->run(*machine_, index_, 1, budget).front()); }

std::vector<Stop> Machine::run_all(std::uint64_t budget) { return parts_->run(*this, 0, lanes(), budget); }

Batch Machine::run_continuous(std::uint64_t size, std::uint64_t max_batches, std::chrono::nanoseconds timeout,
                              const BatchCallback& callback) {
  const auto begin = std::chrono::steady_clock::now();
  for (Batch batch;;) {
    ++batch.number;
    summarize(parts_->run(*this, 0, lanes(), size), batch);
    const auto passed = std::chrono::steady_clock::now() - begin;
    batch.seconds = std::chrono::duration<double>(passed).count();
    if (batch.signal == Signal::kRunning && (batch.number >= max_batches || passed >= timeout)) {
      batch.signal = Signal::kCheckpoint;
    }
    const bool continues = !callback || callback(batch);
    if (batch.signal != Signal::kRunning) return batch;
    if (!continues) {
      batch.signal = Signal::kCheckpoint;
      return batch;
    }
  }
}

Batch Machine::run_mega(std::uint64_t total) { return run_continuous(total, 1); }

void Machine::start(std::uint64_t budget) {
  if (!parts_->origin.is_here()) return;  // wait() reports it
  (void)wait();
  parts_->running.store(true, std::memory_order_relaxed);
  parts_->runner = std::thread([this, parts = parts_.get(), budget] {
    parts->stops = parts->run(*this, 0, parts->lanes, budget);
    parts->running.store(false, std::memory_order_release);
  });
}

bool Machine::is_running() const { return parts_->origin.is_here() && parts_->running.load(std::memory_order_acquire); }

Progress Machine::poll() const {
  const RunProgress& progress = parts_->progress;
  return {is_running(), progress.instructions.load(std::memory_order_relaxed),
          progress.lanes_alive.load(std::memory_order_relaxed), progress.jobs_done.load(std::memory_order_relaxed)};
}

std::vector<Stop> Machine::wait() {
  if (const auto checked = check_process(); !checked) return {lanes(), device_stop(checked.error())};
  if (!parts_->runner.joinable()) return {};
  parts_->runner.join();
  parts_->cancel.store(false, std::memory_order_relaxed);  // a cancel after the end of the run
  return std::exchange(parts_->stops, {});
}

void Machine::cancel() { parts_->cancel.store(true, std::memory_order_relaxed); }

const char* to_string(StopReason reason) {
  switch (reason) {
    case StopReason::kExit: return "exit";
    case StopReason::kHalt: return "halt";
    case StopReason::kBreakpoint: return "breakpoint";
    case StopReason::kBudget: return "budget";
    case StopReason::kFault: return "fault";
    case StopReason::kUndefined: return "undefined";
    case StopReason::kSignal: return "signal";
    case StopReason::kSystemCall: return "system call";
    case StopReason::kCancelled: return "cancelled";
    case StopReason::kTimeout: return "timeout";
    case StopReason::kDevice: return "device";
  }
  return "unknown";
}

const char* to_string(Signal signal) {
  switch (signal) {
    case Signal::kRunning: return "running";
    case Signal::kHalt: return "halt";
    case Signal::kSystemCall: return "system call";
    case Signal::kBreakpoint: return "breakpoint";
    case Signal::kFault: return "fault";
    case Signal::kCheckpoint: return "checkpoint";
    case Signal::kCancelled: return "cancelled";
  }
  return "unknown";
}

}  // namespace kvrm
