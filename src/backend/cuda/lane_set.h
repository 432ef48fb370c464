// The lanes of a machine on one GPU: their device memory, and the launches that run them.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "accelerate/warp_loop.h"
#include "backend/cuda/driver.h"
#include "backend/cuda/gpu.h"
#include "backend/cuda/job_clock.h"
#include "backend/cuda/output_drain.h"
#include "backend/cuda/service.h"
#include "backend/cuda/start_set.h"
#include "backend/kernel/lane.h"

namespace kvrm::backend::cuda {

class LaneSet {
 public:
  struct Plan {
    u32 lanes = 1;
    u64 memory_limit = 0;  // of a lane, in bytes
    u32 most_areas = 0;    // of a lane's initial memory map
    u32 lanes_per_warp = 0;  // at least
    bool shares_memory = false;     // the lanes share one memory, which comes with load()
    bool windows = false;           // lanes that are alone have a window, if there is room
    dispatch::Router router = {};  // with addresses of the device
    bool dispatch_every = false;
    bool prefetch = false;  // lanes that are alone prefetch: as chosen, or as their counters say
    std::span<const prefetch::SiteChoice> prefetch_choices = {};
  };
  static Result<std::unique_ptr<LaneSet>> create(GpuPointer gpu, const Plan& plan);

  u32 padded_lanes() const { return padded_lanes_; }  // whole groups

  // The initial states of the lanes of later launches; before the first launch, or when no lane is to resume. The
  // inputs of the jobs are host memory, which is copied.
  Result<void> load(const StartSet& starts, std::span<const kernel::LaunchJob> jobs);

  // The parameters of one launch.
  struct Slice {
    std::chrono::milliseconds time{0};  // the most it may take; 0: no limit
    u32 length = kSlice;  // instructions between two polls of the host
    bool counts = false;  // takes samples, for samples()
  };
  struct Run {
    u64 budget = ~u64{0};
    bool reconverge = true;
    bool raw_calls = false;
    Slice slice;  // the first launch, and all of them unless Hooks::paused says otherwise
    std::span<const kernel::Order> orders;  // one for each padded lane; empty: the loaded jobs, one after the other
    std::chrono::nanoseconds job_time = JobClock::kNoLimit;  // what a loaded job may take
  };
  struct Hooks {
    Service::Handler serve;                              // by many threads
    OutputDrain::Sink output;                            // one at a time
    std::function<void(std::span<const u32>)> finished;  // numbers of jobs whose ends can be read
    std::function<void(u64)> progress;                   // instructions of this launch so far
    // A job has taken longer than Run::job_time. It stops with kBudget soon, unless it ends before.
    std::function<void(u32)> overdue;
    const std::atomic<bool>* cancel = nullptr;
    const std::atomic<bool>* failed = nullptr;  // the same, set by a hook
    bool is_cancelled() const {
      const auto is_set = [](const std::atomic<bool>* flag) { return flag && flag->load(std::memory_order_relaxed); };
      return is_set(cancel) || is_set(failed);
    }
    // A slice is over and not all lanes have stopped: gives the parameters of the next one.
    std::function<Result<Slice>()> paused;
  };
  // One launch, or several with slices. Returns when every lane has stopped; an error means that the device failed.
  Result<void> run(const Run& run, const Hooks& hooks);
  // Between launches: the lanes continue with translated code. A region is given by the number of its function in the
  // GPU's table, and by its code.
  struct Region {
    u32 function;
    u64 start;  // of its window, as find_window() gives it
    u32 words;
    u32 entry;  // of its entry pc, among all decoded words
    u32 from, until;  // the range of its code, in words of the window
    u32 entry_point;  // which of its entries this is
    u32 most;  // instructions at a time (interpreter/freestanding/lane_region.h)
  };
  Result<void> install_regions(GpuPointer gpu, std::span<const Region> regions);
  // Whether lanes can do bulk steps of loops: each has a warp with room in its multiprocessor.
  bool can_step() const { return alone() && !shares_memory() && !is_crowded(); }
  // Between launches: the lanes do bulk steps of these loops, which a warp can run (accelerate/warp_loop.h).
  struct Loop {
    const accelerate::LoopProgram* program;
    u64 start;  // of its window, as find_window() gives it
    u32 words;
    u32 head;  // its first word, among all decoded words
  };
  void set_eager_loops(bool eager) { eager_loops_ = eager; }  // for tests: whether they pay or not
  Result<void> install_loops(std::span<const Loop> loops);
  // Of these loops, in their order, since the last time.
  struct LoopCounts {
    u64 steps, iterations, left_out;
  };
  Result<std::vector<LoopCounts>> take_loop_counts();
  // The sample counts of each word of the images since the last call, for each interpreter::SampleKind. They count from
  // the first call on, in launches that sample.
  Result<std::vector<u32>> samples();
  // Whether most lanes are in the default FP mode: FPCR is zero and the inexact flag is set. Asks a few of them,
  // between launches.
  Result<bool> default_fp_mode() const;
  bool alone() const { return group_shift_ == 0; }
  bool prefetches() const { return alone() && plan_.prefetch && !plan_.shares_memory; }
  // Many warps on every multiprocessor run code of their own, so what they run has to fit into its caches. Lanes that
  // share warps run the same code at about the same time.
  bool is_crowded() const {
    constexpr u32 kWarps = 2;  // on a multiprocessor
    return alone() && groups_ > kWarps * static_cast<u32>(gpu_->context->properties().multiprocessors);
  }
  bool shares_memory() const { return plan_.shares_memory; }
  // Of each lane's window; 0: they have none.
  u32 window_shift() const { return window_shift_; }

  // Of a job, or of a lane after a launch with orders.
  const kernel::JobEnd& end(u32 number) const { return ends_[number]; }
  // Passes the lanes' output to the hook; true if that was everything before this position. For handlers that write
  // themselves, too.
  bool drain_output(u64 until = 0);

  // A lane's memory between launches, and the registers of neighboring lanes.
  Result<void> with_memory(u32 lane, const std::function<void(memory::GuestMemory&)>& work);
  Result<void> set_registers(u32 first, std::span<const Cpu> cpus);

  u64 launches() const { return launches_; }
  // Instructions that warps have executed, each once for the lanes that ran it together.
  u64 warp_instructions() const { return warp_instructions_; }
  const ServiceStatistics& calls() const { return calls_; }

  // Instructions between two polls of the host: a few milliseconds.
  static constexpr u32 kSlice = 8192;

 private:
  LaneSet(GpuPointer gpu, const Plan& plan) : gpu_(std::move(gpu)), plan_(plan) {}
  unsigned warps() const { return group_shift_ == 0 ? gpu_->single_warps : gpu_->warps(); }
  // Lanes that the GPU runs at the same time.
  u64 running_lanes() const { return std::min<u64>(groups_, warps()) << group_shift_; }
  struct Pools {
    u64 frames, frame_bytes, tables, table_bytes;
  };
  void plan_groups();
  void plan_windows(u64 free_bytes);
  u64 frame_bytes(u64 free_bytes) const;
  // Of all windows; one more, since the first one begins at a multiple of their size.
  u64 window_bytes(u32 shift) const { return (shift == 0 ? 0 : (u64{groups_} + 1) << shift) + memory::kWindowGuard; }
  Pools plan_pools(u64 free_bytes);
  void plan_caches();
  Result<void> allocate();
  Result<void> allocate_device(const Pools& pools);
  Result<void> allocate_pinned();
  Result<void> upload_world(const Pools& pools);
  Result<void> prepare();
  Result<void> load_jobs(std::span<const kernel::LaunchJob> jobs);
  Result<void> decode(bool again);
  // What the host has seen of a run.
  struct Seen {
    u32 ends = 0;
    std::vector<u32> numbers;  // of ended jobs that have not been reported
    bool cancelled = false;
    bool slice_is_over = false;  // why the launch was asked to pause, or:
    std::vector<JobClock::Overdue> overdue;  // jobs that are to stop before the next launch
    std::chrono::nanoseconds ran{0};  // in earlier launches
  };
  Result<void> collect_ends(const Hooks& hooks, Seen& seen, bool all_ended);
  void pass_on_cancel(const Hooks& hooks, Service& service, Seen& seen);
  void ask(kernel::Control what);
  u64 instructions_so_far() const;
  Result<std::vector<u32>> jobs_of_lanes() const;
  Result<void> find_overdue(const Hooks& hooks, JobClock& clock, std::chrono::nanoseconds now, Seen& seen);
  Result<void> stop_overdue(Seen& seen);
  Result<void> watch(const Hooks& hooks, Service& service, std::chrono::nanoseconds slice, JobClock& clock, Seen& seen);
  kernel::Launch describe() const;
  kernel::Launch describe(const Run& run, const Slice& slice) const;
  Result<void> upload_launch(const kernel::Launch& launch);
  Result<void> reset_run(const Run& run);
  Result<void> start_kernel();
  Result<void> prepare_next_launch(const Run& run, const Hooks& hooks, std::chrono::nanoseconds ran,
                                   kernel::Launch& launch, std::chrono::nanoseconds& slice, Seen& seen);
  Result<void> run_launches(const Run& run, const Hooks& hooks, Service& service);
  Result<void> count_warp_instructions();
  kernel::Mailbox host_mailbox() const;
  kernel::OutputRing host_ring() const;
  Result<void> upload(DeviceAddress to, const void* from, std::size_t bytes) const;
  u32* control_word() const;
  u32* unfinished_word() const;
  Result<void> grow(DeviceBuffer& buffer, u64 bytes, const char* what) const;
  template <class T>
  Result<void> put(DeviceBuffer& buffer, const std::vector<T>& items, const char* what);

  GpuPointer gpu_;
  Plan plan_;
  unsigned most_blocks_ = 0;  // that the buffers of running lanes have room for
  u32 group_shift_ = 0, padded_lanes_ = 0, groups_ = 0, area_capacity_ = 0, directory_slots_ = 0, l2_slots_ = 0,
      window_shift_ = 0, private_lines_ = 0;
  Stream stream_, copies_;
  // On the device: what lasts, and what comes with load().
  DeviceBuffer lanes_, world_, windows_, window_pages_, frames_, frame_links_, tables_, table_links_, directories_,
      areas_, l2_tlb_, watched_, private_words_, zeros_, counters_, locks_, orders_, launch_, prefetchers_,
      prefetch_choices_;
  DeviceBuffer images_, decoded_, plain_, pages_, starts_, start_areas_, start_pages_, names_, jobs_, inputs_,
      job_ends_, regions_, samples_, snapshots_, loops_, loop_bytes_, loop_judges_, loop_scratch_;
  u64 image_bytes_ = 0;
  u32 job_count_ = 0, region_count_ = 0, loop_count_ = 0;
  bool eager_loops_ = false;
  // Pinned.
  PinnedBuffer flags_, slots_, ring_, words_, progress_, finished_;
  std::vector<kernel::JobEnd> ends_;
  std::mutex drain_mutex_;
  std::unique_ptr<OutputDrain> drain_;
  const Hooks* hooks_ = nullptr;
  u64 launches_ = 0, warp_instructions_ = 0;
  ServiceStatistics calls_;
};

}  // namespace kvrm::backend::cuda
