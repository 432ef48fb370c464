#include "machine/gpu_regions.h"

#include <cstdlib>
#include <string_view>

#include "backend/cuda/images.h"
#include "neural/sha256.h"
#include "translator/bitcode.h"
#include "translator/gpu/inline_words.h"

namespace kvrm {

using backend::cuda::Gpu;
using backend::cuda::GpuPointer;
using backend::cuda::LaneSet;
using translator::DeviceError;

namespace {

// The share of a program's time that compilers may take.
constexpr double kShareOfTime = 1.0 / 3;

// Moves the value of a result into `to`.
template <class T, class To>
DeviceError unwrap(Result<T> result, To& to) {
  if (!result) return result.error().message;
  to = *std::move(result);
  return {};
}

Result<void> wrap(const DeviceError& error) { return error ? Result<void>(Error{*error}) : Result<void>(); }

class CudaDevice final : public translator::GpuDevice {
 public:
  CudaDevice(GpuPointer gpu, LaneSet& set)
      : gpu_(std::move(gpu)), set_(set), kind_{set.alone(), set.shares_memory(), set.window_shift()} {}
  translator::LaneKind kind() const override { return kind_; }
  DeviceError samples(std::vector<u32>& samples) override { return unwrap(set_.samples(), samples); }
  DeviceError default_fp_mode(bool& holds) override { return unwrap(set_.default_fp_mode(), holds); }
  DeviceError link(const std::string& ptx, std::vector<std::byte>& image) override {
    return unwrap(gpu_->link(ptx), image);
  }
  DeviceError load(std::span<const std::byte> image, translator::LoadedKernel& kernel) override {
    return unwrap(gpu_->with_image(image), kernel);
  }
  DeviceError install(const translator::LoadedKernel& kernel,
                      std::span<const translator::InstalledRegion> regions) override {
    std::vector<LaneSet::Region> list;
    for (const auto& region : regions) {
      list.push_back({region.function, region.start, region.words, region.word, region.from, region.until,
                      region.entry_point, region.most});
    }
    const auto taken = set_.install_regions(std::static_pointer_cast<const Gpu>(kernel), list);
    return taken ? DeviceError() : taken.error().message;
  }

 private:
  const GpuPointer gpu_;
  LaneSet& set_;  // not used by link(), which may outlive it
  const translator::LaneKind kind_;
};

// Why these options leave everything to the interpreter; empty if they do not.
std::string reason_not_to(const Options& options, const DispatchOptions& dispatch, const Gpu& gpu) {
  const char* told = std::getenv("KVRM_GPU_JIT");
  if (told && std::string_view(told) == "0") return "KVRM_GPU_JIT=0 turns the translator off";
  if (dispatch.every()) return "every instruction is to be routed anew";
  if (dispatch.mode() == dispatch::Mode::kNeural && options.neural.unverified) {
    return "code is not translated as an unverified network says";
  }
  std::string problem;
  if (!translator::GpuTranslator::is_there(problem)) return problem;
  if (!gpu.linkable()) return backend::cuda::no_linkable_error(gpu.context->properties().compute()).message;
  return {};
}

std::string key_of(const DispatchOptions& dispatch, const Gpu& gpu) {
  const translator::GpuLimits limits;
  std::string key = "translator " + std::string(translator::rows_version());
  const auto add = [&](const char* name, u64 number) { key += std::string(" ") + name + " " + std::to_string(number); };
  add("kernel", cache::content_hash(*gpu.linkable()));
  add("registers", backend::cuda::kernel_registers());
  add("compute", static_cast<u64>(gpu.context->properties().compute()));
  add("driver", static_cast<u64>(gpu.context->properties().driver_version));
  for (const u32 limit : {limits.blocks, limits.words, limits.calls, limits.regions, limits.regions_a_round,
                          limits.at_a_time, limits.smallest_share}) {
    add("limit", limit);
  }
  add("inline", translator::most_words_to_inline_lookups());
  add("dispatch", static_cast<u64>(dispatch.mode()));
  return key;
}

std::string digest_of(std::span<const translator::SharedCode> codes) {
  std::string digest;
  for (const auto& code : codes) {
    digest += std::to_string(code.start) + " " + std::to_string(code.first_word) + " " +
              neural::sha256(std::as_bytes(code.words)) + " ";
  }
  return digest;
}

}  // namespace

std::unique_ptr<translator::GpuDevice> make_target(GpuPointer gpu, LaneSet& set) {
  return std::make_unique<CudaDevice>(std::move(gpu), set);
}

std::unique_ptr<GpuRegions> GpuRegions::create(const Options& options, const DispatchOptions& dispatch,
                                               const Gpu& gpu) {
  using translator::GpuRounds;
  if (options.engine == Engine::kInterpreter) return nullptr;
  const bool wanted = options.engine == Engine::kJit;
  if (const std::string reason = reason_not_to(options, dispatch, gpu); !reason.empty()) {
    if (wanted && options.device == Device::kCuda && options.notice) options.notice("nothing is translated: " + reason);
    return nullptr;
  }
  Settings settings;
  settings.reason = wanted ? "the first ones find out what to translate"
                           : "a program that runs longer continues with translated code";
  auto& policy = settings.policy;
  policy.rounds = wanted ? GpuRounds() : GpuRounds::patient();
  policy.interpreter_slice = LaneSet::kSlice;
  if (options.jit_threshold == 0u) {
    policy.rounds = GpuRounds::eager();  // and nothing is stored
  } else {
    if (options.code_cache) policy.folder = cache::Folder::of_user();
    policy.key = key_of(dispatch, gpu);
    policy.share = kShareOfTime;
    policy.overlaps = true;
    if (options.jit_threshold) policy.rounds.fewest = *options.jit_threshold;
  }
  policy.abandons = options.abandon_compilers;
  if (options.jit_budget) policy.budget_seconds = *options.jit_budget;
  if (wanted) policy.notice = options.notice;
  return std::make_unique<GpuRegions>(std::move(settings));
}

void GpuRegions::use_loops(GpuLoops* loops) {
  loops_ = loops;
  if (!loops) return;
  policy_.find_loops_with(
      [loops](std::span<const translator::SharedCode>, std::span<const u32> samples) { return loops->find(samples); });
}

Result<void> GpuRegions::begin(std::unique_ptr<translator::GpuDevice> device, std::vector<translator::SharedCode> codes,
                               std::vector<std::shared_ptr<const memory::Image>> images,
                               const std::atomic<bool>* cancel) {
  std::string digest = digest_of(codes);
  if (loops_ && loops_->can_step()) digest += "steps";  // other regions
  return wrap(policy_.begin(std::move(device), {std::move(codes), std::move(images), std::move(digest)}, cancel));
}

Result<void> GpuRegions::expect(std::span<const u32> words, const std::atomic<bool>* cancel) {
  return wrap(policy_.expect(words, cancel));
}

LaneSet::Slice GpuRegions::next(std::chrono::milliseconds limit) const {
  const translator::GpuLaunch launch = policy_.next(limit);
  return {launch.time, launch.slice, launch.samples};
}

Result<LaneSet::Slice> GpuRegions::paused(std::chrono::milliseconds limit, const std::atomic<bool>* cancel) {
  if (const auto error = policy_.paused(cancel)) return Error{*error};
  return next(limit);
}

Result<void> GpuRegions::settle(const std::atomic<bool>* cancel) { return wrap(policy_.settle(cancel)); }

// Other lanes' numbers may be in there already.
void GpuRegions::add_to(Statistics& statistics) const {
  const auto counts = policy_.counts();
  statistics.regions += counts.regions;
  statistics.cached_regions += counts.cached_regions;
  statistics.region_words += counts.words;
  statistics.translation_seconds += counts.seconds;
  statistics.link_seconds += counts.link_seconds;
  if (statistics.launches > 1 && statistics.launches_reason.empty()) statistics.launches_reason = reason_;
}

}  // namespace kvrm
