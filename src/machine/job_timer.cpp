#include "machine/job_timer.h"

namespace kvrm {
namespace {

// A signal handler that cancels cannot wake a thread, so the thread polls.
constexpr std::chrono::milliseconds kPollInterval{2};

}  // namespace

JobTimer::JobTimer(std::chrono::nanoseconds limit, const std::atomic<bool>& cancel) : limit_(limit), cancel_(cancel) {
  if (limit != std::chrono::nanoseconds::max()) thread_ = std::thread([this] { watch(); });
}

JobTimer::~JobTimer() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  over_.notify_one();
  thread_.join();
}

void JobTimer::watch() {
  std::unique_lock lock(mutex_);
  while (!over_.wait_for(lock, kPollInterval, [this] { return is_over_; })) stop_due_jobs();
}

void JobTimer::stop_due_jobs() {
  const bool cancelled = cancel_.load(std::memory_order_relaxed);
  const Clock::time_point now = Clock::now();
  for (Job* job : jobs_) {
    if (!cancelled && job->deadline_ > now) break;
    // The first reason counts.
    if (job->stop_.load(std::memory_order_relaxed)) continue;
    if (!cancelled) job->timed_out_.store(true, std::memory_order_relaxed);
    job->stop_.store(true, std::memory_order_release);
  }
}

JobTimer::Job::Job(JobTimer& timer) : timer_(timer) {
  if (!timer_.is_limited()) return;
  const std::lock_guard lock(timer_.mutex_);
  deadline_ = Clock::now() + timer_.limit_;
  position_ = timer_.jobs_.insert(timer_.jobs_.end(), this);
}

JobTimer::Job::~Job() {
  if (!timer_.is_limited()) return;
  const std::lock_guard lock(timer_.mutex_);
  timer_.jobs_.erase(position_);
}

}  // namespace kvrm
