#include "machine/gpu_regions.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace kvrm {

using device::cuda::LaneSet;

namespace {

// Launches in which the lanes are watched, each twice as long as the one before.
constexpr unsigned kRounds = 4;
constexpr std::chrono::milliseconds kFirstSlice{60};
// Instructions of a turn: short while places are counted, long when regions run.
constexpr u32 kWatchedTurn = 1024, kUsualTurn = 1u << 16;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

bool GpuRegions::is_wanted() {
  const char* value = std::getenv("KVRM_GPU_JIT");
  return value && std::string_view(value) == "1";
}

Result<std::unique_ptr<GpuRegions>> GpuRegions::create(const Options& options) {
  if (options.engine == Engine::kInterpreter || options.common_memory || !is_wanted())
    return std::unique_ptr<GpuRegions>();
  std::string error;
  auto translator = translator::GpuTranslator::create({}, error);
  if (!translator) return Error{error};
  return std::unique_ptr<GpuRegions>(new GpuRegions(std::move(translator)));
}

Result<void> GpuRegions::begin(device::cuda::GpuPointer gpu, LaneSet& set, const device::cuda::StartSet& starts) {
  gpu_ = std::move(gpu);
  images_ = starts.images();
  codes_.clear();
  round_ = 0;
  for (const auto& code : starts.shared_code()) {
    codes_.push_back({code.start, code.words, static_cast<u32>(code.offset / sizeof(u32))});
  }
  auto counted = set.heat();  // from now on
  if (!counted) return counted.error();
  return {};
}

LaneSet::Slice GpuRegions::first() const { return {kFirstSlice, kWatchedTurn}; }

Result<LaneSet::Slice> GpuRegions::paused(LaneSet& set, std::chrono::milliseconds usual) {
  if (round_ < kRounds) {
    if (auto done = translate(set); !done) return done.error();
    if (++round_ < kRounds) return LaneSet::Slice{kFirstSlice * (1 << round_), kWatchedTurn};
  }
  return LaneSet::Slice{usual, kUsualTurn};
}

Result<void> GpuRegions::translate(LaneSet& set) {
  auto heat = set.heat();
  if (!heat) return heat.error();
  if (!translator_->choose(codes_, *heat)) return {};
  const auto begin = std::chrono::steady_clock::now();
  const translator::GpuTranslation made = translator_->translate(set.alone());
  seconds_ += seconds_since(begin);
  if (made.ptx.empty()) return Error{"the translator failed"};
  if (const char* to = std::getenv("KVRM_GPU_JIT_PTX")) {
    if (std::FILE* file = std::fopen(to, "w")) {
      std::fwrite(made.ptx.data(), 1, made.ptx.size(), file);
      std::fclose(file);
    }
  }
  const auto link_begin = std::chrono::steady_clock::now();
  auto gpu = gpu_->with_regions(made.ptx);
  link_seconds_ += seconds_since(link_begin);
  if (!gpu) return gpu.error();
  std::vector<LaneSet::Region> regions;
  for (u32 i = 0; i < made.heads.size(); ++i) {
    const auto& code = codes_[made.heads[i].code];
    regions.push_back({i, code.start, static_cast<u32>(code.words.size()), made.heads[i].entry});
  }
  regions_ = regions.size();
  words_ = made.words;
  return set.take_regions(*gpu, regions);
}

void GpuRegions::add_to(Statistics& statistics) const {
  statistics.regions = regions_;
  statistics.region_words = words_;
  statistics.translation_seconds = seconds_ + link_seconds_;
  if (statistics.launches > 1 && statistics.launches_reason.empty()) {
    statistics.launches_reason = "the first ones find out what to translate";
  }
}

}  // namespace kvrm
