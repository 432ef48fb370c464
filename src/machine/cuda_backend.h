// Lanes on a GPU.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "device/cuda/device_router.h"
#include "device/cuda/gpu.h"
#include "device/cuda/lane_set.h"
#include "machine/backend.h"
#include "machine/cache_guard.h"
#include "machine/cuda_processes.h"
#include "machine/dispatching.h"
#include "machine/gpu_regions.h"
#include "machine/resting_memory.h"

namespace kvrm {

class CudaBackend final : public Backend {
 public:
  static Result<std::unique_ptr<CudaBackend>> create(const Options& options, const Dispatching& dispatching);

  Cpu& cpu(unsigned lane) override;
  std::shared_ptr<Cpu> shared_cpu(unsigned) override { return nullptr; }
  memory::GuestMemory& memory(unsigned lane) override;
  Result<void> start(unsigned lane, const linux_abi::Program& program, linux_abi::ProcessOptions options) override;
  void run(unsigned first, std::span<LaneResult> results, u64 budget, RunControl& control) override;
  Result<void> run_jobs(std::span<const LaneJob> jobs, const JobLimits& limits, const JobCallback& done,
                        RunControl& control) override;
  bool translates() const { return regions_ != nullptr; }
  std::optional<DispatchStatistics> dispatched(unsigned) const override { return std::nullopt; }
  Statistics statistics() const override;

 private:
  // A lane as it is between runs.
  struct Lane {
    Cpu cpu{};
    std::unique_ptr<memory::GuestMemory> memory;  // on the host until the lane first runs, then on the GPU
    std::shared_ptr<const LaneProgram> program;   // a Linux program; otherwise a raw lane
    linux_abi::ProcessOptions options;
    std::optional<Stop> ended;  // nothing follows an exit or a fatal signal
    int output_error = 0;       // why its stdout could not be written
    bool begun = false;         // it is on the GPU
    bool asked_for = false;     // somebody has its state
  };

  CudaBackend(device::cuda::GpuPointer gpu, device::cuda::DeviceRouter router, const Options& options,
              Dispatching dispatching, std::unique_ptr<GpuRegions> regions);
  // A launch that may be cut short to translate what the lanes run.
  void watch_places(GpuRegions* regions, device::cuda::LaneSet::Run& run, device::cuda::LaneSet::Hooks& hooks) const;
  Result<void> begin_regions(GpuRegions* regions, device::cuda::LaneSet& set, const device::cuda::StartSet& starts,
                             const std::atomic<bool>& cancel) const;
  void look_at_root(const linux_abi::ProcessOptions& options);
  device::cuda::LaneSet::Plan plan(u32 lanes, u32 most_areas) const;
  Lane& at(unsigned lane);
  RestingMemory& resting(unsigned lane);
  Result<void> place_lanes(const std::atomic<bool>& cancel);
  Result<void> translate_beginnings(unsigned first, std::size_t count, const std::atomic<bool>& cancel);
  Result<void> try_run(unsigned first, std::span<LaneResult> results, u64 budget, RunControl& control);
  static Stop stop_of(unsigned number, Lane& lane, const device::lanes::JobEnd& end, LaneProcesses& processes);
  device::lanes::Outcome call_hook(const device::cuda::Call& call, Cpu& cpu, memory::GuestMemory& memory,
                                   RunControl& control);
  void count(const device::lanes::JobEnd& end);

  device::cuda::GpuPointer gpu_;
  const Dispatching dispatching_;
  device::cuda::DeviceRouter router_;
  const std::unique_ptr<GpuRegions> regions_, job_regions_;  // of the two sets; null: the interpreter only
  CacheGuard cache_;
  const Engine engine_;
  const u64 memory_limit_;
  const u64 descriptors_;  // of all guests together
  const bool common_;  // one memory for all lanes
  const bool spread_;  // jobs do not share a warp
  std::unique_ptr<memory::GuestMemory> common_memory_;  // as a lane's
  const bool meet_;  // lanes that diverge meet again; KVRM_MEET=0 in the environment turns it off, to measure it
  const u32 lanes_per_warp_;  // at least; KVRM_LANES_PER_WARP in the environment, to test few lanes in one warp
  // The most a launch may take, where the driver limits it or KVRM_SLICE_MS in the environment says so; 0: no limit.
  const std::chrono::milliseconds slice_;
  std::vector<std::unique_ptr<Lane>> lanes_;  // null until asked for
  std::unique_ptr<device::cuda::LaneSet> set_;       // of the lanes; null until they run
  std::unique_ptr<device::cuda::StartSet> starts_;   // of raw lanes, where the translator wants to know them
  std::vector<u32> start_of_;                        // lanes, in there
  std::unique_ptr<device::cuda::LaneSet> job_set_;   // of the last batch of jobs
  unsigned job_lanes_ = 0;
  LaneProcesses processes_;
  Statistics past_;
};

}  // namespace kvrm
