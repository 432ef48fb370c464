// Getting the kernel onto a device: an embedded cubin if one fits, else PTX through the driver's compiler, once, with
// the result kept in the user's cache folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/cuda/driver.h"
#include "cache/folder.h"

namespace kvrm::backend::cuda {

// What a compiled kernel depends on.
struct CacheKey {
  std::uint64_t source = 0;  // content_hash() of the PTX
  int compute = 0;           // 90 for 9.0
  int driver_version = 0;
  friend bool operator==(const CacheKey&, const CacheKey&) = default;
};

using cache::content_hash;

// Compiled kernels in a folder. Whatever is wrong with it, the kernel is compiled again.
class CubinCache {
 public:
  // No folder: finds nothing, stores nothing.
  CubinCache() = default;
  explicit CubinCache(std::filesystem::path folder) : folder_(std::move(folder)) {}
  explicit CubinCache(cache::Folder folder) : folder_(std::move(folder)) {}
  static CubinCache of_user() { return CubinCache(cache::Folder::of_user()); }

  std::filesystem::path path_of(const CacheKey& key) const;
  // The cubin stored for exactly this key, if its file is whole.
  std::optional<std::vector<std::byte>> find(const CacheKey& key) const;
  // Other processes see the whole file or none. False if it could not be written.
  bool store(const CacheKey& key, std::span<const std::byte> cubin) const;

 private:
  cache::Folder folder_;
};

struct CompileProgress {
  std::string message;  // "compiling the GPU kernel for sm_100, once..."
  double seconds = 0;   // since it began
  bool done = false;
};
// Called at the start of compiling, about once a second meanwhile from another thread, and at the end; never two at a
// time, and not at all where there is nothing to compile.
using ProgressCallback = std::function<void(const CompileProgress&)>;

using CompileFunction = std::function<Result<std::vector<std::byte>>(std::span<const std::byte> ptx)>;
struct Cubin {
  std::vector<std::byte> bytes;
  bool from_cache = false;
};
// The cubin for the key: from the cache, else compiled and put there.
Result<Cubin> cached_compile(const CubinCache& cache, const CacheKey& key, std::span<const std::byte> ptx,
                             const CompileFunction& compile, const ProgressCallback& progress);

enum class CodeSource { kEmbedded, kCache, kCompiled };

struct Kernel {
  Module module;
  CodeSource source = CodeSource::kEmbedded;
};
// This build's kernel on a device. An embedded cubin that the driver does not take (it may be older than our ptxas) is
// no error: the PTX is compiled then.
Result<Kernel> load_kernel(const ContextPointer& context, const ProgressCallback& progress = {},
                           const CubinCache& cache = CubinCache::of_user());

}  // namespace kvrm::backend::cuda
