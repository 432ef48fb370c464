#include "backend/cuda/gpu.h"

#include <algorithm>
#include <cstddef>

#include "backend/cuda/images.h"
#include "base/cpu.h"
#include "memory/freestanding/lane_memory.h"

namespace kvrm::backend::cuda {

// As in the kernel, which keeps the vector registers apart (KVRM_VECTORS_ELSEWHERE).
unsigned resident_bytes() { return static_cast<unsigned>(sizeof(BasicCpu<U128*>) + sizeof(memory::LaneTlb)); }
unsigned single_bytes() { return resident_bytes() + memory::kAloneL1Bytes; }

Result<GpuPointer> Gpu::open(int ordinal, const ProgressCallback& progress, const CubinCache& cache) {
  auto driver = Driver::instance();
  if (!driver) return driver.error();
  auto context = Context::open(*driver, ordinal);
  if (!context) return context.error();
  auto gpu = std::make_shared<Gpu>();
  gpu->context = *context;
  auto kernel = load_kernel(gpu->context, progress, cache);
  if (!kernel) return kernel.error();
  gpu->kernel = std::move(*kernel);
  if (auto found = gpu->find_functions(); !found) return found.error();
  return GpuPointer(std::move(gpu));
}

Result<void> Gpu::find_functions() {
  for (const auto& [function, name] : {std::pair{&run, "kvrm_run"}, std::pair{&prepare, "kvrm_prepare"},
                                       std::pair{&decode, "kvrm_decode"}, std::pair{&serve, "kvrm_serve"}}) {
    auto found = kernel.module.function(name);
    if (!found) return found.error();
    *function = std::move(*found);
  }
  const unsigned shared = kBlockThreads * resident_bytes();
  if (auto set = run.set_dynamic_shared(shared); !set) return set.error();
  auto fitting = run.blocks_per_multiprocessor(kBlockThreads, shared);
  if (!fitting) return fitting.error();
  if (*fitting < 1) return Error{"the kernel does not fit on this GPU: too little shared memory or too few registers"};
  auto singles = run.blocks_per_multiprocessor(32, single_bytes());
  if (!singles) return singles.error();
  const auto everywhere = [&](int count) {
    return static_cast<unsigned>(count * context->properties().multiprocessors);
  };
  blocks = everywhere(*fitting);
  single_warps = std::max(everywhere(*singles), warps());
  return {};
}

std::optional<std::span<const std::byte>> Gpu::linkable() const {
  return linkable_for(context->properties().compute_major, context->properties().compute_minor);
}

Result<std::vector<std::byte>> Gpu::link(const std::string& ptx) const {
  const auto kernel_part = linkable();
  if (!kernel_part) return Error{"there is nothing that code can be linked to"};
  return link_ptx(*context, *kernel_part, std::as_bytes(std::span(ptx)), kernel_registers());
}

Result<GpuPointer> Gpu::with_image(std::span<const std::byte> image) const {
  auto module = Module::load(context, image);
  if (!module) return module.error();
  auto gpu = std::make_shared<Gpu>();
  gpu->context = context;
  gpu->kernel = {*std::move(module), CodeSource::kCompiled};
  if (auto found = gpu->find_functions(); !found) return found.error();
  auto table = gpu->kernel.module.global("kvrm_regions");
  if (!table) return table.error();
  gpu->regions.resize(table->size / sizeof(u64));
  auto stream = Stream::create(context);
  if (!stream) return stream.error();
  if (auto done = stream->download(gpu->regions.data(), table->address, table->size); !done) return done.error();
  if (auto done = stream->wait(); !done) return done.error();
  return GpuPointer(std::move(gpu));
}

}  // namespace kvrm::backend::cuda
