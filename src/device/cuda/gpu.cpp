#include "device/cuda/gpu.h"

#include <algorithm>
#include <cstddef>

#include "base/cpu.h"
#include "memory/lane_memory.h"

namespace kvrm::device::cuda {

// As the kernel has it (device/lanes/attend.h), where the vector registers are elsewhere.
unsigned resident_bytes() { return static_cast<unsigned>(sizeof(BasicCpu<U128*>) + sizeof(memory::KnownPages)); }
unsigned single_bytes() {
  return resident_bytes() + memory::kAloneGap +
         static_cast<unsigned>(memory::kAloneTranslations * sizeof(memory::LaneTranslation));
}

Result<GpuPointer> Gpu::open(int ordinal, const ProgressCallback& progress) {
  auto driver = Driver::instance();
  if (!driver) return driver.error();
  auto context = Context::open(*driver, ordinal);
  if (!context) return context.error();
  auto gpu = std::make_shared<Gpu>();
  gpu->context = *context;
  auto kernel = load_kernel(gpu->context, progress);
  if (!kernel) return kernel.error();
  gpu->kernel = std::move(*kernel);
  for (const auto& [function, name] : {std::pair{&gpu->run, "kvrm_run"}, std::pair{&gpu->prepare, "kvrm_prepare"},
                                       std::pair{&gpu->decode, "kvrm_decode"}, std::pair{&gpu->serve, "kvrm_serve"}}) {
    auto found = gpu->kernel.module.function(name);
    if (!found) return found.error();
    *function = std::move(*found);
  }
  const unsigned shared = kBlockThreads * resident_bytes();
  if (auto set = gpu->run.set_dynamic_shared(shared); !set) return set.error();
  auto blocks = gpu->run.blocks_per_multiprocessor(kBlockThreads, shared);
  if (!blocks) return blocks.error();
  if (*blocks < 1) return Error{"the kernel does not fit on this GPU: too little shared memory or too few registers"};
  auto singles = gpu->run.blocks_per_multiprocessor(32, single_bytes());
  if (!singles) return singles.error();
  const auto everywhere = [&](int count) {
    return static_cast<unsigned>(count * gpu->context->properties().multiprocessors);
  };
  gpu->blocks = everywhere(*blocks);
  gpu->single_warps = std::max(everywhere(*singles), gpu->warps());
  return GpuPointer(std::move(gpu));
}

}  // namespace kvrm::device::cuda
