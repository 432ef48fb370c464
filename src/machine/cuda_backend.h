// Lanes on a GPU.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "backend/cuda/device_router.h"
#include "backend/cuda/gpu.h"
#include "backend/cuda/lane_set.h"
#include "machine/backend.h"
#include "machine/cache_guard.h"
#include "machine/cuda_processes.h"
#include "machine/dispatch_options.h"
#include "machine/gpu_loops.h"
#include "machine/gpu_regions.h"
#include "machine/prefetch_options.h"
#include "machine/stopped_memory.h"

namespace kvrm {

class CudaBackend final : public Backend {
 public:
  static Result<std::unique_ptr<CudaBackend>> create(const Options& options, const DispatchOptions& dispatch);

  Cpu& cpu(unsigned lane) override;
  std::shared_ptr<Cpu> shared_cpu(unsigned) override { return nullptr; }
  memory::GuestMemory& memory(unsigned lane) override;
  Result<void> start(unsigned lane, const linux_abi::Program& program, linux_abi::ProcessOptions options) override;
  void run(unsigned first, std::span<Stop> stops, u64 budget, RunControl& control) override;
  Result<void> run_jobs(std::span<const LaneJob> jobs, const JobLimits& limits, const JobCallback& done,
                        RunControl& control) override;
  bool translates() const { return regions_ != nullptr; }
  std::optional<DispatchStatistics> dispatched(unsigned) const override { return std::nullopt; }
  Statistics statistics() const override;

 private:
  // A lane between runs.
  struct Lane {
    Cpu cpu{};
    std::unique_ptr<memory::GuestMemory> memory;  // on the host until the lane first runs, then on the GPU
    std::shared_ptr<const LaneProgram> program;   // a Linux program; otherwise a raw lane
    linux_abi::ProcessOptions options;
    std::optional<Stop> ended;  // nothing follows an exit or a fatal signal
    int output_error = 0;       // why its stdout could not be written
    bool begun = false;         // it is on the GPU
    bool has_reference = false;  // cpu() gave its registers to a caller, which may have changed them
  };

  CudaBackend(backend::cuda::GpuPointer gpu, backend::cuda::DeviceRouter router, const Options& options,
              DispatchOptions dispatch, std::unique_ptr<GpuRegions> regions, std::shared_ptr<accelerate::Loops> loops);
  class JobRun;  // one batch of jobs (cuda_jobs.cpp)

  // Adds to a progress counter how much a run's total has grown.
  class Growth {
   public:
    explicit Growth(std::atomic<u64>& to) : to_(to) {}
    void reach(u64 total) {
      to_.fetch_add(total - seen_, std::memory_order_relaxed);
      seen_ = total;
    }

   private:
    std::atomic<u64>& to_;
    u64 seen_ = 0;
  };

  // Lets a launch pause to translate the code that the lanes run.
  void watch_regions(GpuRegions* regions, GpuLoops* loops, backend::cuda::LaneSet& set,
                     backend::cuda::LaneSet::Run& run, backend::cuda::LaneSet::Hooks& hooks) const;
  Result<void> begin_regions(GpuRegions* regions, GpuLoops* loops, backend::cuda::LaneSet& set,
                             const backend::cuda::StartSet& starts, const std::atomic<bool>& cancel) const;
  void check_root(const linux_abi::ProcessOptions& options);
  backend::cuda::LaneSet::Plan plan(u32 lanes, u32 most_areas) const;
  Lane& at(unsigned lane);
  StoppedMemory& stopped_memory(unsigned lane);
  Result<void> place_lanes(const std::atomic<bool>& cancel);
  Result<void> translate_snapshots(unsigned first, std::size_t count, const std::atomic<bool>& cancel);
  backend::cuda::StartSet::Contents private_contents(const Lane& lane) const;
  Result<void> try_run(unsigned first, std::span<Stop> stops, u64 budget, RunControl& control);
  Result<std::vector<backend::kernel::Order>> order_lanes(unsigned first, unsigned count, RunControl& control,
                                                          u64& alive);
  Result<void> launch(u64 budget, std::span<const backend::kernel::Order> orders, RunControl& control, Growth& growth);
  Stop collect(unsigned lane);
  static Stop stop_of(u32 number, const Cpu& cpu, const backend::kernel::JobEnd& end, LaneProcesses& processes);
  backend::kernel::Outcome call_hook(const backend::cuda::Call& call, Cpu& cpu, memory::GuestMemory& memory,
                                     RunControl& control);
  void count(const backend::kernel::JobEnd& end);
  void keep_counts(const backend::cuda::LaneSet* set);

  backend::cuda::GpuPointer gpu_;
  const DispatchOptions dispatch_;
  backend::cuda::DeviceRouter router_;
  const std::shared_ptr<accelerate::Loops> loops_;  // null: no bulk steps
  const std::unique_ptr<GpuLoops> lane_loops_, job_loops_;  // of the two sets
  const std::unique_ptr<GpuRegions> regions_, job_regions_;  // of the two sets; null: the interpreter only
  CacheGuard cache_;
  const Engine engine_;
  const bool windows_;  // lanes that are alone have one
  const Prefetch prefetch_;
  const std::vector<prefetch::SiteChoice> prefetch_choices_;
  const u64 memory_limit_;
  const u64 descriptors_;  // of all guests together
  const bool shares_memory_;  // one memory for all lanes
  const bool spread_;  // jobs do not share a warp
  std::unique_ptr<memory::GuestMemory> shared_memory_;  // as a lane's
  const bool
      reconverges_;  // diverged lanes reconverge; KVRM_RECONVERGE=0 in the environment turns it off, to measure it
  const u32 lanes_per_warp_;  // at least; KVRM_LANES_PER_WARP in the environment sets it, to test few lanes in one warp
  // The longest launch, where the driver limits it or KVRM_SLICE_MS in the environment sets it; 0: no limit.
  const std::chrono::milliseconds slice_;
  std::vector<std::unique_ptr<Lane>> lanes_;  // null until first used
  std::unique_ptr<backend::cuda::LaneSet> set_;  // of the lanes; null until they run
  std::unique_ptr<backend::cuda::StartSet> starts_;  // of raw lanes, if the translator needs them
  std::vector<u32> start_of_;  // lanes, in there
  std::unique_ptr<backend::cuda::LaneSet> job_set_;  // of the last batch of jobs
  unsigned job_lanes_ = 0;
  LaneProcesses processes_;
  Statistics past_;
};

}  // namespace kvrm
