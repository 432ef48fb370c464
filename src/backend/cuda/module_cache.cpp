#include "backend/cuda/module_cache.h"

#include <condition_variable>
#include <cstdio>
#include <functional>
#include <mutex>
#include <thread>

#include "backend/cuda/images.h"

namespace kvrm::backend::cuda {
namespace {

namespace fs = std::filesystem;

// Kernels kept for other builds, devices and drivers.
const cache::Limits kLimits{"kernel-sm_", 8, std::uint64_t{1} << 30};

std::string name_of(const CacheKey& key) {
  char name[96];
  std::snprintf(name, sizeof name, "kernel-sm_%d-cuda_%d-%016llx.cubin", key.compute, key.driver_version,
                static_cast<unsigned long long>(key.source));
  return name;
}

// Calls back once a second until it is destroyed.
class Ticker {
 public:
  Ticker(const ProgressCallback& progress, std::string message) : progress_(progress), message_(std::move(message)) {
    if (!progress_) return;
    progress_({message_, 0, false});
    thread_ = std::thread([this] { tick(); });
  }
  ~Ticker() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
    progress_({message_, seconds(), true});
  }
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

 private:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
  void tick() {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::seconds(1), [this] { return over_; })) {
      progress_({message_, seconds(), false});
    }
  }

  const ProgressCallback& progress_;
  const std::string message_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace

fs::path CubinCache::path_of(const CacheKey& key) const { return folder_.path() / name_of(key); }

std::optional<std::vector<std::byte>> CubinCache::find(const CacheKey& key) const {
  return folder_.find(name_of(key), std::as_bytes(std::span(&key, 1)));
}

bool CubinCache::store(const CacheKey& key, std::span<const std::byte> cubin) const {
  return folder_.store(name_of(key), std::as_bytes(std::span(&key, 1)), cubin, kLimits);
}

Result<Cubin> cached_compile(const CubinCache& cache, const CacheKey& key, std::span<const std::byte> ptx,
                             const CompileFunction& compile, const ProgressCallback& progress) {
  if (auto found = cache.find(key)) return Cubin{*std::move(found), true};
  auto compiled = [&] {
    const Ticker ticker(progress, "compiling the GPU kernel for sm_" + std::to_string(key.compute) + ", once...");
    return compile(ptx);
  }();
  if (!compiled) return compiled.error();
  cache.store(key, *compiled);  // a cache that cannot be written only costs time
  return Cubin{*std::move(compiled), false};
}

Result<Kernel> load_kernel(const ContextPointer& context, const ProgressCallback& progress, const CubinCache& cache) {
  const Properties& device = context->properties();
  if (ptx().empty()) return no_code_error();
  if (const auto cubin = cubin_for(device.compute_major, device.compute_minor)) {
    if (auto module = Module::load(context, *cubin)) return Kernel{*std::move(module), CodeSource::kEmbedded};
  }
  const CacheKey key{content_hash(ptx()), device.compute(), device.driver_version};
  const CompileFunction compile = [&](std::span<const std::byte> text) { return compile_ptx(*context, text); };
  auto cubin = cached_compile(cache, key, ptx(), compile, progress);
  if (!cubin) return cubin.error();
  auto module = Module::load(context, cubin->bytes);
  if (!module && cubin->from_cache) {
    // Whole, yet not to the driver's taste: once more without the cache.
    cubin = cached_compile(CubinCache(), key, ptx(), compile, progress);
    if (!cubin) return cubin.error();
    cache.store(key, cubin->bytes);
    module = Module::load(context, cubin->bytes);
  }
  if (!module) return module.error();
  return Kernel{*std::move(module), cubin->from_cache ? CodeSource::kCache : CodeSource::kCompiled};
}

}  // namespace kvrm::backend::cuda
