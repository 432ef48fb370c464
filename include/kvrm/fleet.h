// Jobs over several machines of one process, one for each device.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "kvrm/machine.h"

namespace kvrm {

class KVRM_API Fleet {
 public:
  // One machine with these options per ordinal. An ordinal may occur more than once. On the CPU device the machines
  // divide the host's threads.
  static Result<Fleet> create(const Options& options, const std::vector<unsigned>& ordinals = {0});

  // As Machine::run_jobs: each machine takes a share of the jobs, then the next share.
  Result<void> run_jobs(const Program& program, std::span<const Job> jobs, const JobCallback& done,
                        const JobLimits& limits = {});
  // Ends run_jobs(), permanently. May be called from another thread or a signal handler.
  void cancel();
  bool cancelled() const { return *cancelled_; }

  Progress poll() const;  // the sum of all machines; at any time, from any thread
  Statistics statistics() const;  // the sum, while nothing runs; seconds are those of run_jobs() as a whole
  std::size_t machines() const { return machines_.size(); }

 private:
  Fleet() = default;

  std::vector<Machine> machines_;
  std::uint64_t lanes_ = 1;
  double seconds_ = 0;
  std::unique_ptr<std::atomic<bool>> cancelled_ = std::make_unique<std::atomic<bool>>(false);
};

}  // namespace kvrm
