#include "device/cuda/module_cache.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <mutex>
#include <thread>

#include "device/cuda/images.h"

namespace kvrm::device::cuda {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 8;  // kernels kept for other builds, devices and drivers
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;

// What stands before the cubin in a file. All fields are of the machine that wrote it, which is the one that reads it.
struct Header {
  char magic[8] = {'K', 'V', 'R', 'M', 'G', 'P', 'U', '1'};
  std::uint64_t source = 0;
  std::int32_t compute = 0;
  std::int32_t driver_version = 0;
  std::uint64_t size = 0;
  std::uint64_t checksum = 0;
};
static_assert(sizeof(Header) == 40);

Header header_for(const CacheKey& key, std::span<const std::byte> cubin) {
  Header header;
  header.source = key.source;
  header.compute = key.compute;
  header.driver_version = key.driver_version;
  header.size = cubin.size();
  header.checksum = content_hash(cubin);
  return header;
}

bool write_all(int file, const void* data, std::size_t size) {
  const char* next = static_cast<const char*>(data);
  while (size != 0) {
    const ssize_t count = ::write(file, next, size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    next += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
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

// FNV-1a over words of eight bytes, then the rest: it finds other contents and damage, not an attacker. The cache is
// the user's own folder.
std::uint64_t content_hash(std::span<const std::byte> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325 ^ bytes.size();
  const auto mix = [&hash](std::uint64_t word) {
    hash = (hash ^ word) * 0x100000001b3;
    hash ^= hash >> 29;
  };
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, 8);
    mix(word);
  }
  for (; at < bytes.size(); ++at) mix(static_cast<std::uint64_t>(bytes[at]));
  return hash;
}

CubinCache CubinCache::of_user() {
  // Relative paths are to be ignored, says the XDG specification.
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache && cache[0] == '/') return CubinCache(fs::path(cache) / "kvrm");
  const char* home = std::getenv("HOME");
  if (home && home[0] == '/') return CubinCache(fs::path(home) / ".cache" / "kvrm");
  return {};
}

fs::path CubinCache::path_of(const CacheKey& key) const {
  char name[96];
  std::snprintf(name, sizeof name, "kernel-sm_%d-cuda_%d-%016llx.cubin", key.compute, key.driver_version,
                static_cast<unsigned long long>(key.source));
  return folder_ / name;
}

std::optional<std::vector<std::byte>> CubinCache::find(const CacheKey& key) const {
  if (folder_.empty()) return std::nullopt;
  std::error_code problem;
  const fs::path path = path_of(key);
  // Not a pipe, which would make us wait, nor something absurd.
  if (!fs::is_regular_file(path, problem)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  Header header;
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header)) return std::nullopt;
  const std::uint64_t size = fs::file_size(path, problem);
  if (problem || size > kMostBytes || size != sizeof header + header.size || header.size == 0) return std::nullopt;
  std::vector<std::byte> cubin(header.size);
  if (!file.read(reinterpret_cast<char*>(cubin.data()), static_cast<std::streamsize>(cubin.size())))
    return std::nullopt;
  const Header expected = header_for(key, cubin);
  if (std::memcmp(&header, &expected, sizeof header) != 0) return std::nullopt;
  return cubin;
}

bool CubinCache::store(const CacheKey& key, std::span<const std::byte> cubin) const {
  if (folder_.empty() || cubin.empty()) return false;
  std::error_code problem;
  fs::create_directories(folder_, problem);
  if (problem) return false;
  const fs::path path = path_of(key);
  std::string temporary = path.string() + ".XXXXXX";
  const int file = mkostemp(temporary.data(), O_CLOEXEC);
  if (file < 0) return false;
  const Header header = header_for(key, cubin);
  bool whole = write_all(file, &header, sizeof header) && write_all(file, cubin.data(), cubin.size());
  whole = ::close(file) == 0 && whole;
  if (whole) fs::rename(temporary, path, problem);
  if (!whole || problem) {
    fs::remove(temporary, problem);
    return false;
  }
  remove_old(path);
  return true;
}

void CubinCache::remove_old(const fs::path& newest) const {
  std::error_code problem;
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  for (fs::directory_iterator entry(folder_, problem), end; !problem && entry != end; entry.increment(problem)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with("kernel-sm_") || entry->path() == newest) continue;
    std::error_code gone;
    const auto time = fs::last_write_time(entry->path(), gone);
    if (!gone) files.emplace_back(time, entry->path());
  }
  std::ranges::sort(files, std::greater<>());
  for (std::size_t i = kMostFiles - 1; i < files.size(); ++i) fs::remove(files[i].second, problem);
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

}  // namespace kvrm::device::cuda
