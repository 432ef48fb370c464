#include "machine/backend.h"

#include "machine/cpu_backend.h"

namespace kvrm {

Result<std::unique_ptr<Backend>> make_backend(const Options& options) {
  if (options.engine == Engine::kJit) return Error{"this build has no translator yet; use the interpreter"};
  if (options.device == Device::kCuda) return Error{"this build has no CUDA device yet; use the CPU device"};
  return std::unique_ptr<Backend>(std::make_unique<CpuBackend>(options));
}

}  // namespace kvrm
