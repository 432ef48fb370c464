// Stops jobs that take too long (JobLimits::timeout).
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>

namespace kvrm {

// One thread watches the clock for all jobs. Without a limit there is no thread, and jobs read `cancel` directly.
class JobTimer {
 public:
  using Clock = std::chrono::steady_clock;

  JobTimer(std::chrono::nanoseconds limit, const std::atomic<bool>& cancel);
  ~JobTimer();  // after the last job
  JobTimer(const JobTimer&) = delete;
  JobTimer& operator=(const JobTimer&) = delete;

  // A running job, to the end of the block. The timer outlives it.
  class Job {
   public:
    explicit Job(JobTimer& timer);
    ~Job();
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    // Set when everything is cancelled or the job took too long.
    const std::atomic<bool>& cancel() const { return timer_.is_limited() ? stop_ : timer_.cancel_; }
    bool timed_out() const { return timed_out_.load(std::memory_order_relaxed); }

   private:
    friend class JobTimer;
    JobTimer& timer_;
    Clock::time_point deadline_;
    std::atomic<bool> stop_ = false, timed_out_ = false;
    std::list<Job*>::iterator position_;
  };

 private:
  bool is_limited() const { return thread_.joinable(); }
  void watch();
  void stop_due_jobs();

  const std::chrono::nanoseconds limit_;
  const std::atomic<bool>& cancel_;
  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::list<Job*> jobs_;  // in the order of their deadlines
  std::thread thread_;
};

}  // namespace kvrm
