// The lanes of a machine on one GPU: their memory, and the launches that run them.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/cuda/driver.h"
#include "device/cuda/module_cache.h"
#include "device/cuda/output_drain.h"
#include "device/cuda/service.h"
#include "device/lanes/lane.h"

namespace kvrm::device::cuda {

// A GPU with our kernels on it.
struct Gpu {
  ContextPointer context;
  Kernel kernel;
  Function run, prepare, serve;
  unsigned blocks = 0;  // of kBlockThreads threads, as many as are resident at once

  static constexpr unsigned kBlockThreads = 128;
  static Result<std::shared_ptr<const Gpu>> open(int ordinal, const ProgressCallback& progress = {});
  unsigned warps() const { return blocks * (kBlockThreads / 32); }
  unsigned most_lanes() const { return blocks * kBlockThreads; }  // that run at the same time
};
using GpuPointer = std::shared_ptr<const Gpu>;

// What lanes begin with, collected on the host and then placed on the device. Numbers are in the order of adding.
class StartSet {
 public:
  struct Page {
    u64 address;
    const u8* bytes;  // a page of them, copied
  };
  struct Area {
    u64 start, end;
    u32 protection;
    std::shared_ptr<const memory::Image> image;  // null: zeros
    u64 offset;                                  // in the image
    bool common = false;                         // one memory for all lanes: its pages are shared and written in place
  };
  struct Contents {
    Cpu cpu{};
    bool is_process = false;
    std::vector<Area> areas;
    std::vector<Page> pages;  // not as their area says
    linux_abi::LaneProcess process;
    std::array<std::optional<linux_abi::GuestStat>, 3> stats;
    std::string program;
  };
  u32 add(const Contents& contents);
  u32 size() const { return static_cast<u32>(starts_.size()); }
  bool fits(u32 area_capacity) const { return most_areas_ <= area_capacity; }

 private:
  friend class LaneSet;
  struct Planned {
    lanes::Start start;  // pointers are offsets until placed
    std::vector<StartSet::Area> areas;
    std::vector<lanes::StartPage> pages;
    std::string program;
  };
  u64 place_image(const std::shared_ptr<const memory::Image>& image);
  u64 place_page(const u8* bytes, bool alone);

  std::vector<Planned> starts_;
  std::size_t most_areas_ = 0;
  // Bytes that may hold code: whole images. Other pages: equal ones are kept once.
  std::vector<std::shared_ptr<const memory::Image>> images_;
  std::map<const memory::Image*, u64> image_offsets_;
  u64 image_bytes_ = 0;
  std::vector<u8> pages_;
  std::unordered_multimap<u64, u64> page_offsets_;  // by hash
};

struct LaneJobInput {
  u32 start = 0;  // in the StartSet
  std::span<const u8> input;
};

class LaneSet {
 public:
  struct Plan {
    u32 lanes = 1;
    u64 memory_limit = 0;  // of a lane, in bytes
    u64 most_memory = 0;   // of the device, for all lanes together; 0: what is there
  };
  static Result<std::unique_ptr<LaneSet>> create(GpuPointer gpu, const Plan& plan);
  ~LaneSet();

  u32 lanes() const { return plan_.lanes; }

  // What the lanes of later launches begin with. Lanes that began with what was here before must not go on.
  Result<void> place(const StartSet& starts, std::span<const LaneJobInput> jobs);

  struct Run {
    u64 budget = ~u64{0};
    bool meet = true;
    u32 turn = 8192;
    bool raw_calls = false;
    std::span<const lanes::Order> orders;  // one for each lane; empty: the placed jobs, one after the other
  };
  struct Hooks {
    Service::Handler serve;                    // by many threads
    OutputDrain::Sink output;                  // by the thread that called run()
    std::function<void(std::span<const u32>)> finished;  // numbers of jobs whose ends can be read; likewise
    std::function<void(u64)> progress;         // instructions of this launch so far; likewise
    const std::atomic<bool>* cancel = nullptr;
  };
  // One launch. Returns when every lane has stopped; an error means that the device failed.
  Result<void> run(const Run& run, const Hooks& hooks);
  // Of a job, or of a lane after a launch with orders.
  const lanes::JobEnd& end(u32 number) const { return ends_[number]; }

  // A lane's memory between launches.
  Result<void> with_memory(u32 lane, const std::function<void(memory::GuestMemory&)>& work);
  // Registers of lanes that will go on.
  Result<void> set_registers(u32 lane, const lanes::Registers& registers);

  u64 launches() const { return launches_; }
  ServiceStatistics calls() const { return calls_; }
  void drain_output();  // everything in the ring now; for handlers that must keep the order

 private:
  explicit LaneSet(GpuPointer gpu, const Plan& plan) : gpu_(std::move(gpu)), plan_(plan) {}
  Result<void> allocate();
  Result<void> collect(const Hooks& hooks, u32& seen);
  Result<void> wait_for_end(const Hooks& hooks, Service& service);
  lanes::Launch describe() const;
  Result<void> upload(DeviceAddress to, const void* from, std::size_t bytes);

  GpuPointer gpu_;
  Plan plan_;
  u32 group_shift_ = 0, padded_lanes_ = 0, groups_ = 0, area_capacity_ = 0, page_limit_ = 0, directory_slots_ = 0;
  bool has_images_ = false;
  Stream stream_, copies_;
  // On the device.
  DeviceBuffer lanes_, world_, frames_, frame_links_, tables_, table_links_, directories_, areas_, zeros_, counters_;
  DeviceBuffer images_, decoded_, pages_, starts_, start_areas_, start_pages_, names_, jobs_, inputs_, job_ends_, orders_,
      launch_;
  u64 image_bytes_ = 0;
  u32 job_count_ = 0, end_count_ = 0;
  // Pinned.
  PinnedBuffer flags_, slots_, ring_, words_, progress_, finished_;
  std::vector<lanes::JobEnd> ends_;
  std::unique_ptr<OutputDrain> drain_;
  std::mutex drain_mutex_;
  const Hooks* hooks_ = nullptr;
  u64 launches_ = 0;
  ServiceStatistics calls_;
};

}  // namespace kvrm::device::cuda
