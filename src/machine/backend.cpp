#include "machine/backend.h"

#include "machine/cpu_backend.h"
#include "machine/cuda_backend.h"

namespace kvrm {

Result<std::unique_ptr<Backend>> make_backend(const Options& options) {
  auto dispatching = Dispatching::create(options);
  if (!dispatching) return dispatching.error();
  if (options.device != Device::kCpu) {
    auto cuda = CudaBackend::create(options, *dispatching);
    // Who asks for translated code and leaves the device open gets one that has it.
    const bool fits = options.device == Device::kCuda || options.engine != Engine::kJit;
    if (cuda && (fits || (*cuda)->translates())) return std::unique_ptr<Backend>(std::move(*cuda));
    if (!cuda && options.device == Device::kCuda) return cuda.error();
  }
  auto cpu = CpuBackend::create(options, std::move(*dispatching));
  if (!cpu) return cpu.error();
  return std::unique_ptr<Backend>(std::move(*cpu));
}

Error too_many_common_lanes(unsigned lanes, u64 most) {
  return Error{std::to_string(lanes) + " lanes cannot share one memory here: at most " + std::to_string(most) +
               " run at the same time"};
}

}  // namespace kvrm
