// Which jobs on a GPU have run for too long. Lanes take one job after the other without telling the host when, so the
// host looks now and then which job each lane has.
#pragma once

#include <algorithm>
#include <chrono>
#include <span>
#include <vector>

#include "device/lanes/lane.h"

namespace kvrm::device::cuda {

class JobClock {
 public:
  using Time = std::chrono::nanoseconds;
  static constexpr Time kNoLimit = Time::max();
  struct Overdue {
    u32 lane, job;
  };

  JobClock(Time limit, u32 lanes) : limit_(limit), lanes_(limit == kNoLimit ? 0 : lanes) {}

  bool is_limited() const { return limit_ != kNoLimit; }
  // How long to wait between two looks: jobs get at most so much more than their limit, and never less.
  Time interval() const {
    using namespace std::chrono_literals;
    return std::clamp<Time>(limit_ / 16, 5ms, 100ms);
  }
  // The lanes' jobs, or kNoJob, at a time that stands still while no kernel runs. Each overdue job is given once.
  std::vector<Overdue> look(std::span<const u32> jobs, Time now) {
    std::vector<Overdue> overdue;
    for (u32 i = 0; i < lanes_.size(); ++i) {
      Seen& lane = lanes_[i];
      if (jobs[i] != lane.job) lane = {jobs[i], now, false};
      if (lane.job == lanes::kNoJob || lane.is_told || now - lane.since < limit_) continue;
      lane.is_told = true;
      overdue.push_back({i, lane.job});
    }
    return overdue;
  }

 private:
  struct Seen {
    u32 job = lanes::kNoJob;
    Time since{0};  // it was first seen
    bool is_told = false;
  };
  Time limit_;
  std::vector<Seen> lanes_;
};

}  // namespace kvrm::device::cuda
