// Lanes on the host's threads.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "device/cpu/thread_pool.h"
#include "machine/backend.h"
#include "machine/cache_guard.h"
#include "machine/cpu_lane.h"
#include "machine/dispatching.h"
#include "machine/job_timer.h"

namespace kvrm {

class CpuBackend final : public Backend {
 public:
  // An error if the engine that is asked for is not there.
  static Result<std::unique_ptr<CpuBackend>> create(const Options& options, Dispatching dispatching);

  Cpu& cpu(unsigned lane) override { return at(lane).cpu(); }
  std::shared_ptr<Cpu> shared_cpu(unsigned lane) override { return at(lane).shared_cpu(); }
  memory::GuestMemory& memory(unsigned lane) override { return at(lane).memory(); }
  Result<void> start(unsigned lane, const linux_abi::Program& program, linux_abi::ProcessOptions options) override;
  void run(unsigned first, std::span<LaneResult> results, u64 budget, RunControl& control) override;
  Result<void> run_jobs(std::span<const LaneJob> jobs, const JobLimits& limits, const JobCallback& done,
                        RunControl& control) override;
  std::optional<DispatchStatistics> dispatched(unsigned lane) const override;
  Statistics statistics() const override;

 private:
  CpuBackend(const Options& options, Dispatching dispatching, std::shared_ptr<translator::Translator> translator);
  CpuLane& at(unsigned lane);
  std::unique_ptr<CpuLane> new_lane(memory::AccountPointer account = {}) const;
  void look_at_root(const linux_abi::ProcessOptions& options);
  JobResult run_job(const LaneJob& job, const JobLimits& limits, JobTimer& timer, RunControl& control);

  const u64 memory_limit_;
  const u64 descriptors_;  // of all guests together
  const unsigned threads_;
  const Engine engine_;
  const Dispatching dispatching_;
  const std::shared_ptr<translator::Translator> translator_;  // null: the interpreter alone
  CacheGuard cache_;
  const std::shared_ptr<memory::AddressSpace> common_;  // of all lanes; null: each has its own
  device::cpu::ThreadPool pool_;
  std::vector<std::unique_ptr<CpuLane>> lanes_;  // null until asked for
  std::mutex past_mutex_;
  Statistics past_;  // of jobs, and of lanes that started again
};

}  // namespace kvrm
