#include "machine/backend.h"

#include "machine/cpu_backend.h"
#include "machine/cuda_backend.h"

namespace kvrm {

Result<std::unique_ptr<Backend>> make_backend(const Options& options) {
  if (options.device == Device::kCuda && options.engine == Engine::kJit) {
    return Error{"there is no translator for the GPU yet; use the interpreter there"};
  }
  if (options.device != Device::kCpu && options.engine != Engine::kJit) {
    auto cuda = CudaBackend::create(options);
    if (cuda) return std::unique_ptr<Backend>(std::move(*cuda));
    if (options.device == Device::kCuda) return cuda.error();
  }
  return CpuBackend::create(options);
}

}  // namespace kvrm
