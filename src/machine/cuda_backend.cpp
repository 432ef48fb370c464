#include "machine/cuda_backend.h"

#include <cstdlib>
#include <string_view>
#include <tuple>
#include <utility>

#include "machine/jobs.h"
#include "machine/loop_statistics.h"

namespace kvrm {

namespace kernel = backend::kernel;
using backend::cuda::LaneSet;
using backend::cuda::StartSet;

namespace {

// Whether two lanes start with the same registers and memory.
bool same_start(const linux_abi::ProcessOptions& a, const linux_abi::ProcessOptions& b) {
  const auto facts = [](const linux_abi::ProcessOptions& o) {
    return std::tie(o.args, o.env, o.exe_path, o.root, o.clock, o.seed, o.verbose, o.stdin_fd, o.stdout_fd,
                    o.stderr_fd);
  };
  return facts(a) == facts(b) && !a.input == !b.input && !a.output == !b.output && !a.errors == !b.errors &&
         !a.trace == !b.trace;
}

bool turned_off(const char* variable) {
  const char* value = std::getenv(variable);
  return value && std::string_view(value) == "0";
}

// The value of an environment variable, or 0.
u32 number_in(const char* variable) {
  const char* value = std::getenv(variable);
  return value ? static_cast<u32>(std::strtoul(value, nullptr, 10)) : 0;
}

constexpr const char* kSliceVariable = "KVRM_SLICE_MS";
std::chrono::milliseconds slice_of(const backend::cuda::Gpu& gpu) {
  constexpr std::chrono::milliseconds kDefault{500};  // drivers with a limit end a kernel after seconds
  if (std::getenv(kSliceVariable)) return std::chrono::milliseconds(number_in(kSliceVariable));
  return gpu.context->properties().limits_kernel_time ? kDefault : std::chrono::milliseconds(0);
}

std::unique_ptr<GpuLoops> make_loops(const std::shared_ptr<accelerate::Loops>& loops, const Options& options) {
  return loops ? std::make_unique<GpuLoops>(loops, options.jit_threshold == 0u) : nullptr;
}

}  // namespace

Result<std::unique_ptr<CudaBackend>> CudaBackend::create(const Options& options, const DispatchOptions& dispatch) {
  const auto report = [&](const backend::cuda::CompileProgress& progress) {
    if (options.notice && !progress.done) options.notice(progress.message);
  };
  auto gpu =
      backend::cuda::Gpu::open(static_cast<int>(options.device_ordinal), report,
                               options.code_cache ? backend::cuda::CubinCache::of_user() : backend::cuda::CubinCache());
  if (!gpu) return gpu.error();
  if (options.shared_memory && options.lanes > (*gpu)->most_lanes())
    return too_many_shared_lanes(options.lanes, (*gpu)->most_lanes());
  auto router = backend::cuda::DeviceRouter::create((*gpu)->context, dispatch.mode(), dispatch.network());
  if (!router) return router.error();
  auto regions = GpuRegions::create(options, dispatch, **gpu);
  std::shared_ptr<accelerate::Loops> loops;
  // Lanes wait while loops are proved.
  const bool proves = options.accelerate && options.proof_share >= 1;
  if (proves && !options.shared_memory && dispatch.is_table() && !dispatch.every()) {
    std::string error;
    loops = accelerate::Loops::create(error, {.makes_code = false});
    if (!loops && options.notice) options.notice("no bulk steps of loops: " + error);
  }
  return std::unique_ptr<CudaBackend>(
      new CudaBackend(std::move(*gpu), std::move(*router), options, dispatch, std::move(regions), std::move(loops)));
}

CudaBackend::CudaBackend(backend::cuda::GpuPointer gpu, backend::cuda::DeviceRouter router, const Options& options,
                         DispatchOptions dispatch, std::unique_ptr<GpuRegions> regions,
                         std::shared_ptr<accelerate::Loops> loops)
    : gpu_(std::move(gpu)),
      dispatch_(std::move(dispatch)),
      router_(std::move(router)),
      loops_(std::move(loops)),
      lane_loops_(make_loops(loops_, options)),
      job_loops_(make_loops(loops_, options)),
      regions_(std::move(regions)),
      job_regions_(regions_ ? std::make_unique<GpuRegions>(regions_->settings()) : nullptr),
      cache_(regions_ && regions_->has_cache(), options.notice),
      engine_(options.engine),
      windows_(regions_ && options.windows),
      prefetch_(options.neural.prefetch),
      prefetch_choices_(site_choices(options.neural).value()),
      memory_limit_(options.memory_limit),
      descriptors_(descriptors_of(options)),
      shares_memory_(options.shared_memory),
      spread_(options.spread_jobs),
      reconverges_(!turned_off("KVRM_RECONVERGE")),
      lanes_per_warp_(number_in("KVRM_LANES_PER_WARP")),
      slice_(slice_of(*gpu_)),
      lanes_(options.lanes) {
  if (regions_) {
    regions_->use_loops(lane_loops_.get());
    job_regions_->use_loops(job_loops_.get());
  }
  if (shares_memory_) shared_memory_ = std::make_unique<memory::AddressSpace>(memory_limit_, true);
}

void CudaBackend::check_root(const linux_abi::ProcessOptions& options) {
  if (!regions_ || cache_.allows(options)) return;
  regions_->leave_cache();
  job_regions_->leave_cache();
}

LaneSet::Plan CudaBackend::plan(u32 lanes, u32 most_areas) const {
  return {.lanes = lanes,
          .memory_limit = memory_limit_,
          .most_areas = most_areas,
          .lanes_per_warp = lanes_per_warp_,
          .shares_memory = shares_memory_,
          .windows = windows_,
          .router = router_.router(),
          .dispatch_every = dispatch_.every(),
          .prefetch = prefetch_ != Prefetch::kOff,
          .prefetch_choices = prefetch_choices_};
}

CudaBackend::Lane& CudaBackend::at(unsigned number) {
  auto& lane = lanes_.at(number);
  if (!lane) {
    lane = std::make_unique<Lane>();
    if (!shares_memory_) lane->memory = std::make_unique<memory::AddressSpace>(memory_limit_);
  }
  return *lane;
}

Cpu& CudaBackend::cpu(unsigned number) {
  Lane& lane = at(number);
  lane.has_reference = true;
  return lane.cpu;
}

memory::GuestMemory& CudaBackend::memory(unsigned number) {
  if (shares_memory_) return *shared_memory_;
  Lane& lane = at(number);
  if (!lane.memory) {
    // Access to a program that has not run yet: the lane gets a private copy of its memory.
    auto space = std::make_unique<memory::AddressSpace>(memory_limit_);
    auto process = linux_abi::Process::create(lane.options);
    Cpu ignored{};
    if (process) (void)process->start(lane.program->image, ignored, *space);
    lane.memory = std::move(space);
  }
  return *lane.memory;
}

Result<void> CudaBackend::start(unsigned number, const linux_abi::Program& program, linux_abi::ProcessOptions options) {
  check_root(options);
  auto lane = std::make_unique<Lane>();
  options.most_files = descriptor_share(descriptors_, lanes_.size());
  // Most lanes start with the same program as the lane before.
  const Lane* before = number > 0 ? lanes_[number - 1].get() : nullptr;
  if (before && before->program && before->program->image.file == program.file &&
      same_start(before->options, options)) {
    lane->program = before->program;
  } else {
    auto loaded = load_lane_program(program, options, memory_limit_);
    if (!loaded) return loaded.error();
    lane->program = *loaded;
  }
  lane->cpu = lane->program->contents.cpu;
  lane->options = std::move(options);
  lane->options.memory_limit = memory_limit_;
  lanes_.at(number) = std::move(lane);
  processes_.forget(number);
  return {};
}

Result<void> CudaBackend::begin_regions(GpuRegions* regions, GpuLoops* loops, LaneSet& set, const StartSet& starts,
                                        const std::atomic<bool>& cancel) const {
  if (!regions && !loops) return {};
  std::vector<translator::SharedCode> codes;
  for (const auto& code : starts.shared_code()) {
    codes.push_back({code.start, code.words, static_cast<u32>(code.offset / sizeof(u32))});
  }
  if (loops) loops->begin(set, codes, starts.images());
  if (regions) {
    auto begun = regions->begin(make_target(gpu_, set), std::move(codes), starts.images(), &cancel);
    if (!begun) return begun;
  } else if (auto sampled = set.samples(); !sampled) {  // sampling starts now
    return sampled.error();
  }
  return loops ? loops->install(set) : Result<void>();
}

void CudaBackend::watch_regions(GpuRegions* regions, GpuLoops* loops, LaneSet& set, LaneSet::Run& run,
                                LaneSet::Hooks& hooks) const {
  if (!regions && !loops) return;
  run.slice = regions ? regions->next(slice_) : loops->next(slice_);
  hooks.paused = [this, regions, loops, &set, cancel = hooks.cancel]() -> Result<LaneSet::Slice> {
    if (!regions) return loops->paused(set, slice_);
    auto next = regions->paused(slice_, cancel);
    if (!next || !loops) return next;
    if (auto installed = loops->install(set); !installed) return installed.error();
    return next;
  };
}

void CudaBackend::count(const kernel::JobEnd& end) {
  past_.instructions += end.retired;
  past_.shared_instructions += end.shared;
  past_.in_kernel_calls += end.kernel_calls;
  past_.mailbox_calls += end.host_calls;
}

// Before another set takes its place.
void CudaBackend::keep_counts(const LaneSet* set) {
  if (!set) return;
  past_.launches += set->launches();
  past_.warp_instructions += set->warp_instructions();
}

Statistics CudaBackend::statistics() const {
  Statistics result = past_;
  result.system_calls = result.in_kernel_calls + result.mailbox_calls;
  for (const auto* set : {set_.get(), job_set_.get()}) {
    if (!set) continue;
    result.launches += set->launches();
    result.warp_instructions += set->warp_instructions();
  }
  if (slice_.count() != 0) {
    result.launches_reason =
        std::string("slices of ") + std::to_string(slice_.count()) + " ms, " +
        (std::getenv(kSliceVariable) ? "as KVRM_SLICE_MS says" : "the driver limits a kernel's time");
  }
  if (const auto counts = router_.counts()) result.dispatch = dispatch_.statistics(counts.value());
  result.device = "cuda";
  const bool interpreted = !regions_ || regions_->has_failed() || job_regions_->has_failed();
  result.engine = interpreted ? "interp" : engine_ == Engine::kJit ? "jit" : "auto";
  for (const auto* regions : {regions_.get(), job_regions_.get()}) {
    if (regions) regions->add_to(result);
  }
  if (loops_) result.loops += statistics_of(*loops_);
  return result;
}

}  // namespace kvrm
