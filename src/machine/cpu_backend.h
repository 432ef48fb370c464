// Lanes on the host's threads.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "backend/cpu/thread_pool.h"
#include "machine/backend.h"
#include "machine/cache_guard.h"
#include "machine/cpu_lane.h"
#include "machine/dispatch_options.h"
#include "machine/job_timer.h"

namespace kvrm {

class CpuBackend final : public Backend {
 public:
  // An error if the requested engine is not available.
  static Result<std::unique_ptr<CpuBackend>> create(const Options& options, DispatchOptions dispatch);

  Cpu& cpu(unsigned lane) override { return at(lane).cpu(); }
  std::shared_ptr<Cpu> shared_cpu(unsigned lane) override { return at(lane).shared_cpu(); }
  memory::GuestMemory& memory(unsigned lane) override { return at(lane).memory(); }
  Result<void> start(unsigned lane, const linux_abi::Program& program, linux_abi::ProcessOptions options) override;
  void run(unsigned first, std::span<Stop> stops, u64 budget, RunControl& control) override;
  Result<void> run_jobs(std::span<const LaneJob> jobs, const JobLimits& limits, const JobCallback& done,
                        RunControl& control) override;
  std::optional<DispatchStatistics> dispatched(unsigned lane) const override;
  Statistics statistics() const override;

 private:
  CpuBackend(const Options& options, DispatchOptions dispatch, std::shared_ptr<translator::Translator> translator,
             std::shared_ptr<accelerate::Loops> loops);
  CpuLane& at(unsigned lane);
  std::unique_ptr<CpuLane> new_lane(memory::AccountPointer account = {}) const;
  void check_root(const linux_abi::ProcessOptions& options);
  JobResult run_job(const LaneJob& job, const JobLimits& limits, JobTimer& timer, RunControl& control);

  const u64 memory_limit_;
  const u64 descriptors_;  // of all guests together
  const unsigned threads_;
  const Engine engine_;
  const DispatchOptions dispatch_;
  const std::shared_ptr<translator::Translator> translator_;  // null: the interpreter alone
  const backend::cpu::Acceleration acceleration_;
  const bool windows_;  // lanes have one if the host grants it
  CacheGuard cache_;
  const std::shared_ptr<memory::AddressSpace> shared_memory_;  // of all lanes; null: each has its own
  backend::cpu::ThreadPool pool_;
  std::vector<std::unique_ptr<CpuLane>> lanes_;  // null until first used
  std::mutex past_mutex_;
  Statistics past_;  // of jobs, and of lanes that were started again
};

}  // namespace kvrm
