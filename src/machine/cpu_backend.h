// Lanes on the host's threads.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "device/cpu/thread_pool.h"
#include "machine/backend.h"
#include "machine/cpu_lane.h"

namespace kvrm {

class CpuBackend final : public Backend {
 public:
  // An error if the engine that is asked for is not there.
  static Result<std::unique_ptr<Backend>> create(const Options& options);
  CpuBackend(const Options& options, std::shared_ptr<translator::Translator> translator);

  Cpu& cpu(unsigned lane) override { return at(lane).cpu(); }
  memory::GuestMemory& memory(unsigned lane) override { return at(lane).memory(); }
  Result<void> start(unsigned lane, const linux_abi::Program& program, linux_abi::ProcessOptions options) override;
  void run(unsigned first, std::span<LaneResult> results, u64 budget, RunControl& control) override;
  Result<void> run_jobs(std::span<const LaneJob> jobs, const JobLimits& limits, const JobCallback& done,
                        RunControl& control) override;
  Statistics statistics() const override;

 private:
  CpuLane& at(unsigned lane);
  JobResult run_job(const LaneJob& job, const JobLimits& limits, RunControl& control);

  const u64 memory_limit_;
  const Engine engine_;
  const std::shared_ptr<translator::Translator> translator_;  // null: the interpreter alone
  device::cpu::ThreadPool pool_;
  std::vector<std::unique_ptr<CpuLane>> lanes_;  // null until asked for
  std::mutex past_mutex_;
  Statistics past_;  // of jobs, and of lanes that started again
};

}  // namespace kvrm
