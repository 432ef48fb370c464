// A GPU with our kernels on it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/cuda/driver.h"
#include "backend/cuda/module_cache.h"
#include "base/types.h"

namespace kvrm::backend::cuda {

struct Gpu {
  ContextPointer context;
  Kernel kernel;
  Function run, prepare, decode, serve;
  unsigned blocks = 0;        // of kBlockThreads threads, as many as are resident at once
  unsigned single_warps = 0;  // with one lane each, as many as are resident at once

  static constexpr unsigned kBlockThreads = 128;
  static Result<std::shared_ptr<const Gpu>> open(int ordinal, const ProgressCallback& progress = {},
                                                 const CubinCache& cache = CubinCache::of_user());
  // The kernel and translated code as one image; the PTX has a table of functions, kvrm_regions.
  Result<std::vector<std::byte>> link(const std::string& ptx) const;
  // The same GPU with such an image.
  Result<std::shared_ptr<const Gpu>> with_image(std::span<const std::byte> image) const;
  // The relocatable kernel for link(); none: this build has none for this GPU.
  std::optional<std::span<const std::byte>> linkable() const;
  std::vector<u64> regions;  // addresses of the functions of that table
  unsigned warps() const { return blocks * (kBlockThreads / 32); }
  unsigned most_lanes() const { return blocks * kBlockThreads; }  // that run at the same time

 private:
  Result<void> find_functions();
};
using GpuPointer = std::shared_ptr<const Gpu>;

// The GPU's shared memory for one lane, and for a lane that is alone in its warp.
unsigned resident_bytes();
unsigned single_bytes();

}  // namespace kvrm::backend::cuda
