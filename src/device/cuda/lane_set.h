// The lanes of a machine on one GPU: their memory there, and the launches that run them.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "device/cuda/driver.h"
#include "device/cuda/gpu.h"
#include "device/cuda/job_clock.h"
#include "device/cuda/output_drain.h"
#include "device/cuda/service.h"
#include "device/cuda/start_set.h"
#include "device/lanes/lane.h"

namespace kvrm::device::cuda {

struct LaneJobInput {
  u32 start = 0;  // in the StartSet
  std::span<const u8> input;
};

class LaneSet {
 public:
  struct Plan {
    u32 lanes = 1;
    u64 memory_limit = 0;  // of a lane, in bytes
    u32 most_areas = 0;    // of what a lane begins with
    u32 lanes_per_warp = 0;  // at least
    bool common = false;     // the lanes have one memory, which comes with place()
    dispatch::Router router = {};  // with addresses of the device
    bool dispatch_every = false;
  };
  static Result<std::unique_ptr<LaneSet>> create(GpuPointer gpu, const Plan& plan);

  u32 padded_lanes() const { return padded_lanes_; }  // whole groups

  // What the lanes of later launches begin with; before the first launch, or when no lane is to go on.
  Result<void> place(const StartSet& starts, std::span<const LaneJobInput> jobs);

  // How one launch is to be.
  struct Slice {
    std::chrono::milliseconds time{0};  // the most it may take; 0: as long as it takes
    u32 turn = kTurn;
    bool counts = false;  // where lanes are found; heat() gives it
  };
  struct Run {
    u64 budget = ~u64{0};
    bool meet = true;
    bool raw_calls = false;
    Slice slice;  // the first launch, and all of them unless Hooks::paused says otherwise
    std::span<const lanes::Order> orders;  // one for each padded lane; empty: the placed jobs, one after the other
    std::chrono::nanoseconds job_time = JobClock::kNoLimit;  // what a placed job may take
  };
  struct Hooks {
    Service::Handler serve;                              // by many threads
    OutputDrain::Sink output;                            // one at a time
    std::function<void(std::span<const u32>)> finished;  // numbers of jobs whose ends can be read
    std::function<void(u64)> progress;                   // instructions of this launch so far
    // A job has taken longer than Run::job_time. Soon it stops with kBudget, unless it ends in another way before.
    std::function<void(u32)> overdue;
    const std::atomic<bool>* cancel = nullptr;
    const std::atomic<bool>* failed = nullptr;  // the same, set by a hook
    bool is_cancelled() const {
      const auto is_set = [](const std::atomic<bool>* flag) { return flag && flag->load(std::memory_order_relaxed); };
      return is_set(cancel) || is_set(failed);
    }
    // A slice is over and not all lanes have stopped: how the next one is to be.
    std::function<Result<Slice>()> paused;
  };
  // One launch, or with slices as many as it takes. Returns when every lane has stopped; an error means that the device
  // failed.
  Result<void> run(const Run& run, const Hooks& hooks);
  // Between launches: the lanes go on with translated code. For each region its function's number in the GPU's table,
  // and where it is.
  struct Region {
    u32 function;
    u64 start;  // of the code it lies in, as find_window() gives it
    u32 words;
    u32 entry;  // of its head
    u32 from, until;  // where its code lies, in words of that
    u32 way_in;  // which of its heads this is
    u32 most;  // instructions at a time (interpreter/lane_region.h)
  };
  Result<void> take_regions(GpuPointer gpu, std::span<const Region> regions);
  // How often lanes were found at each word of the images since the last time, then how often they stood there when
  // they had left a region; counts from the first call on, in launches that count.
  Result<std::vector<u32>> heat();
  // Whether FPCR is zero and inexact sticky in most lanes, as far as a few of them tell; between launches.
  Result<bool> usual_float() const;
  bool alone() const { return group_shift_ == 0; }
  bool common() const { return plan_.common; }

  // Of a job, or of a lane after a launch with orders.
  const lanes::JobEnd& end(u32 number) const { return ends_[number]; }
  // Everything lanes have written so far goes to the output hook. For handlers that write themselves.
  // Gives the output that is there to the hook; true if that was everything before this position.
  bool drain_output(u64 until = 0);

  // A lane's memory between launches, and the registers of neighbouring lanes.
  Result<void> with_memory(u32 lane, const std::function<void(memory::GuestMemory&)>& work);
  Result<void> set_registers(u32 first, std::span<const Cpu> cpus);

  u64 launches() const { return launches_; }
  const ServiceStatistics& calls() const { return calls_; }

  // Instructions between two looks at the host: a few milliseconds.
  static constexpr u32 kTurn = 8192;

 private:
  LaneSet(GpuPointer gpu, const Plan& plan) : gpu_(std::move(gpu)), plan_(plan) {}
  unsigned warps() const { return group_shift_ == 0 ? gpu_->single_warps : gpu_->warps(); }
  Result<void> allocate();
  Result<void> prepare();
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
  void ask(lanes::Control what);
  u64 instructions_so_far() const;
  Result<std::vector<u32>> jobs_of_lanes() const;
  Result<void> find_overdue(const Hooks& hooks, JobClock& clock, std::chrono::nanoseconds now, Seen& seen);
  Result<void> stop_overdue(Seen& seen);
  Result<void> watch(const Hooks& hooks, Service& service, std::chrono::nanoseconds slice, JobClock& clock, Seen& seen);
  lanes::Launch describe() const;
  Result<void> tell(const lanes::Launch& launch);
  lanes::Mailbox host_mailbox() const;
  lanes::OutputRing host_ring() const;
  Result<void> upload(DeviceAddress to, const void* from, std::size_t bytes) const;
  u32* control_word() const;
  u32* unfinished_word() const;
  Result<void> grow(DeviceBuffer& buffer, u64 bytes, const char* what) const;
  template <class T>
  Result<void> put(DeviceBuffer& buffer, const std::vector<T>& items, const char* what);

  GpuPointer gpu_;
  Plan plan_;
  unsigned most_blocks_ = 0;  // that the tables of the lanes that run have room for
  u32 group_shift_ = 0, padded_lanes_ = 0, groups_ = 0, area_capacity_ = 0, directory_slots_ = 0, far_slots_ = 0,
      own_stretches_ = 0;
  Stream stream_, copies_;
  // On the device: what stays, and what comes with place().
  DeviceBuffer lanes_, world_, frames_, frame_links_, tables_, table_links_, directories_, areas_, far_pages_, watched_,
      own_words_, zeros_, counters_, locks_, orders_, launch_;
  DeviceBuffer images_, decoded_, plain_, pages_, starts_, start_areas_, start_pages_, names_, jobs_, inputs_,
      job_ends_, regions_, heat_, beginnings_;
  u64 image_bytes_ = 0;
  u32 job_count_ = 0, region_count_ = 0;
  // Pinned.
  PinnedBuffer flags_, slots_, ring_, words_, progress_, finished_;
  std::vector<lanes::JobEnd> ends_;
  std::mutex drain_mutex_;
  std::unique_ptr<OutputDrain> drain_;
  const Hooks* hooks_ = nullptr;
  u64 launches_ = 0;
  ServiceStatistics calls_;
};

}  // namespace kvrm::device::cuda
