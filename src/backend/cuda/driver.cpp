#include "backend/cuda/driver.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace kvrm::backend::cuda {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";

// The device does not answer any more, or its context is broken for good.
bool is_lost(Code code) {
  switch (code) {
    case Code::kEccUncorrectable:
    case Code::kNvlinkUncorrectable:
    case Code::kContained:
    case Code::kIllegalAddress:
    case Code::kContextIsDestroyed:
    case Code::kAssert:
    case Code::kHardwareStackError:
    case Code::kIllegalInstruction:
    case Code::kMisalignedAddress:
    case Code::kInvalidAddressSpace:
    case Code::kInvalidPc:
    case Code::kLaunchFailed:
    case Code::kMpsClientTerminated:
    case Code::kExternalDevice: return true;
    default: return false;
  }
}

// What to tell about codes with a known reason; nullptr for the others.
const char* known_reason(Code code) {
  switch (code) {
    case Code::kStubLibrary:
      return "the libcuda.so.1 found is the CUDA toolkit's stub, not a driver: take the stubs folder out of "
             "LD_LIBRARY_PATH, or install the NVIDIA driver";
    case Code::kNoDevice:
      return "no NVIDIA GPU: the driver is installed but sees no device (nvidia-smi and CUDA_VISIBLE_DEVICES tell "
             "more)";
    case Code::kDeviceUnavailable:
      return "the GPU is taken: another process holds it in exclusive mode, or its compute mode is prohibited "
             "(nvidia-smi -q -d COMPUTE)";
    case Code::kSystemNotReady:
      return "the GPU system is not ready: a service of the NVIDIA driver (fabric manager, persistence daemon) is not "
             "running";
    case Code::kSystemDriverMismatch:
      return "libcuda.so.1 and the NVIDIA kernel module have different versions: reboot, or load the module again";
    case Code::kCompatNotSupported:
      return "libcuda.so.1 is a compatibility library that this GPU does not support: use the installed driver's own";
    case Code::kLaunchTimeout:
      return "the GPU kernel ran longer than the driver allows: the device also draws a screen; use another GPU, or "
             "smaller slices";
    case Code::kLaunchOutOfResources:
      return "the GPU kernel needs more registers or shared memory than this GPU has for a block of that size";
    case Code::kJitCompilerNotFound:
      return "the NVIDIA driver's PTX compiler (libnvidia-ptxjitcompiler.so.1) is missing: install the whole driver";
    case Code::kJitCompilationDisabled:
      return "this GPU needs its code compiled from PTX, and CUDA_DISABLE_PTX_JIT forbids that: unset it";
    case Code::kUnsupportedPtxVersion:
      return "the NVIDIA driver is too old for this build's GPU code: install a newer driver";
    default: return nullptr;
  }
}

// Driver texts and names of files end up in one line.
std::string one_line(std::string text) {
  for (char& character : text) {
    if (character == '\n' || character == '\r') character = ' ';
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

Error too_old(const std::string& what) {
  return Error{"the NVIDIA driver is too old: " + what + "; KVRM needs CUDA " + version_text(kOldestDriver) +
               " (driver 525) or newer"};
}

}  // namespace

std::string version_text(int driver_version) {
  return std::to_string(driver_version / 1000) + "." + std::to_string(driver_version % 1000 / 10);
}

std::string size_text(std::uint64_t bytes) {
  static constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double amount = static_cast<double>(bytes);
  int unit = 0;
  for (; amount >= 1024 && unit < 4; amount /= 1024) ++unit;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", amount, kUnits[unit]);
  return text;
}

Result<void> supported(const Properties& properties) {
  if (properties.compute() >= kOldestCompute) return {};
  return Error{properties.name + " has compute capability " + std::to_string(properties.compute_major) + "." +
               std::to_string(properties.compute_minor) + ": KVRM needs 8.0 (Ampere) or newer"};
}

Result<std::shared_ptr<const Driver>> Driver::instance() {
  static const Result<std::shared_ptr<const Driver>> only = [] {
    const char* named = std::getenv("KVRM_LIBCUDA");
    return open(named && *named ? named : kLibrary);
  }();
  return only;
}

Result<std::shared_ptr<const Driver>> Driver::open(const std::string& library) {
  // Never closed: the driver has threads of its own, and handles may outlive us at exit.
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* reason = dlerror();
    return Error{"no NVIDIA driver: " + one_line(reason ? reason : library + " cannot be opened") +
                 "; install the NVIDIA driver, or use device=cpu"};
  }
  // No make_shared: the constructor is private.
  std::shared_ptr<Driver> driver(new Driver);
  const char* missing = nullptr;
#define KVRM_CUDA_FIND(name, ...)                                                  \
  driver->api_.name = reinterpret_cast<decltype(Api::name)>(dlsym(handle, #name)); \
  if (!driver->api_.name && !missing) missing = #name;
  KVRM_CUDA_CALLS(KVRM_CUDA_FIND)
#undef KVRM_CUDA_FIND
  // The version first: it explains a missing call.
  if (!driver->api_.cuDriverGetVersion || driver->api_.cuDriverGetVersion(&driver->version_) != Code::kSuccess) {
    return Error{library + " is not NVIDIA's driver library: it does not tell its version"};
  }
  if (driver->version_ < kOldestDriver) {
    return too_old("it supports CUDA " + version_text(driver->version_));
  }
  if (missing) return too_old(library + " has no " + missing);
  const Code code = driver->api_.cuInit(0);
  if (code != Code::kSuccess) return driver->error(code, "starting the NVIDIA driver");
  return std::shared_ptr<const Driver>(std::move(driver));
}

Error Driver::error(Code code, std::string_view doing) const {
  const char* name = nullptr;
  const char* text = nullptr;
  api_.cuGetErrorName(code, &name);
  api_.cuGetErrorString(code, &text);
  std::string facts = name ? name : "CUDA error " + std::to_string(static_cast<int>(code));
  if (text) facts += std::string(": ") + text;
  const std::string when = " while " + std::string(doing);
  if (code == Code::kOutOfMemory) return Error{one_line("out of GPU memory" + when)};
  if (const char* reason = known_reason(code)) return Error{one_line(reason)};
  if (is_lost(code)) {
    return Error{
        one_line("the GPU failed" + when + " (" + facts + "); this process cannot use it any more, start again")};
  }
  return Error{one_line("the NVIDIA driver reported a problem" + when + " (" + facts + ")")};
}

Result<int> Driver::device_count() const {
  int count = 0;
  const Code code = api_.cuDeviceGetCount(&count);
  if (code != Code::kSuccess) return error(code, "counting the GPUs");
  if (count <= 0) return error(Code::kNoDevice, "counting the GPUs");
  return count;
}

Result<Properties> Driver::properties(int ordinal) const {
  auto count = device_count();
  if (!count) return count.error();
  if (ordinal < 0 || ordinal >= *count) {
    return Error{"there is no GPU number " + std::to_string(ordinal) + ": this machine has " + std::to_string(*count) +
                 (*count == 1 ? ", number 0" : ", numbers 0 to " + std::to_string(*count - 1))};
  }
  Properties found;
  found.ordinal = ordinal;
  found.driver_version = version_;
  DeviceNumber device = 0;
  Code code = api_.cuDeviceGet(&device, ordinal);
  if (code != Code::kSuccess) return error(code, "opening a GPU");

  char name[256] = "";
  std::size_t memory = 0;
  code = api_.cuDeviceGetName(name, sizeof name - 1, device);
  if (code == Code::kSuccess) code = api_.cuDeviceTotalMem_v2(&memory, device);
  found.name = one_line(name);
  found.memory = memory;

  int limits_time = 0;
  const std::pair<DeviceAttribute, int*> wanted[] = {
      {DeviceAttribute::kComputeCapabilityMajor, &found.compute_major},
      {DeviceAttribute::kComputeCapabilityMinor, &found.compute_minor},
      {DeviceAttribute::kMultiprocessorCount, &found.multiprocessors},
      {DeviceAttribute::kMaxSharedMemoryPerBlockOptin, &found.shared_memory_per_block},
      {DeviceAttribute::kMaxSharedMemoryPerMultiprocessor, &found.shared_memory_per_multiprocessor},
      {DeviceAttribute::kMaxRegistersPerMultiprocessor, &found.registers_per_multiprocessor},
      {DeviceAttribute::kMaxThreadsPerMultiprocessor, &found.threads_per_multiprocessor},
      {DeviceAttribute::kL2CacheSize, &found.l2_bytes},
      {DeviceAttribute::kClockRate, &found.clock_khz},
      {DeviceAttribute::kKernelExecTimeout, &limits_time},
  };
  for (const auto& [attribute, value] : wanted) {
    if (code == Code::kSuccess) code = api_.cuDeviceGetAttribute(value, attribute, device);
  }
  if (code != Code::kSuccess) return error(code, "asking for a GPU's properties");
  found.limits_kernel_time = limits_time != 0;
  return found;
}

Result<std::shared_ptr<const Context>> Context::open(std::shared_ptr<const Driver> driver, int ordinal) {
  auto properties = driver->properties(ordinal);
  if (!properties) return properties.error();
  if (auto fits = supported(*properties); !fits) return fits.error();
  std::shared_ptr<Context> context(new Context);
  context->properties_ = *std::move(properties);
  const Api& api = driver->api();
  Code code = api.cuDeviceGet(&context->device_, ordinal);
  ContextHandle handle = nullptr;
  if (code == Code::kSuccess) code = api.cuDevicePrimaryCtxRetain(&handle, context->device_);
  if (code != Code::kSuccess) return driver->error(code, "opening GPU " + std::to_string(ordinal));
  // From here the destructor gives it back.
  context->driver_ = std::move(driver);
  context->handle_ = handle;
  return std::shared_ptr<const Context>(std::move(context));
}

Context::~Context() {
  if (handle_) driver_->api().cuDevicePrimaryCtxRelease_v2(device_);
}

Result<Context::Memory> Context::memory() const {
  std::size_t free = 0;
  std::size_t total = 0;
  const auto asked = attempt("asking for free GPU memory", &Api::cuMemGetInfo_v2, &free, &total);
  if (!asked) return asked.error();
  return Memory{free, total};
}

Result<void> Context::wait() const { return attempt("waiting for the GPU", &Api::cuCtxSynchronize); }

Error Context::allocation_error(Code code, std::uint64_t bytes, std::string_view what) const {
  if (code != Code::kOutOfMemory) return driver_->error(code, "allocating " + std::string(what));
  std::string text = "out of GPU memory: " + std::string(what) + " needs " + size_text(bytes);
  if (auto now = memory()) {
    text += ", " + size_text(now->free) + " of " + size_text(now->total) + " are free on GPU " +
            std::to_string(properties_.ordinal) + " (" + properties_.name + ")";
  }
  return Error{text + "; use fewer lanes or a smaller memory limit"};
}

}  // namespace kvrm::backend::cuda
