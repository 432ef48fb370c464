// A device made of host memory: everything a launch needs, as backend/cuda/lane_set.cpp sets it up on a GPU, and
// launches that run on simulated warps.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "accelerate/warp_loop.h"
#include "backend/cuda/output_drain.h"
#include "backend/cuda/service.h"
#include "backend/cuda/start_set.h"
#include "backend/kernel/snapshot.h"
#include "simulated.h"
#include "simulated_kernel.h"
#include "simulated_region.h"

namespace kvrm::backend::test {

// Memory that begins at a page and holds zeros.
class Pages {
 public:
  explicit Pages(u64 bytes = 0) : bytes_(bytes) {
    if (bytes != 0) data_ = static_cast<u8*>(::operator new(bytes, kAlignment));
    if (bytes != 0) std::memset(data_, 0, bytes);
  }
  ~Pages() { ::operator delete(data_, kAlignment); }
  Pages(Pages&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Pages& operator=(Pages&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  template <class T = u8>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }
  u64 address() const { return reinterpret_cast<u64>(data_); }
  u64 size() const { return bytes_; }

 private:
  static constexpr std::align_val_t kAlignment{memory::kPageSize};
  u8* data_ = nullptr;
  u64 bytes_ = 0;
};

// The pools, tables and directories of some groups.
class SimulatedWorld {
 public:
  struct Plan {
    u32 group_shift = 0, groups = 1;
    u32 frames = 64, tables = 64, directory_slots = 64;
    bool shares_memory = false, locks = false;
    u32 window_shift = 0;
  };
  explicit SimulatedWorld(const Plan& plan)
      : frames_(u64{plan.frames} * (memory::kPageSize << plan.group_shift)),
        tables_(u64{plan.tables} * memory::group_table_bytes(plan.group_shift)),
        zeros_(memory::kPageSize),
        frame_links_(plan.frames),
        table_links_(plan.tables),
        directories_(plan.groups * memory::directory_words(plan.directory_slots)),
        locks_(plan.locks ? memory::kSharedLocks : 0) {
    // What was never used may hold anything.
    std::memset(frames_.as(), 0xa5, frames_.size());
    if (plan.window_shift != 0) {
      // Large, and only touched where pages are.
      windows_.reset(std::calloc(((u64{plan.groups} + 1) << plan.window_shift) + memory::kWindowGuard, 1));
      window_pages_.resize(plan.groups * memory::LaneWindow::words(plan.window_shift));
      const u64 first = memory::first_window(reinterpret_cast<u64>(windows_.get()), plan.window_shift);
      world_.windows = {plan.window_shift, reinterpret_cast<u8*>(first), window_pages_.data()};
    }
    world_.frames = {frames_.as(), memory::kPageSize << plan.group_shift, plan.frames, 0, 0, frame_links_.data(), 0};
    world_.tables = {
        tables_.as(), memory::group_table_bytes(plan.group_shift), plan.tables, 0, 0, table_links_.data(), 0};
    world_.zeros = zeros_.as();
    world_.group_shift = plan.group_shift;
    world_.directory_slots = plan.directory_slots;
    world_.shares_memory = plan.shares_memory;
    world_.shared_locks = plan.locks ? locks_.data() : nullptr;
  }
  memory::LaneWorld& world() { return world_; }
  u64* directories() { return directories_.data(); }
  // Of the pool and of the windows.
  u32 frames_in_use() const {
    u32 used = world_.frames.in_use;
    for (const u32 pages : window_pages_) used += static_cast<u32>(__builtin_popcount(pages));
    return used;
  }

 private:
  Pages frames_, tables_, zeros_;
  std::unique_ptr<void, decltype(&std::free)> windows_{nullptr, &std::free};
  std::vector<u32> window_pages_;
  std::vector<u32> frame_links_, table_links_;
  std::vector<u64> directories_;
  std::vector<u32> locks_;
  memory::LaneWorld world_{};
};

class SimulatedDevice {
 public:
  struct Plan {
    u32 group_shift = 0, groups = 1;
    u32 seats = 0;  // groups that run at the same time; 0: all
    u32 frames = 256, tables = 128, directory_slots = 64;
    u32 page_limit = 1u << 20, area_capacity = 64;
    u32 slots = 4;
    u64 ring_bytes = 8192;
    bool shares_memory = false, locks = false;  // one memory for all; as on a device that cannot exchange 16 bytes
    dispatch::Router router = {};
    bool dispatch_every = false;
    u32 private_lines = 4;
    bool prefetch = false;  // lanes that are alone
    std::vector<prefetch::SiteChoice> choices = {};
    // Of lanes that are alone and share no memory; 0: they have no windows. By default pages compete for places.
    u32 most_window_shift = 17;
    u32 window_shift() const { return group_shift == 0 && !shares_memory ? most_window_shift : 0; }
  };
  explicit SimulatedDevice(const Plan& plan)
      : plan_(plan),
        world_({plan.group_shift, plan.groups, plan.frames, plan.tables, plan.directory_slots, plan.shares_memory,
                plan.locks, plan.window_shift()}),
        mailbox_(plan.slots),
        ring_(plan.ring_bytes, kernel::kMostInRecord),
        lanes_(lane_count()),
        areas_(u64{lane_count()} * plan.area_capacity),
        l2_tlb_((u64{seats()} << plan.group_shift) * kFarSlots),
        watched_((u64{seats()} << plan.group_shift) * plan.private_lines),
        private_words_(watched_.size() * kernel::kPrivateEntries),
        prefetchers_(plan.prefetch && plan.group_shift == 0 ? lane_count() : 0),
        progress_(lane_count()) {
    describe();
    simulate_prepare(launch_);
  }

  u32 lane_count() const { return plan_.groups << plan_.group_shift; }
  u32 window_shift() const { return plan_.window_shift(); }
  u32 seats() const { return plan_.seats == 0 ? plan_.groups : plan_.seats; }
  SimulatedWorld& world() { return world_; }
  u32 free_slots() const { return mailbox_.free_slots(); }
  kernel::Lane& lane(u32 number) { return lanes_[number]; }

  struct Job {
    u32 start = 0;
    std::string input;
  };
  void load(const cuda::StartSet& starts, std::vector<Job> jobs) {
    jobs_ = std::move(jobs);
    images_ = Pages(starts.image_bytes() + memory::kPageSize);
    u64 at = 0;
    for (const auto& image : starts.images()) {
      std::memcpy(images_.as() + at, image->page(0), image->padded_size());
      at += image->padded_size();
    }
    decoded_ = Pages((starts.image_bytes() / 4 + 2) * sizeof(interpreter::WordEntry));
    plain_ = Pages(decoded_.size());
    start_bytes_ = Pages(starts.page_bytes().size() + memory::kPageSize);
    std::ranges::copy(starts.page_bytes(), start_bytes_.as());
    names_ = starts.names();
    records_.areas.resize(starts.area_count());
    records_.pages.resize(starts.start_page_count());
    const auto address = [](const auto& list) { return reinterpret_cast<u64>(list.data()); };
    auto records = starts.relocate(
        {images_.address(), start_bytes_.address(), address(records_.areas), address(records_.pages), address(names_)});
    std::copy(records.areas.begin(), records.areas.end(), records_.areas.begin());
    std::copy(records.pages.begin(), records.pages.end(), records_.pages.begin());
    snapshots_ = Pages(cuda::StartSet::kMostSnapshots * kernel::kSnapshotBytes);
    cuda::StartSet::give_snapshots(records.starts, starts.jobs_of_start(jobs_), snapshots_.address());
    records_.starts = std::move(records.starts);
    list_.clear();
    for (const Job& job : jobs_) {
      list_.push_back({job.start, reinterpret_cast<const u8*>(job.input.data()), job.input.size()});
    }
    ends_.assign(std::max<std::size_t>(jobs_.size(), lane_count()), kernel::JobEnd{});
    finished_.assign(jobs_.size(), 0);
    image_bytes_ = starts.image_bytes();
    describe();
    simulate_decode(launch_);
  }

  // After load(): these stand in for the words of the image at `offset`, which lanes see at `start`.
  void install_regions(const cuda::StartSet::SharedCode& code, std::vector<SimulatedRegion> regions) {
    regions_ = std::move(regions);
    region_list_.clear();
    for (const SimulatedRegion& region : regions_) {
      const auto index = [&](u64 address) { return u32((address - code.start) / 4); };
      const u64 until = region.until != 0 ? region.until : region.entry_pc + region.words.size() * 4;
      region_list_.push_back({reinterpret_cast<u64>(&region), code.start, u32(code.words.size()),
                              u32(code.offset / 4) + index(region.entry_pc),
                              index(std::min(region.entry_pc, region.from)), index(until), region.entry_point,
                              index(region.entry_pc) % 2 == 0 ? interpreter::LaneRegion::kNoLimit
                                                              : 2048 + static_cast<u32>(region.words.size())});
    }
    samples_.assign(image_bytes_ / 4 * interpreter::kSampleKinds, 0);
    describe();
    simulate_decode(launch_);
  }
  // After load() and install_regions(): proven loops of this code. False if a warp cannot run one of them.
  struct Loop {
    u64 head;
    const accelerate::LoopProgram* program;
  };
  bool install_loops(const cuda::StartSet::SharedCode& code, const std::vector<Loop>& loops, bool eager = true) {
    constexpr u64 kMostBytes = u64{1} << 16;
    std::string refusal;
    loop_bytes_.clear();
    loop_list_.clear();
    for (const Loop& loop : loops) {
      Pages& there = loop_bytes_.emplace_back(kMostBytes);
      const std::vector<u8> bytes = accelerate::make_warp_loop(*loop.program, there.address(), refusal);
      if (bytes.empty() || bytes.size() > kMostBytes) return false;
      std::ranges::copy(bytes, there.as());
      loop_list_.push_back({there.as<accelerate::WarpLoop>(), code.start, u32(code.words.size()),
                            u32(code.offset / 4 + (loop.head - code.start) / 4), loop.program->words,
                            kernel::LaneLoop::kNoRegion, 0, 0, 0});
    }
    judges_.assign(seats() * loops.size(), {});
    loop_scratch_.assign(seats() * accelerate::kWarpScratchWords, 0xa5a5a5a5a5a5a5a5);
    eager_loops_ = eager;
    describe();
    simulate_decode(launch_);
    return true;
  }
  const std::vector<kernel::LaneLoop>& loops() const { return loop_list_; }
  const std::vector<SimulatedRegion>& regions() const { return regions_; }
  const std::vector<u32>& samples() const { return samples_; }
  u64 retired_in_regions() const {
    u64 sum = 0;
    for (const SimulatedRegion& region : regions_) sum += region.retired;
    return sum;
  }

  struct Run {
    Lanes kind = Lanes::kFibers;
    u64 seed = 1;
    u64 budget = ~u64{0};
    u32 slice = 8192;
    bool reconverge = true;
    bool crowded = false;
    bool raw_calls = false;
    std::vector<kernel::Order> orders = {};  // empty: the jobs, one after the other
    cuda::Service::Handler serve = {};
    std::function<bool()> cancel = {};  // asked again and again while the lanes run
    std::function<bool()> pause = {};   // the same: the launch pauses and another resumes
    u32 pauses = 0;                     // so many launches are asked to end before they begin
    std::function<void()> paused = {};  // between two launches
    const std::atomic<u64>* clock = nullptr;  // of the device, in nanoseconds; null: it is always later
  };
  // Gives the number of launches it took.
  u32 run(const Run& run) {
    describe();
    launch_.budget = run.budget;
    launch_.slice = run.slice;
    launch_.crowded = run.crowded;
    launch_.reconverge = run.reconverge;
    launch_.raw_calls = run.raw_calls;
    launch_.orders = run.orders.empty() ? nullptr : run.orders.data();
    next_job_ = next_finished_ = 0;
    warp_instructions_ = 0;
    sync::store<sync::kRelaxed, sync::kSystem>(&control_, 0u);
    std::fill(finished_.begin(), finished_.end(), 0);
    std::fill(progress_.begin(), progress_.end(), 0);
    cuda::Service service(mailbox_.view(), run.serve,
                          [this](const kernel::Request& request) { return drain(request.output_end); });
    std::atomic<bool> ended = false;
    std::jthread watch([&] {
      while (!ended.load()) {
        drain(0);
        collect();
        const u32 asked = sync::load<sync::kRelaxed, sync::kSystem>(&control_);
        if (run.cancel && run.cancel() && !(asked & kernel::kCancel)) {
          service.cancel();
          ask(kernel::kCancel);
        }
        if (run.pause && run.pause()) ask(kernel::kPause);
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    });
    u32 launches = 0;
    do {
      unfinished_ = 0;
      if (launches < run.pauses) ask(kernel::kPause);
      control_cache_ = {0, sync::load<sync::kRelaxed, sync::kSystem>(&control_)};
      simulate_run(launch_, {run.kind, run.seed + launches, seats(), run.clock});
      take_back(kernel::kPause);
      launch_.resume = 1;
      ++launches;
      if (unfinished_ != 0 && run.paused) run.paused();
    } while (unfinished_ != 0);
    ended = true;
    watch.join();
    service.stop();
    EXPECT_EQ(service.error(), "");
    drain(0);
    collect();
    EXPECT_FALSE(drain_->broken());
    collected_ = 0;
    return launches;
  }
  // Of all lanes, while they run or between two launches.
  void ask(kernel::Control what) { sync::fetch_or<sync::kRelease, sync::kSystem>(&control_, u32{what}); }
  void take_back(kernel::Control what) { sync::fetch_and<sync::kRelaxed, sync::kSystem>(&control_, ~u32{what}); }
  // How far a lane says it has come.
  u64 progress(u32 lane) const { return sync::load<sync::kRelaxed, sync::kSystem>(&progress_[lane]); }
  const kernel::JobEnd& end(u32 number) const { return ends_[number]; }
  u64 warp_instructions() const { return warp_instructions_; }
  // How often lanes expected something.
  u64 prefetched() const {
    u64 sum = 0;
    for (const auto& lane : prefetchers_) sum += lane.answers();
    return sum;
  }
  // All jobs so far in the order of their ends.
  const std::vector<u32>& finished() const { return order_; }
  const std::string& output(u32 job, kernel::Stream stream = kernel::Stream::kOut) { return outputs_[{job, stream}]; }

 private:
  bool drain(u64 until) {
    const std::lock_guard lock(drain_mutex_);
    drain_->drain([this](u32 job, kernel::Stream stream, std::span<const u8> bytes) {
      outputs_[{job, stream}].append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    });
    return drain_->position() >= until;
  }
  void collect() {
    while (collected_ < finished_.size()) {
      const u32 number = sync::load<sync::kAcquire, sync::kSystem>(&finished_[collected_]);
      if (number == 0) break;
      EXPECT_NE(ends_.at(number - 1).stop.kind, kernel::StopKind::kNone);  // can be read as soon as it is there
      order_.push_back(number - 1);
      ++collected_;
    }
  }
  void describe() {
    launch_ = {};
    launch_.lanes = lanes_.data();
    launch_.world = &world_.world();
    launch_.directories = world_.directories();
    launch_.areas = areas_.data();
    launch_.lane_count = lane_count();
    launch_.group_shift = plan_.group_shift;
    launch_.area_capacity = plan_.area_capacity;
    launch_.page_limit = plan_.page_limit;
    launch_.job_count = u32(jobs_.size());
    launch_.images = images_.as();
    launch_.image_bytes = image_bytes_;
    launch_.decoded = decoded_.as<interpreter::WordEntry>();
    launch_.plain = plain_.as<interpreter::WordEntry>();
    launch_.regions = region_list_.empty() ? nullptr : region_list_.data();
    launch_.region_count = u32(region_list_.size());
    launch_.samples = samples_.empty() ? nullptr : samples_.data();
    launch_.loops = loop_list_.data();
    launch_.loop_count = u32(loop_list_.size());
    launch_.judges = judges_.data();
    launch_.loop_scratch = loop_scratch_.data();
    launch_.eager_loops = eager_loops_;
    launch_.l2_tlb = l2_tlb_.data();
    launch_.l2_slots = kFarSlots;
    launch_.prefetchers = prefetchers_.empty() ? nullptr : prefetchers_.data();
    launch_.prefetch_choices = {plan_.choices.data(), u32(plan_.choices.size())};
    launch_.private_lines = plan_.private_lines;
    launch_.watched = watched_.data();
    launch_.private_words = private_words_.data();
    launch_.router = plan_.router;
    launch_.dispatch_every = plan_.dispatch_every;
    launch_.mailbox = mailbox_.view();
    launch_.output = ring_.view();
    launch_.starts = records_.starts.data();
    launch_.jobs = list_.data();
    launch_.ends = ends_.data();
    launch_.next_job = &next_job_;
    launch_.next_finished = &next_finished_;
    launch_.finished = finished_.data();
    launch_.control = &control_;
    launch_.control_cache = &control_cache_;
    launch_.unfinished = &unfinished_;
    launch_.progress = progress_.data();
    launch_.warp_instructions = &warp_instructions_;
    if (!drain_) drain_ = std::make_unique<cuda::OutputDrain>(ring_.view());
  }

  static constexpr u32 kFarSlots = 16;  // few, so that they collide

  const Plan plan_;
  SimulatedWorld world_;
  SimulatedMailbox mailbox_;
  SimulatedRing ring_;
  std::vector<kernel::Lane> lanes_;
  std::vector<memory::Area> areas_;
  std::vector<memory::LaneTlbEntry> l2_tlb_;
  std::vector<memory::WatchedLine> watched_;
  std::vector<interpreter::WordEntry> private_words_;
  std::vector<prefetch::LanePrefetcher> prefetchers_;
  std::vector<u64> progress_;
  Pages images_, decoded_, plain_, start_bytes_, snapshots_;
  std::vector<SimulatedRegion> regions_;
  std::vector<interpreter::LaneRegion> region_list_;
  std::vector<u32> samples_;
  std::vector<Pages> loop_bytes_;
  std::vector<kernel::LaneLoop> loop_list_;
  std::vector<kernel::LoopJudge> judges_;
  std::vector<u64> loop_scratch_;
  bool eager_loops_ = false;
  u64 image_bytes_ = 0;
  std::string names_;
  cuda::StartSet::Records records_;
  std::vector<Job> jobs_;
  std::vector<kernel::LaunchJob> list_;
  std::vector<kernel::JobEnd> ends_;
  std::vector<u32> finished_, order_;
  std::size_t collected_ = 0;
  u32 next_job_ = 0, next_finished_ = 0, control_ = 0, unfinished_ = 0;
  kernel::ControlCache control_cache_{};
  u64 warp_instructions_ = 0;
  kernel::Launch launch_{};
  std::mutex drain_mutex_;
  std::unique_ptr<cuda::OutputDrain> drain_;
  std::map<std::pair<u32, kernel::Stream>, std::string> outputs_;
};

}  // namespace kvrm::backend::test
