#include "backend/cuda/lane_set.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <thread>
#include <utility>

#include "backend/cuda/remote_memory.h"
#include "backend/kernel/snapshot.h"
#include "semantics/float_format.h"

namespace kvrm::backend::cuda {
namespace {

using memory::kPageSize;

constexpr u32 kSlots = 1024;                    // of the mailbox
constexpr u64 kRingBytes = u64{16} << 20;       // of the output ring
constexpr u64 kMostFrameBytes = u64{56} << 30;  // a machine leaves room for others
constexpr u64 kMostWindowBytes = u64{36} << 30;
constexpr u64 kL2TlbBytes = u64{256} << 20;
constexpr u64 kPrivateCodeBytes = u64{128} << 20;
constexpr u32 kUsualTables = 24;                // of a group: what an ordinary program touches

// Words that all lanes access, each on a cache line of its own.
enum Counter : u32 {
  kNextJob,
  kNextFinished,
  kWarpInstructions,
  kRingHead,
  kKnownTail,
  kFreeSlots,
  kControlCache,
  kCounters
};
constexpr u64 kCounterBytes = 256;

// In the pinned words that are shared with the host, each on lines of its own: the ring's tail, and kernel::Launch's.
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

// Makes the buffer large enough; the contents of a smaller one are lost.
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

// As few lanes in a warp as the GPU has room for: lanes that share a warp wait for each other when they diverge.
void LaneSet::plan_groups() {
  while (group_shift_ < 5 && (plan_.lanes >> group_shift_ > warps() || 1u << group_shift_ < plan_.lanes_per_warp))
    ++group_shift_;
  most_blocks_ = group_shift_ == 0 ? gpu_->single_warps : gpu_->blocks;
  groups_ = static_cast<u32>(divided_up(plan_.lanes, u64{1} << group_shift_));
  padded_lanes_ = groups_ << group_shift_;
  area_capacity_ = std::max(plan_.most_areas + memory::Areas::kMostGrowth,
                            std::clamp<u32>((1u << 22) / plan_.lanes, 64, memory::kMostAreas + 8));
}

// The bytes of frames that lanes may have together.
u64 LaneSet::frame_bytes(u64 free_bytes) const {
  const u64 wanted =
      plan_.memory_limit > kMostFrameBytes / plan_.lanes ? kMostFrameBytes : plan_.memory_limit * padded_lanes_;
  return std::min({wanted, kMostFrameBytes, free_bytes / 10 * 7});
}

// A window for each lane that is alone, if there is room beside all frames: 1 GiB or 16 MiB of it, so that linked
// images serve many sets. What is at the place of another page has a frame of the pool, and is slower.
void LaneSet::plan_windows(u64 free_bytes) {
  if (!alone() || plan_.shares_memory || !plan_.windows) return;
  const u64 most = std::min(kMostWindowBytes, free_bytes / 10 * 8 - frame_bytes(free_bytes));
  for (const u32 shift : {24u, 30u}) {
    if (window_bytes(shift) <= most) window_shift_ = shift;
  }
}

// Frames for the lanes' private pages, and page tables for what these can hold.
LaneSet::Pools LaneSet::plan_pools(u64 free_bytes) {
  Pools pools;
  pools.frame_bytes = kPageSize << group_shift_;
  pools.frames = plan_.shares_memory ? 1 : std::max<u64>(1, frame_bytes(free_bytes) / pools.frame_bytes);
  const u64 page_limit = plan_.memory_limit / kPageSize;
  const u64 tables_of_group = kUsualTables + divided_up(std::min(page_limit, pools.frames), memory::kTablePages);
  pools.table_bytes = memory::group_table_bytes(group_shift_);
  pools.tables = std::min<u64>({groups_ * tables_of_group, groups_ * u64{kUsualTables} + 2 * pools.frames,
                                std::max<u64>(groups_ * u64{kUsualTables}, (u64{2} << 30) / pools.table_bytes)});
  directory_slots_ = std::bit_ceil(
      static_cast<u32>(std::clamp<u64>(2 * tables_of_group, 64, std::max<u64>(256, (u64{1} << 22) / groups_))));
  return pools;
}

// What the lanes have that run at the same time: an L2 TLB for up to 16 MiB of guest memory, and decoded private code,
// from 1 KiB of guest code each, where very many run, to 16 KiB. Lanes that share their memory have no private code.
void LaneSet::plan_caches() {
  l2_slots_ = std::clamp<u32>(
      std::bit_floor(static_cast<u32>(kL2TlbBytes / sizeof(memory::LaneTlbEntry) / running_lanes())), 64, 4096);
  constexpr u64 kLineCost = sizeof(memory::WatchedLine) + kernel::kPrivateEntries * sizeof(interpreter::WordEntry);
  const u32 most_lines = plan_.shares_memory ? 4 : 64;
  private_lines_ =
      std::clamp<u32>(std::bit_floor(static_cast<u32>(kPrivateCodeBytes / kLineCost / running_lanes())), 4, most_lines);
}

Result<void> LaneSet::allocate_device(const Pools& pools) {
  struct Request {
    DeviceBuffer* buffer;
    u64 bytes;
    const char* what;
    bool zero;
  };
  const u64 running = running_lanes(), lines = running * private_lines_;
  const Request requests[] = {
      {&lanes_, padded_lanes_ * sizeof(kernel::Lane), "the lanes", true},
      {&world_, sizeof(memory::LaneWorld), "the pools", true},
      {&tables_, pools.tables * pools.table_bytes, "the page tables", true},
      {&table_links_, pools.tables * sizeof(u32), "the page tables", false},
      {&directories_, groups_ * memory::directory_words(directory_slots_) * sizeof(u64), "the page directories", true},
      {&areas_, u64{padded_lanes_} * area_capacity_ * sizeof(memory::Area), "the memory maps", false},
      {&l2_tlb_, running * l2_slots_ * sizeof(memory::LaneTlbEntry), "the lanes' TLBs", false},
      {&watched_, lines * sizeof(memory::WatchedLine), "the lanes' private code", false},
      {&private_words_, lines * kernel::kPrivateEntries * sizeof(interpreter::WordEntry), "the lanes' private code",
       false},
      {&zeros_, kPageSize, "a page", true},
      {&counters_, kCounters * kCounterBytes + kSlots / 8, "the counters", true},
      {&locks_, plan_.shares_memory ? memory::kSharedLocks * sizeof(u32) : 4, "the locks", true},
      {&orders_, padded_lanes_ * sizeof(kernel::Order), "the lanes' orders", true},
      {&launch_, sizeof(kernel::Launch), "the launch", true},
      {&prefetchers_, prefetches() ? u64{padded_lanes_} * sizeof(prefetch::LanePrefetcher) : 0,
       "the lanes' prefetchers", true},
      {&prefetch_choices_, prefetches() ? plan_.prefetch_choices.size_bytes() : 0, "the choices of prefetches", false},
      {&windows_, window_bytes(window_shift_), "the lanes' windows", false},
      {&window_pages_, std::max<u64>(1, window_bytes(window_shift_) / kPageSize / 32) * sizeof(u32),
       "the lanes' windows", true},
      {&frames_, pools.frames * pools.frame_bytes, "the lanes' private pages", false},
      {&frame_links_, pools.frames * sizeof(u32), "the lanes' private pages", false},
  };
  for (const Request& request : requests) {
    auto buffer = DeviceBuffer::allocate(gpu_->context, request.bytes, request.what);
    if (!buffer) return buffer.error();
    *request.buffer = std::move(*buffer);
    if (!request.zero || request.bytes == 0) continue;
    if (auto filled = stream_.fill(request.buffer->address(), 0, request.bytes); !filled) return filled.error();
  }
  return {};
}

Result<void> LaneSet::allocate_pinned() {
  struct Request {
    PinnedBuffer* buffer;
    u64 bytes;
    const char* what;
  };
  const Request requests[] = {
      {&flags_, kSlots * sizeof(u32), "the mailbox"},
      {&slots_, kSlots * sizeof(kernel::Slot), "the mailbox"},
      {&ring_, kRingBytes, "the output ring"},
      {&words_, 4096, "the words shared with the host"},
      {&progress_, padded_lanes_ * sizeof(u64), "the lanes' progress"},
  };
  for (const Request& request : requests) {
    auto buffer = PinnedBuffer::allocate(gpu_->context, request.bytes, request.what);
    if (!buffer) return buffer.error();
    *request.buffer = std::move(*buffer);
  }
  return {};
}

Result<void> LaneSet::upload_world(const Pools& pools) {
  const auto pool = [](const DeviceBuffer& bytes, u64 size, u64 count, const DeviceBuffer& links) {
    return memory::SlabPool{reinterpret_cast<u8*>(bytes.address()),  size, static_cast<u32>(count), 0, 0,
                            reinterpret_cast<u32*>(links.address()), 0};
  };
  memory::LaneWorld world{};
  world.frames = pool(frames_, pools.frame_bytes, pools.frames, frame_links_);
  world.tables = pool(tables_, pools.table_bytes, pools.tables, table_links_);
  world.zeros = reinterpret_cast<const u8*>(zeros_.address());
  world.group_shift = group_shift_;
  world.directory_slots = directory_slots_;
  world.shares_memory = plan_.shares_memory;
  world.windows = {window_shift_, reinterpret_cast<u8*>(memory::first_window(windows_.address(), window_shift_)),
                   reinterpret_cast<u32*>(window_pages_.address())};
  world.shared_locks = reinterpret_cast<u32*>(locks_.address());  // the kernel drops them if it can do without
  if (auto waited = stream_.wait(); !waited) return waited.error();
  return upload(world_.address(), &world, sizeof(world));
}

Result<void> LaneSet::allocate() {
  auto stream = Stream::create(gpu_->context);
  auto copies = Stream::create(gpu_->context);
  if (!stream) return stream.error();
  if (!copies) return copies.error();
  stream_ = std::move(*stream);
  copies_ = std::move(*copies);
  auto room = gpu_->context->memory();
  if (!room) return room.error();
  plan_groups();
  plan_windows(room->free);
  const Pools pools = plan_pools(room->free);
  plan_caches();
  if (auto done = allocate_device(pools); !done) return done;
  if (auto done = allocate_pinned(); !done) return done;
  return upload_world(pools);
}

kernel::Mailbox LaneSet::host_mailbox() const { return {flags_.as<u32>(), slots_.as<kernel::Slot>(), nullptr, kSlots}; }

u32* LaneSet::control_word() const { return reinterpret_cast<u32*>(words_.as<u8>() + kControlAt); }
u32* LaneSet::unfinished_word() const { return reinterpret_cast<u32*>(words_.as<u8>() + kUnfinishedAt); }
kernel::OutputRing LaneSet::host_ring() const {
  u64* const tail = reinterpret_cast<u64*>(words_.as<u8>() + kTailAt);
  return {ring_.as<u64>(), kRingBytes, kernel::kMostInRecord, tail, nullptr, nullptr};
}

kernel::Launch LaneSet::describe() const {
  const auto counter = [&](Counter which) { return counters_.address() + which * kCounterBytes; };
  kernel::Launch launch{};
  launch.lanes = reinterpret_cast<kernel::Lane*>(lanes_.address());
  launch.world = reinterpret_cast<memory::LaneWorld*>(world_.address());
  launch.directories = reinterpret_cast<u64*>(directories_.address());
  launch.areas = reinterpret_cast<memory::Area*>(areas_.address());
  launch.lane_count = padded_lanes_;
  launch.group_shift = group_shift_;
  launch.crowded = is_crowded();
  launch.area_capacity = area_capacity_;
  launch.page_limit = static_cast<u32>(std::min<u64>(plan_.memory_limit / kPageSize, ~u32{0}));
  launch.job_count = job_count_;
  launch.images = reinterpret_cast<const u8*>(images_.address());
  launch.image_bytes = image_bytes_;
  launch.decoded = reinterpret_cast<interpreter::WordEntry*>(decoded_.address());
  launch.plain = reinterpret_cast<interpreter::WordEntry*>(plain_.address());
  launch.regions = region_count_ == 0 ? nullptr : reinterpret_cast<const interpreter::LaneRegion*>(regions_.address());
  launch.region_count = region_count_;
  launch.samples = reinterpret_cast<u32*>(samples_.address());
  launch.loops = reinterpret_cast<kernel::LaneLoop*>(loops_.address());
  launch.loop_count = loop_count_;
  launch.judges = reinterpret_cast<kernel::LoopJudge*>(loop_judges_.address());
  launch.loop_scratch = reinterpret_cast<u64*>(loop_scratch_.address());
  launch.eager_loops = eager_loops_;
  launch.l2_tlb = reinterpret_cast<memory::LaneTlbEntry*>(l2_tlb_.address());
  launch.l2_slots = l2_slots_;
  if (prefetches()) {
    launch.prefetchers = reinterpret_cast<prefetch::LanePrefetcher*>(prefetchers_.address());
    launch.prefetch_choices = {reinterpret_cast<const prefetch::SiteChoice*>(prefetch_choices_.address()),
                               static_cast<u32>(plan_.prefetch_choices.size())};
  }
  launch.private_lines = private_lines_;
  launch.watched = reinterpret_cast<memory::WatchedLine*>(watched_.address());
  launch.private_words = reinterpret_cast<interpreter::WordEntry*>(private_words_.address());
  launch.router = plan_.router;
  launch.dispatch_every = plan_.dispatch_every;
  launch.mailbox = {reinterpret_cast<u32*>(flags_.address()), reinterpret_cast<kernel::Slot*>(slots_.address()),
                    reinterpret_cast<u32*>(counter(kFreeSlots)), kSlots};
  launch.output = {reinterpret_cast<u64*>(ring_.address()),
                   kRingBytes,
                   kernel::kMostInRecord,
                   reinterpret_cast<u64*>(words_.address() + kTailAt),
                   reinterpret_cast<u64*>(counter(kRingHead)),
                   reinterpret_cast<u64*>(counter(kKnownTail))};
  launch.starts = reinterpret_cast<const kernel::Start*>(starts_.address());
  launch.jobs = reinterpret_cast<const kernel::LaunchJob*>(jobs_.address());
  launch.ends = reinterpret_cast<kernel::JobEnd*>(job_ends_.address());
  launch.next_job = reinterpret_cast<u32*>(counter(kNextJob));
  launch.next_finished = reinterpret_cast<u32*>(counter(kNextFinished));
  launch.finished = reinterpret_cast<u32*>(finished_.address());
  launch.control = reinterpret_cast<const u32*>(words_.address() + kControlAt);
  launch.control_cache = reinterpret_cast<kernel::ControlCache*>(counter(kControlCache));
  launch.unfinished = reinterpret_cast<u32*>(words_.address() + kUnfinishedAt);
  launch.progress = reinterpret_cast<u64*>(progress_.address());
  launch.warp_instructions = reinterpret_cast<u64*>(counter(kWarpInstructions));
  return launch;
}

Result<void> LaneSet::prepare() {
  const std::vector<u32> all_free(kSlots / 32, ~0u);
  if (auto done = upload(counters_.address() + kFreeSlots * kCounterBytes, all_free.data(), kSlots / 8); !done)
    return done.error();
  if (prefetches()) {
    const auto choices = plan_.prefetch_choices;
    if (auto done = upload(prefetch_choices_.address(), choices.data(), choices.size_bytes()); !done)
      return done.error();
  }
  const kernel::Launch launch = describe();
  if (auto done = upload(launch_.address(), &launch, sizeof(launch)); !done) return done.error();
  constexpr unsigned kThreads = 256;
  const unsigned blocks = static_cast<unsigned>(divided_up(padded_lanes_, kThreads));
  if (auto done = gpu_->prepare.launch(stream_, {.grid = blocks, .block = kThreads}, launch_.address()); !done)
    return done.error();
  drain_ = std::make_unique<OutputDrain>(host_ring());
  return stream_.wait();
}

Result<void> LaneSet::load(const StartSet& starts, std::span<const kernel::LaunchJob> jobs) {
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
  if (auto done = grow(start_pages_, starts.start_page_count() * sizeof(kernel::StartPage), "the memory maps"); !done)
    return done;
  StartSet::Records records = starts.relocate(
      {images_.address(), pages_.address(), start_areas_.address(), start_pages_.address(), names_.address()});
  if (auto done = put(start_areas_, records.areas, "the memory maps"); !done) return done;
  if (auto done = put(start_pages_, records.pages, "the memory maps"); !done) return done;
  const std::vector<u32> jobs_of_start = starts.jobs_of_start(jobs);
  const u64 room = StartSet::kMostSnapshots * kernel::kSnapshotBytes;
  if (std::ranges::any_of(jobs_of_start, [](u32 count) { return count > 1; })) {
    if (auto done = grow(snapshots_, room, "the snapshots"); !done) return done;
    if (auto done = stream_.fill(snapshots_.address(), 0, room); !done) return done;
    if (auto done = stream_.wait(); !done) return done;
    StartSet::give_snapshots(records.starts, jobs_of_start, snapshots_.address());
  }
  if (auto done = put(starts_, records.starts, "the programs' starts"); !done) return done;

  if (auto done = load_jobs(jobs); !done) return done;
  region_count_ = loop_count_ = 0;
  samples_ = DeviceBuffer();
  return decode(false);
}

Result<void> LaneSet::load_jobs(std::span<const kernel::LaunchJob> jobs) {
  // Inputs that several jobs share are there once.
  std::vector<u8> inputs;
  std::vector<u64> offsets;
  std::map<const u8*, u64> known;
  for (const kernel::LaunchJob& job : jobs) {
    const auto [found, is_new] = known.emplace(job.input, inputs.size());
    if (is_new) inputs.insert(inputs.end(), job.input, job.input + job.input_size);
    offsets.push_back(job.input_size == 0 ? 0 : found->second);
  }
  if (auto done = put(inputs_, inputs, "the jobs' inputs"); !done) return done;
  std::vector<kernel::LaunchJob> list(jobs.begin(), jobs.end());
  for (std::size_t i = 0; i < list.size(); ++i)
    list[i].input = reinterpret_cast<const u8*>(inputs_.address() + offsets[i]);
  if (auto done = put(jobs_, list, "the jobs"); !done) return done;
  job_count_ = static_cast<u32>(jobs.size());
  const u64 ends = std::max<u64>(job_count_, padded_lanes_);
  if (auto done = grow(job_ends_, ends * sizeof(kernel::JobEnd), "the jobs' results"); !done) return done;
  ends_.resize(ends);
  if (finished_.size() < job_count_ * sizeof(u32)) {
    auto finished = PinnedBuffer::allocate(gpu_->context, job_count_ * sizeof(u32), "the jobs' results");
    if (!finished) return finished.error();
    finished_ = std::move(*finished);
  }
  return {};
}

Result<void> LaneSet::decode(bool again) {
  kernel::Launch launch = describe();
  if (again) launch.router.counts = nullptr;  // the words have been counted
  if (auto done = upload(launch_.address(), &launch, sizeof(launch)); !done) return done;
  constexpr unsigned kThreads = 256;
  const unsigned most = 8 * static_cast<unsigned>(gpu_->context->properties().multiprocessors);
  const unsigned blocks = static_cast<unsigned>(std::clamp<u64>(divided_up(image_bytes_ / 4, kThreads), 1, most));
  for (const u32 pass : {0u, 1u, 2u, 3u}) {
    if (auto done = gpu_->decode.launch(stream_, {.grid = blocks, .block = kThreads}, launch_.address(), pass); !done)
      return done;
  }
  return stream_.wait();
}

Result<void> LaneSet::install_regions(GpuPointer gpu, std::span<const Region> regions) {
  // Without memory for it the lanes continue without regions.
  if (!grow(plain_, decoded_.size(), "the decoded programs")) return {};
  std::vector<interpreter::LaneRegion> list;
  for (const Region& region : regions) {
    const u64 code = region.function < gpu->regions.size() ? gpu->regions[region.function] : 0;
    if (code != 0)
      list.push_back(
          {code, region.start, region.words, region.entry, region.from, region.until, region.entry_point, region.most});
  }
  if (auto done = put(regions_, list, "the translated regions"); !done) return done;
  region_count_ = static_cast<u32>(list.size());
  gpu_ = std::move(gpu);
  return decode(true);
}

Result<std::vector<u32>> LaneSet::samples() {
  std::vector<u32> counts(image_bytes_ / 4 * interpreter::kSampleKinds);
  const u64 bytes = counts.size() * sizeof(u32);
  if (samples_.size() == bytes) {
    if (auto done = stream_.download(counts.data(), samples_.address(), bytes); !done) return done.error();
    if (auto done = stream_.wait(); !done) return done.error();
  } else if (auto done = grow(samples_, bytes, "the samples"); !done) {
    return done.error();
  }
  if (auto done = stream_.fill(samples_.address(), 0, bytes); !done) return done.error();
  if (auto done = stream_.wait(); !done) return done.error();
  return counts;
}

Result<bool> LaneSet::default_fp_mode() const {
  constexpr u32 kFew = 32;
  const u32 count = std::min(kFew, plan_.lanes);
  std::vector<WholeCpu> registers(count);
  for (u32 i = 0; i < count; ++i) {
    const DeviceAddress from = lanes_.address() + i * sizeof(kernel::Lane) + offsetof(kernel::Lane, registers);
    if (auto done = stream_.download(&registers[i], from, sizeof(WholeCpu)); !done) return done.error();
  }
  if (auto done = stream_.wait(); !done) return done.error();
  const auto defaults = std::ranges::count_if(
      registers, [](const WholeCpu& cpu) { return cpu.fpcr == 0 && (cpu.fpsr & semantics::kInexact) != 0; });
  return 2 * defaults > count;
}

bool LaneSet::drain_output(u64 until) {
  const std::lock_guard lock(drain_mutex_);
  if (hooks_) drain_->drain(hooks_->output);
  return drain_->position() >= until;
}

// The launch's parameters. A cancel that came before it is known from the start: no lane starts anything then.
Result<void> LaneSet::upload_launch(const kernel::Launch& launch) {
  const kernel::ControlCache cache{0, *control_word()};
  if (auto done = upload(counters_.address() + kControlCache * kCounterBytes, &cache, sizeof(cache)); !done)
    return done;
  return upload(launch_.address(), &launch, sizeof(launch));
}

kernel::Launch LaneSet::describe(const Run& run, const Slice& slice) const {
  kernel::Launch launch = describe();
  launch.budget = run.budget;
  launch.reconverge = run.reconverge;
  launch.slice = slice.length;
  if (!slice.counts) launch.samples = nullptr;
  launch.raw_calls = run.raw_calls;
  if (!run.orders.empty()) launch.orders = reinterpret_cast<const kernel::Order*>(orders_.address());
  return launch;
}

// Clears what a run counts, and uploads its orders.
Result<void> LaneSet::reset_run(const Run& run) {
  std::memset(progress_.host(), 0, progress_.size());
  std::memset(finished_.host(), 0, finished_.size());
  *control_word() = 0;
  const u64 zero = 0;
  for (const Counter which : {kNextJob, kNextFinished, kWarpInstructions}) {
    if (auto done = upload(counters_.address() + which * kCounterBytes, &zero, sizeof(zero)); !done) return done;
  }
  return upload(orders_.address(), run.orders.data(), run.orders.size_bytes());
}

// Few lanes spread over the multiprocessors, many fill them.
Result<void> LaneSet::start_kernel() {
  const unsigned threads = group_shift_ == 0 ? 32 : Gpu::kBlockThreads;
  const unsigned single = single_bytes() + (loop_count_ != 0 ? kernel::kWarpSpareWords * sizeof(u64) : 0);
  const unsigned shared = group_shift_ == 0 ? single : threads * resident_bytes();
  const unsigned blocks = std::min({static_cast<unsigned>(divided_up(groups_, threads / 32)), most_blocks_,
                                    group_shift_ == 0 ? gpu_->single_warps : gpu_->blocks});
  *unfinished_word() = 0;
  ++launches_;
  return gpu_->run.launch(stream_, {.grid = blocks, .block = threads, .shared_bytes = shared}, launch_.address());
}

// After a launch that paused: what the next one does.
Result<void> LaneSet::prepare_next_launch(const Run& run, const Hooks& hooks, std::chrono::nanoseconds ran,
                                          kernel::Launch& launch, std::chrono::nanoseconds& slice, Seen& seen) {
  *control_word() &= ~u32{kernel::kPause};
  if (auto done = stop_overdue(seen); !done) return done;
  const bool slice_is_over = std::exchange(seen.slice_is_over, false);
  if (slice.count() != 0 && !slice_is_over)
    slice -= std::min<std::chrono::nanoseconds>(ran, slice - std::chrono::nanoseconds(1));
  // A cancelled run does not wait for a translation.
  if (hooks.paused && slice_is_over && !hooks.is_cancelled()) {
    auto next = hooks.paused();
    if (!next) return next.error();
    slice = next->time;
    launch = describe(run, *next);  // there may be new regions
  }
  launch.resume = 1;
  return {};
}

// Launches until every lane has stopped.
Result<void> LaneSet::run_launches(const Run& run, const Hooks& hooks, Service& service) {
  kernel::Launch launch = describe(run, run.slice);
  if (auto done = upload_launch(launch); !done) return done;
  std::chrono::nanoseconds slice = run.slice.time;
  JobClock clock(run.job_time, plan_.lanes);
  Seen seen;
  for (;;) {
    if (auto done = start_kernel(); !done) return done;
    const std::chrono::nanoseconds ran_before = seen.ran;
    if (auto done = watch(hooks, service, slice, clock, seen); !done) return done;
    if (*unfinished_word() == 0) return {};
    if (auto done = prepare_next_launch(run, hooks, seen.ran - ran_before, launch, slice, seen); !done) return done;
    pass_on_cancel(hooks, service, seen);
    if (auto done = upload_launch(launch); !done) return done;
  }
}

Result<void> LaneSet::run(const Run& run, const Hooks& hooks) {
  if (auto done = reset_run(run); !done) return done;
  hooks_ = &hooks;
  // A lane's own output precedes the host's output for it.
  Service service(host_mailbox(), hooks.serve,
                  [this](const kernel::Request& request) { return drain_output(request.output_end); });
  Result<void> ran = run_launches(run, hooks, service);
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
  if (ran && drain_->broken()) ran = Error{"the GPU's output made no sense: the device may be broken"};
  if (!ran) {
    // Jobs that ended before the failure are in the statistics already. Of a run with orders nothing gets there.
    if (run.orders.empty()) (void)count_warp_instructions();
    return ran;
  }
  if (!run.orders.empty()) {
    if (auto done = copies_.download(ends_.data(), job_ends_.address(), padded_lanes_ * sizeof(kernel::JobEnd)); !done)
      return done;
  }
  return count_warp_instructions();
}

// Those of this run. Waits for all copies.
Result<void> LaneSet::count_warp_instructions() {
  u64 count = 0;
  const DeviceAddress from = counters_.address() + kWarpInstructions * kCounterBytes;
  if (auto done = copies_.download(&count, from, sizeof(count)); !done) return done;
  if (auto done = copies_.wait(); !done) return done;
  warp_instructions_ += count;
  return {};
}

Result<void> LaneSet::with_memory(u32 lane, const std::function<void(memory::GuestMemory&)>& work) {
  const kernel::Mailbox mailbox = host_mailbox();
  sync::store<sync::kRelaxed, sync::kSystem>(mailbox.flags, u32{kernel::kServing});
  if (auto done = gpu_->serve.launch(stream_, {.grid = 1, .block = 1}, launch_.address(), lane); !done) return done;
  const std::atomic<bool> gone = false;
  RemoteMemory memory(mailbox, 0, gone);
  work(memory);
  mailbox.slots[0].reply = {};
  sync::store<sync::kRelease, sync::kSystem>(mailbox.flags, u32{kernel::kReply});
  return stream_.wait();
}

Result<void> LaneSet::set_registers(u32 first, std::span<const Cpu> cpus) {
  if (cpus.empty()) return {};
  const DeviceAddress to = lanes_.address() + first * sizeof(kernel::Lane) + offsetof(kernel::Lane, registers);
  if (auto done = copies_.upload_rows(to, sizeof(kernel::Lane), cpus.data(), sizeof(Cpu), cpus.size()); !done)
    return done;
  return copies_.wait();
}

}  // namespace kvrm::backend::cuda
