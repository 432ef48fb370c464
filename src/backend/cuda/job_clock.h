// Which jobs on a GPU have run for too long. Lanes take one job after the other without telling the host when, so the
// host polls which job each lane has.
#pragma once

#include <algorithm>
#include <chrono>
#include <span>
#include <vector>

#include "backend/kernel/lane.h"

namespace kvrm::backend::cuda {

class JobClock {
 public:
  using Time = std::chrono::nanoseconds;
  static constexpr Time kNoLimit = Time::max();
  struct Overdue {
    u32 lane, job;
  };

  JobClock(Time limit, u32 lanes) : limit_(limit), lanes_(limit == kNoLimit ? 0 : lanes) {}

  bool is_limited() const { return limit_ != kNoLimit; }
  // The time between two updates: jobs may exceed their limit by at most this, and never get less.
  Time interval() const {
    using namespace std::chrono_literals;
    return std::clamp<Time>(limit_ / 16, 5ms, 100ms);
  }
  // The lanes' jobs, or kNoJob, at a time that stops while no kernel runs. Returns each overdue job once.
  std::vector<Overdue> update(std::span<const u32> jobs, Time now) {
    std::vector<Overdue> overdue;
    for (u32 i = 0; i < lanes_.size(); ++i) {
      Seen& lane = lanes_[i];
      if (jobs[i] != lane.job) lane = {jobs[i], now, false};
      if (lane.job == kernel::kNoJob || lane.is_reported || now - lane.since < limit_) continue;
      lane.is_reported = true;
      overdue.push_back({i, lane.job});
    }
    return overdue;
  }

 private:
  struct Seen {
    u32 job = kernel::kNoJob;
    Time since{0};  // when it was first seen
    bool is_reported = false;
  };
  Time limit_;
  std::vector<Seen> lanes_;
};

}  // namespace kvrm::backend::cuda
