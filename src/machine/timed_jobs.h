// Jobs on a GPU that have a time limit: what their processes, their lanes and their results must know of it.
#pragma once

#include <atomic>
#include <vector>

#include "device/lanes/lane.h"
#include "kvrm/jobs.h"

namespace kvrm {

class TimedJobs {
 public:
  TimedJobs(const JobLimits& limits, std::size_t jobs, const std::atomic<bool>& cancel)
      : budget_(limits.instructions), cancel_(cancel), jobs_(limits.timeout == limits.timeout.max() ? 0 : jobs) {}

  // What a job's process looks at while it waits.
  const std::atomic<bool>* cancel_of(std::size_t job) const { return jobs_.empty() ? &cancel_ : &jobs_[job].stop; }
  // Now and then: processes hear of a cancel through their own flags.
  void pass_on_cancel() {
    if (!cancel_.load(std::memory_order_relaxed)) return;
    for (One& one : jobs_) one.stop.store(true, std::memory_order_relaxed);
  }
  void stop(std::size_t job) {
    jobs_[job].is_overdue.store(true);
    jobs_[job].stop.store(true);
  }
  // What a lane is told of a call that was cut short. One that is cancelled takes no further job, so a lane whose job
  // is overdue is told that its program was killed.
  device::lanes::Outcome after_call(std::size_t job, device::lanes::Outcome outcome) {
    constexpr int kKill = 9;
    if (outcome.kind != device::lanes::OutcomeKind::kCancelled || jobs_.empty()) return outcome;
    if (!jobs_[job].is_overdue.load() || cancel_.load(std::memory_order_relaxed)) return outcome;
    jobs_[job].is_undone.store(true);
    return {device::lanes::OutcomeKind::kSignal, kKill};
  }
  // Whether the limit ended a job; its lane says that its budget was used up, or that it was killed.
  bool timed_out(std::size_t job, device::lanes::JobEnd& end) const {
    if (jobs_.empty() || !jobs_[job].is_overdue.load()) return false;
    if (jobs_[job].is_undone.load()) {
      --end.retired;  // the call did not happen
      return true;
    }
    return end.stop.kind == device::lanes::StopKind::kBudget && end.retired < budget_;
  }

 private:
  struct One {
    std::atomic<bool> stop = false, is_overdue = false;
    std::atomic<bool> is_undone = false;  // it stopped at a call, which is as if it had not been made
  };
  const u64 budget_;
  const std::atomic<bool>& cancel_;
  std::vector<One> jobs_;  // none: no limit
};

}  // namespace kvrm
