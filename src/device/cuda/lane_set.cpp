#include "device/cuda/lane_set.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <thread>
#include <utility>

#include "device/cuda/remote_memory.h"
#include "device/lanes/beginning.h"
#include "semantics/float_format.h"

namespace kvrm::device::cuda {
namespace {

using memory::kPageSize;

constexpr u32 kSlots = 1024;                    // of the mailbox
constexpr u64 kRingBytes = u64{16} << 20;       // of the output ring
constexpr u64 kMostFrameBytes = u64{56} << 30;  // a machine leaves room for others
constexpr u64 kFarBytes = u64{256} << 20;
constexpr u64 kOwnCodeBytes = u64{128} << 20;
constexpr u32 kUsualTables = 24;                // of a group: what a program of ordinary shape touches

// Words that lanes count in. They lie far apart: each is busy.
enum Counter : u32 { kNextJob, kNextFinished, kRingHead, kKnownTail, kFreeSlots, kNews, kCounters };
constexpr u64 kCounterBytes = 256;

// In the pinned words that are shared with the host, each on lines of its own: the ring's tail, and lanes::Launch's.
constexpr u64 kTailAt = 0, kControlAt = 256, kUnfinishedAt = 512;

u64 divided_up(u64 value, u64 by) { return (value + by - 1) / by; }

}  // namespace

Result<std::unique_ptr<LaneSet>> LaneSet::create(GpuPointer gpu, const Plan& plan) {
  std::unique_ptr<LaneSet> set(new LaneSet(std::move(gpu), plan));
  if (auto done = set->allocate(); !done) return done.error();
  if (auto done = set->prepare(); !done) return done.error();
  return set;
}

Result<void> LaneSet::upload(DeviceAddress to, const void* from, std::size_t bytes) const {
  if (bytes == 0) return {};
  if (auto done = copies_.upload(to, from, bytes); !done) return done.error();
  return copies_.wait();
}

// A buffer that is large enough; what was in a smaller one is gone.
Result<void> LaneSet::grow(DeviceBuffer& buffer, u64 bytes, const char* what) const {
  if (bytes <= buffer.size()) return {};
  buffer = DeviceBuffer();
  auto larger = DeviceBuffer::allocate(gpu_->context, bytes, what);
  if (!larger) return larger.error();
  buffer = std::move(*larger);
  return {};
}

template <class T>
Result<void> LaneSet::put(DeviceBuffer& buffer, const std::vector<T>& items, const char* what) {
  const std::size_t bytes = items.size() * sizeof(T);
  if (auto done = grow(buffer, bytes, what); !done) return done;
  return upload(buffer.address(), items.data(), bytes);
}

Result<void> LaneSet::allocate() {
  const ContextPointer& context = gpu_->context;
  auto stream = Stream::create(context);
  auto copies = Stream::create(context);
  if (!stream) return stream.error();
  if (!copies) return copies.error();
  stream_ = std::move(*stream);
  copies_ = std::move(*copies);

  // As few lanes in a warp as the GPU has room for: lanes that share a warp wait for each other when they diverge.
  while (group_shift_ < 5 && (plan_.lanes >> group_shift_ > warps() || 1u << group_shift_ < plan_.lanes_per_warp))
    ++group_shift_;
  most_blocks_ = group_shift_ == 0 ? gpu_->single_warps : gpu_->blocks;
  groups_ = static_cast<u32>(divided_up(plan_.lanes, u64{1} << group_shift_));
  padded_lanes_ = groups_ << group_shift_;
  area_capacity_ = std::max(plan_.most_areas + memory::Areas::kMostGrowth,
                            std::clamp<u32>((1u << 22) / plan_.lanes, 64, memory::kMostAreas + 8));

  auto room = context->memory();
  if (!room) return room.error();
  const u64 slab = kPageSize << group_shift_;
  const u64 wanted =
      plan_.memory_limit > kMostFrameBytes / plan_.lanes ? kMostFrameBytes : plan_.memory_limit * padded_lanes_;
  const u64 frames = plan_.common ? 1 : std::max<u64>(1, std::min<u64>(wanted, room->free / 10 * 7) / slab);
  // Tables for what the pool can hold, and some for every group.
  const u64 page_limit = plan_.memory_limit / kPageSize;
  const u64 tables_of_group = kUsualTables + divided_up(std::min(page_limit, frames), memory::kTablePages);
  const u64 table_bytes = memory::group_table_bytes(group_shift_);
  const u64 tables = std::min<u64>({groups_ * tables_of_group, groups_ * u64{kUsualTables} + 2 * frames,
                                    std::max<u64>(groups_ * u64{kUsualTables}, (u64{2} << 30) / table_bytes)});
  directory_slots_ = std::bit_ceil(
      static_cast<u32>(std::clamp<u64>(2 * tables_of_group, 64, std::max<u64>(256, (u64{1} << 22) / groups_))));

  // As many as the GPU runs at a time have a table of their pages, of up to 16 MiB of guest memory.
  const u64 running = std::min<u64>(groups_, warps()) << group_shift_;
  far_slots_ = std::clamp<u32>(std::bit_floor(static_cast<u32>(kFarBytes / sizeof(memory::LaneTranslation) / running)),
                               64, 4096);
  // And some room for decoded code of their own: from 1 KiB of guest code each, where very many run, to 16 KiB. Lanes
  // with one memory have none.
  constexpr u64 kStretchCost = sizeof(memory::WatchedStretch) + lanes::kOwnEntries * sizeof(interpreter::WordEntry);
  const u32 most_stretches = plan_.common ? 4 : 64;
  own_stretches_ =
      std::clamp<u32>(std::bit_floor(static_cast<u32>(kOwnCodeBytes / kStretchCost / running)), 4, most_stretches);

  struct Wish {
    DeviceBuffer* buffer;
    u64 bytes;
    const char* what;
    bool zero;
  };
  const Wish wishes[] = {
      {&lanes_, padded_lanes_ * sizeof(lanes::Lane), "the lanes", true},
      {&world_, sizeof(memory::LaneWorld), "the pools", true},
      {&tables_, tables * table_bytes, "the page tables", true},
      {&table_links_, tables * sizeof(u32), "the page tables", false},
      {&directories_, groups_ * memory::directory_words(directory_slots_) * sizeof(u64), "the page directories", true},
      {&areas_, u64{padded_lanes_} * area_capacity_ * sizeof(memory::Area), "the memory maps", false},
      {&far_pages_, running * far_slots_ * sizeof(memory::LaneTranslation), "the lanes' tables", false},
      {&watched_, running * own_stretches_ * sizeof(memory::WatchedStretch), "the lanes' own code", false},
      {&own_words_, running * own_stretches_ * lanes::kOwnEntries * sizeof(interpreter::WordEntry),
       "the lanes' own code", false},
      {&zeros_, kPageSize, "a page", true},
      {&counters_, kCounters * kCounterBytes + kSlots / 8, "the counters", true},
      {&locks_, plan_.common ? memory::kCommonLocks * sizeof(u32) : 4, "the locks", true},
      {&orders_, padded_lanes_ * sizeof(lanes::Order), "the lanes' orders", true},
      {&launch_, sizeof(lanes::Launch), "the launch", true},
      {&frames_, frames * slab, "the lanes' private pages", false},
      {&frame_links_, frames * sizeof(u32), "the lanes' private pages", false},
  };
  for (const Wish& wish : wishes) {
    auto buffer = DeviceBuffer::allocate(context, wish.bytes, wish.what);
    if (!buffer) return buffer.error();
    *wish.buffer = std::move(*buffer);
    if (!wish.zero) continue;
    if (auto filled = stream_.fill(wish.buffer->address(), 0, wish.bytes); !filled) return filled.error();
  }
  struct PinnedWish {
    PinnedBuffer* buffer;
    u64 bytes;
    const char* what;
  };
  const PinnedWish pinned[] = {
      {&flags_, kSlots * sizeof(u32), "the mailbox"},
      {&slots_, kSlots * sizeof(lanes::Slot), "the mailbox"},
      {&ring_, kRingBytes, "the output ring"},
      {&words_, 4096, "the words shared with the host"},
      {&progress_, padded_lanes_ * sizeof(u64), "the lanes' progress"},
  };
  for (const PinnedWish& wish : pinned) {
    auto buffer = PinnedBuffer::allocate(context, wish.bytes, wish.what);
    if (!buffer) return buffer.error();
    *wish.buffer = std::move(*buffer);
  }
  memory::LaneWorld world{};
  world.frames = {reinterpret_cast<u8*>(frames_.address()),       slab, static_cast<u32>(frames), 0, 0,
                  reinterpret_cast<u32*>(frame_links_.address()), 0};
  world.tables = {reinterpret_cast<u8*>(tables_.address()),
                  table_bytes,
                  static_cast<u32>(tables),
                  0,
                  0,
                  reinterpret_cast<u32*>(table_links_.address()),
                  0};
  world.zeros = reinterpret_cast<const u8*>(zeros_.address());
  world.group_shift = group_shift_;
  world.directory_slots = directory_slots_;
  world.common = plan_.common;
  world.common_locks = reinterpret_cast<u32*>(locks_.address());  // the kernel drops them if it can do without
  if (auto waited = stream_.wait(); !waited) return waited.error();
  return upload(world_.address(), &world, sizeof(world));
}

lanes::Mailbox LaneSet::host_mailbox() const { return {flags_.as<u32>(), slots_.as<lanes::Slot>(), nullptr, kSlots}; }

u32* LaneSet::control_word() const { return reinterpret_cast<u32*>(words_.as<u8>() + kControlAt); }
u32* LaneSet::unfinished_word() const { return reinterpret_cast<u32*>(words_.as<u8>() + kUnfinishedAt); }
lanes::OutputRing LaneSet::host_ring() const {
  u64* const tail = reinterpret_cast<u64*>(words_.as<u8>() + kTailAt);
  return {ring_.as<u64>(), kRingBytes, lanes::kMostInRecord, tail, nullptr, nullptr};
}

lanes::Launch LaneSet::describe() const {
  const auto counter = [&](Counter which) { return counters_.address() + which * kCounterBytes; };
  lanes::Launch launch{};
  launch.lanes = reinterpret_cast<lanes::Lane*>(lanes_.address());
  launch.world = reinterpret_cast<memory::LaneWorld*>(world_.address());
  launch.directories = reinterpret_cast<u64*>(directories_.address());
  launch.areas = reinterpret_cast<memory::Area*>(areas_.address());
  launch.lane_count = padded_lanes_;
  launch.group_shift = group_shift_;
  launch.area_capacity = area_capacity_;
  launch.page_limit = static_cast<u32>(std::min<u64>(plan_.memory_limit / kPageSize, ~u32{0}));
  launch.job_count = job_count_;
  launch.images = reinterpret_cast<const u8*>(images_.address());
  launch.image_bytes = image_bytes_;
  launch.decoded = reinterpret_cast<interpreter::WordEntry*>(decoded_.address());
  launch.plain = reinterpret_cast<interpreter::WordEntry*>(plain_.address());
  launch.regions = region_count_ == 0 ? nullptr : reinterpret_cast<const interpreter::LaneRegion*>(regions_.address());
  launch.region_count = region_count_;
  launch.heat = reinterpret_cast<u32*>(heat_.address());
  launch.far_pages = reinterpret_cast<memory::LaneTranslation*>(far_pages_.address());
  launch.far_slots = far_slots_;
  launch.own_stretches = own_stretches_;
  launch.watched = reinterpret_cast<memory::WatchedStretch*>(watched_.address());
  launch.own_words = reinterpret_cast<interpreter::WordEntry*>(own_words_.address());
  launch.router = plan_.router;
  launch.dispatch_every = plan_.dispatch_every;
  launch.mailbox = {reinterpret_cast<u32*>(flags_.address()), reinterpret_cast<lanes::Slot*>(slots_.address()),
                    reinterpret_cast<u32*>(counter(kFreeSlots)), kSlots};
  launch.output = {reinterpret_cast<u64*>(ring_.address()),
                   kRingBytes,
                   lanes::kMostInRecord,
                   reinterpret_cast<u64*>(words_.address() + kTailAt),
                   reinterpret_cast<u64*>(counter(kRingHead)),
                   reinterpret_cast<u64*>(counter(kKnownTail))};
  launch.jobs = reinterpret_cast<const lanes::LaunchJob*>(jobs_.address());
  launch.ends = reinterpret_cast<lanes::JobEnd*>(job_ends_.address());
  launch.next_job = reinterpret_cast<u32*>(counter(kNextJob));
  launch.next_finished = reinterpret_cast<u32*>(counter(kNextFinished));
  launch.finished = reinterpret_cast<u32*>(finished_.address());
  launch.control = reinterpret_cast<const u32*>(words_.address() + kControlAt);
  launch.news = reinterpret_cast<lanes::News*>(counter(kNews));
  launch.unfinished = reinterpret_cast<u32*>(words_.address() + kUnfinishedAt);
  launch.progress = reinterpret_cast<u64*>(progress_.address());
  return launch;
}

Result<void> LaneSet::prepare() {
  const std::vector<u32> all_free(kSlots / 32, ~0u);
  if (auto done = upload(counters_.address() + kFreeSlots * kCounterBytes, all_free.data(), kSlots / 8); !done)
    return done.error();
  const lanes::Launch launch = describe();
  if (auto done = upload(launch_.address(), &launch, sizeof(launch)); !done) return done.error();
  constexpr unsigned kThreads = 256;
  const unsigned blocks = static_cast<unsigned>(divided_up(padded_lanes_, kThreads));
  if (auto done = gpu_->prepare.launch(stream_, {.grid = blocks, .block = kThreads}, launch_.address()); !done)
    return done.error();
  drain_ = std::make_unique<OutputDrain>(host_ring());
  return stream_.wait();
}

Result<void> LaneSet::place(const StartSet& starts, std::span<const LaneJobInput> jobs) {
  const ContextPointer& context = gpu_->context;
  image_bytes_ = starts.image_bytes();
  const u64 decoded_bytes = (image_bytes_ / 4 + 2) * sizeof(interpreter::WordEntry);
  if (auto done = grow(images_, image_bytes_ + 16, "the programs"); !done) return done;
  if (auto done = grow(decoded_, decoded_bytes, "the decoded programs"); !done) return done;
  u64 at = images_.address();
  for (const auto& image : starts.images()) {
    if (auto done = upload(at, image->page(0), image->padded_size()); !done) return done;
    at += image->padded_size();
  }
  if (auto done = put(pages_, starts.page_bytes(), "the programs' pages"); !done) return done;
  if (auto done = put(names_, std::vector<char>(starts.names().begin(), starts.names().end()), "names"); !done)
    return done;
  if (auto done = grow(start_areas_, starts.area_count() * sizeof(memory::Area), "the memory maps"); !done) return done;
  if (auto done = grow(start_pages_, starts.start_page_count() * sizeof(lanes::StartPage), "the memory maps"); !done)
    return done;
  StartSet::Placed placed = starts.placed_at(
      {images_.address(), pages_.address(), start_areas_.address(), start_pages_.address(), names_.address()});
  if (auto done = put(start_areas_, placed.areas, "the memory maps"); !done) return done;
  if (auto done = put(start_pages_, placed.pages, "the memory maps"); !done) return done;
  const std::vector<u32> jobs_of_start = starts.jobs_of_start(jobs);
  const u64 room = StartSet::kMostBeginnings * lanes::kBeginningBytes;
  if (std::ranges::any_of(jobs_of_start, [](u32 count) { return count > 1; })) {
    if (auto done = grow(beginnings_, room, "what jobs have in common"); !done) return done;
    if (auto done = stream_.fill(beginnings_.address(), 0, room); !done) return done;
    if (auto done = stream_.wait(); !done) return done;
    StartSet::give_beginnings(placed.starts, jobs_of_start, beginnings_.address());
  }
  if (auto done = put(starts_, placed.starts, "the programs' starts"); !done) return done;

  // Inputs that several jobs share are there once.
  std::vector<u8> inputs;
  std::vector<u64> offsets;
  std::map<const u8*, u64> known;
  for (const LaneJobInput& job : jobs) {
    const auto [found, is_new] = known.emplace(job.input.data(), inputs.size());
    if (is_new) inputs.insert(inputs.end(), job.input.begin(), job.input.end());
    offsets.push_back(job.input.empty() ? 0 : found->second);
  }
  if (auto done = put(inputs_, inputs, "the jobs' inputs"); !done) return done;
  std::vector<lanes::LaunchJob> list;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    list.push_back({reinterpret_cast<const lanes::Start*>(starts_.address()) + jobs[i].start,
                    reinterpret_cast<const u8*>(inputs_.address() + offsets[i]), jobs[i].input.size()});
  }
  if (auto done = put(jobs_, list, "the jobs"); !done) return done;
  job_count_ = static_cast<u32>(jobs.size());
  const u64 ends = std::max<u64>(job_count_, padded_lanes_);
  if (auto done = grow(job_ends_, ends * sizeof(lanes::JobEnd), "the jobs' results"); !done) return done;
  ends_.resize(ends);
  if (finished_.size() < job_count_ * sizeof(u32)) {
    auto finished = PinnedBuffer::allocate(context, job_count_ * sizeof(u32), "the jobs' results");
    if (!finished) return finished.error();
    finished_ = std::move(*finished);
  }
  region_count_ = 0;
  heat_ = DeviceBuffer();
  return decode(false);
}

Result<void> LaneSet::decode(bool again) {
  lanes::Launch launch = describe();
  if (again) launch.router.counts = nullptr;  // the words have been counted
  if (auto done = upload(launch_.address(), &launch, sizeof(launch)); !done) return done;
  constexpr unsigned kThreads = 256;
  const unsigned most = 8 * static_cast<unsigned>(gpu_->context->properties().multiprocessors);
  const unsigned blocks = static_cast<unsigned>(std::clamp<u64>(divided_up(image_bytes_ / 4, kThreads), 1, most));
  for (const u32 pass : {0u, 1u, 2u}) {
    if (auto done = gpu_->decode.launch(stream_, {.grid = blocks, .block = kThreads}, launch_.address(), pass); !done)
      return done;
  }
  return stream_.wait();
}

Result<void> LaneSet::take_regions(GpuPointer gpu, std::span<const Region> regions) {
  // Without room for it the lanes go on as they are.
  if (!grow(plain_, decoded_.size(), "the decoded programs")) return {};
  std::vector<interpreter::LaneRegion> list;
  for (const Region& region : regions) {
    const u64 code = region.function < gpu->regions.size() ? gpu->regions[region.function] : 0;
    if (code != 0)
      list.push_back(
          {code, region.start, region.words, region.entry, region.from, region.until, region.way_in, region.most});
  }
  if (auto done = put(regions_, list, "the translated regions"); !done) return done;
  region_count_ = static_cast<u32>(list.size());
  gpu_ = std::move(gpu);
  return decode(true);
}

Result<std::vector<u32>> LaneSet::heat() {
  std::vector<u32> counts(image_bytes_ / 4 * interpreter::kNotedParts);
  const u64 bytes = counts.size() * sizeof(u32);
  if (heat_.size() == bytes) {
    if (auto done = stream_.download(counts.data(), heat_.address(), bytes); !done) return done.error();
    if (auto done = stream_.wait(); !done) return done.error();
  } else if (auto done = grow(heat_, bytes, "the places where lanes are found"); !done) {
    return done.error();
  }
  if (auto done = stream_.fill(heat_.address(), 0, bytes); !done) return done.error();
  if (auto done = stream_.wait(); !done) return done.error();
  return counts;
}

Result<bool> LaneSet::usual_float() const {
  constexpr u32 kFew = 32;
  const u32 count = std::min(kFew, plan_.lanes);
  std::vector<WholeCpu> registers(count);
  for (u32 i = 0; i < count; ++i) {
    const DeviceAddress from = lanes_.address() + i * sizeof(lanes::Lane) + offsetof(lanes::Lane, registers);
    if (auto done = stream_.download(&registers[i], from, sizeof(WholeCpu)); !done) return done.error();
  }
  if (auto done = stream_.wait(); !done) return done.error();
  const auto usual = std::ranges::count_if(
      registers, [](const WholeCpu& cpu) { return cpu.fpcr == 0 && (cpu.fpsr & semantics::kInexact) != 0; });
  return 2 * usual > count;
}

bool LaneSet::drain_output(u64 until) {
  const std::lock_guard lock(drain_mutex_);
  if (hooks_) drain_->drain(hooks_->output);
  return drain_->position() >= until;
}

void LaneSet::ask(lanes::Control what) {
  sync::store<sync::kRelease, sync::kSystem>(control_word(), *control_word() | what);
}

void LaneSet::pass_on_cancel(const Hooks& hooks, Service& service, Seen& seen) {
  if (seen.cancelled || !hooks.is_cancelled()) return;
  seen.cancelled = true;
  service.cancel();
  ask(lanes::kCancel);
}

u64 LaneSet::instructions_so_far() const {
  u64 instructions = 0;
  for (u32 i = 0; i < padded_lanes_; ++i) {
    instructions += sync::load<sync::kRelaxed, sync::kSystem>(progress_.as<u64>() + i);
  }
  return instructions;
}

// While the kernel runs.
Result<void> LaneSet::watch(const Hooks& hooks, Service& service, std::chrono::nanoseconds slice, JobClock& clock,
                            Seen& seen) {
  using namespace std::chrono_literals;
  using Clock = std::chrono::steady_clock;
  auto wait = 20us;
  const auto begin = Clock::now();
  auto next_look = begin, next_collection = begin, next_clock = begin;
  for (;;) {
    auto done = stream_.wait_for(wait);
    if (!done) return done.error();
    drain_output();
    pass_on_cancel(hooks, service, seen);
    const auto now = Clock::now();
    if (slice.count() != 0 && now - begin >= slice) {
      seen.slice_is_over = true;
      ask(lanes::kPause);
    }
    if (clock.is_limited() && !*done && !seen.cancelled && now >= next_clock) {
      if (auto found = find_overdue(hooks, clock, seen.ran + (now - begin), seen); !found) return found;
      next_clock = now + std::max<Clock::duration>(clock.interval(), 20 * (Clock::now() - now));
    }
    if (hooks.progress && (*done || now >= next_look)) {
      hooks.progress(instructions_so_far());
      // With very many lanes it takes a while.
      next_look = now + std::max<Clock::duration>(5ms, 20 * (Clock::now() - now));
    }
    if (hooks.finished && (*done || now >= next_collection)) {
      next_collection = now + 25ms;
      if (auto collected = collect_ends(hooks, seen, *done && *unfinished_word() == 0); !collected) return collected;
    }
    if (*done) {
      seen.ran += now - begin;
      return {};
    }
    wait = std::min<std::chrono::microseconds>(wait * 2, 500us);
  }
}

// How the next launch is to be. Who was cancelled before it does not begin anything in it.
Result<void> LaneSet::tell(const lanes::Launch& launch) {
  const lanes::News news{0, *control_word()};
  if (auto done = upload(counters_.address() + kNews * kCounterBytes, &news, sizeof(news)); !done) return done;
  return upload(launch_.address(), &launch, sizeof(launch));
}

Result<void> LaneSet::run(const Run& run, const Hooks& hooks) {
  std::memset(progress_.host(), 0, progress_.size());
  std::memset(finished_.host(), 0, finished_.size());
  *control_word() = 0;
  const u32 zero = 0;
  for (const Counter which : {kNextJob, kNextFinished}) {
    if (auto done = upload(counters_.address() + which * kCounterBytes, &zero, sizeof(zero)); !done) return done;
  }
  if (!run.orders.empty()) {
    if (auto done = upload(orders_.address(), run.orders.data(), run.orders.size_bytes()); !done) return done;
  }
  const auto describe_for = [&](const Slice& slice) {
    lanes::Launch launch = describe();
    launch.budget = run.budget;
    launch.meet = run.meet;
    launch.turn = slice.turn;
    if (!slice.counts) launch.heat = nullptr;
    launch.raw_calls = run.raw_calls;
    if (!run.orders.empty()) launch.orders = reinterpret_cast<const lanes::Order*>(orders_.address());
    return launch;
  };
  lanes::Launch launch = describe_for(run.slice);
  if (auto done = tell(launch); !done) return done;

  // Few lanes spread over the multiprocessors, many fill them.
  const unsigned threads = group_shift_ == 0 ? 32 : Gpu::kBlockThreads;
  const unsigned shared = group_shift_ == 0 ? single_bytes() : threads * resident_bytes();
  std::chrono::nanoseconds slice = run.slice.time;
  JobClock clock(run.job_time, plan_.lanes);
  hooks_ = &hooks;
  // What a lane wrote itself comes before what the host does for it.
  Service service(host_mailbox(), hooks.serve,
                  [this](const lanes::Request& request) { return drain_output(request.output_end); });
  Seen seen;
  Result<void> ran;
  do {
    *unfinished_word() = 0;
    ++launches_;
    const unsigned blocks = std::min({static_cast<unsigned>(divided_up(groups_, threads / 32)), most_blocks_,
                                      group_shift_ == 0 ? gpu_->single_warps : gpu_->blocks});
    ran = gpu_->run.launch(stream_, {.grid = blocks, .block = threads, .shared_bytes = shared}, launch_.address());
    const std::chrono::nanoseconds ran_before = seen.ran;
    if (ran) ran = watch(hooks, service, slice, clock, seen);
    if (!ran || *unfinished_word() == 0) break;
    *control_word() &= ~u32{lanes::kPause};
    ran = stop_overdue(seen);
    if (!ran) break;
    const bool slice_is_over = std::exchange(seen.slice_is_over, false);
    if (slice.count() != 0 && !slice_is_over) {
      slice -= std::min<std::chrono::nanoseconds>(seen.ran - ran_before, slice - std::chrono::nanoseconds(1));
    }
    // Who has cancelled does not wait for a translation.
    if (hooks.paused && slice_is_over && !hooks.is_cancelled()) {
      auto next = hooks.paused();
      ran = next ? Result<void>() : next.error();
      if (!ran) break;
      slice = next->time;
      launch = describe_for(*next);  // there may be new regions
    }
    launch.resume = 1;
    pass_on_cancel(hooks, service, seen);  // the launch shall know it from the start
    ran = tell(launch);
  } while (ran);
  if (ran) {
    service.stop();
  } else {
    service.abort();
  }
  drain_output();
  hooks_ = nullptr;
  const ServiceStatistics calls = service.statistics();
  calls_.system_calls += calls.system_calls;
  calls_.faults += calls.faults;
  calls_.ticks += calls.ticks;
  calls_.commands += calls.commands;
  if (!ran) return ran;
  if (drain_->broken()) return Error{"the GPU's output made no sense: the device may be broken"};
  if (run.orders.empty()) return {};
  if (auto done = copies_.download(ends_.data(), job_ends_.address(), padded_lanes_ * sizeof(lanes::JobEnd)); !done)
    return done;
  return copies_.wait();
}

Result<void> LaneSet::with_memory(u32 lane, const std::function<void(memory::GuestMemory&)>& work) {
  const lanes::Mailbox mailbox = host_mailbox();
  sync::store<sync::kRelaxed, sync::kSystem>(mailbox.flags, u32{lanes::kServing});
  if (auto done = gpu_->serve.launch(stream_, {.grid = 1, .block = 1}, launch_.address(), lane); !done) return done;
  const std::atomic<bool> gone = false;
  RemoteMemory memory(mailbox, 0, gone);
  work(memory);
  mailbox.slots[0].reply = {};
  sync::store<sync::kRelease, sync::kSystem>(mailbox.flags, u32{lanes::kReply});
  return stream_.wait();
}

Result<void> LaneSet::set_registers(u32 first, std::span<const Cpu> cpus) {
  if (cpus.empty()) return {};
  const DeviceAddress to = lanes_.address() + first * sizeof(lanes::Lane) + offsetof(lanes::Lane, registers);
  if (auto done = copies_.upload_rows(to, sizeof(lanes::Lane), cpus.data(), sizeof(Cpu), cpus.size()); !done)
    return done;
  return copies_.wait();
}

}  // namespace kvrm::device::cuda
