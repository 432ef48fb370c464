#include "machine/backend.h"

#include "machine/cpu_backend.h"
#include "machine/cuda_backend.h"

namespace kvrm {

Result<std::unique_ptr<Backend>> make_backend(const Options& options) {
  if (options.engine == Engine::kJit) return Error{"this build has no translator yet; use the interpreter"};
  auto dispatching = Dispatching::create(options);
  if (!dispatching) return dispatching.error();
  if (options.device != Device::kCpu) {
    auto cuda = CudaBackend::create(options, *dispatching);
    if (cuda) return std::unique_ptr<Backend>(std::move(*cuda));
    if (options.device == Device::kCuda) return cuda.error();
  }
  return std::unique_ptr<Backend>(std::make_unique<CpuBackend>(options, std::move(*dispatching)));
}

}  // namespace kvrm
