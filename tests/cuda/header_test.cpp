// Our declarations of the driver against NVIDIA's own header, where it is installed.
#include <cuda.h>
#include <gtest/gtest.h>

#include <type_traits>

#include "backend/cuda/api.h"

namespace kvrm::backend::cuda {
namespace {

// The machine passes both the same way: as many bytes, and a pointer for a pointer.
template <class Ours, class Theirs>
constexpr bool kSamePassing = sizeof(Ours) == sizeof(Theirs) && std::is_pointer_v<Ours> == std::is_pointer_v<Theirs>;

template <class Ours, class Theirs>
constexpr bool kSameCall = false;
template <class... Ours, class... Theirs>
constexpr bool kSameCall<Code (*)(Ours...), CUresult (*)(Theirs...)> = [] {
  if constexpr (sizeof...(Ours) == sizeof...(Theirs)) {
    return (kSamePassing<Ours, Theirs> && ...);
  } else {
    return false;
  }
}();
static_assert(!kSameCall<Code (*)(int), CUresult (*)(long)> && !kSameCall<Code (*)(), CUresult (*)(int)>);

#define KVRM_COMPARE(name, ...) static_assert(kSameCall<decltype(Api::name), decltype(&::name)>, #name);
KVRM_CUDA_CALLS(KVRM_COMPARE)

#define KVRM_VALUE(ours, theirs) static_assert(static_cast<unsigned>(ours) == static_cast<unsigned>(theirs));
KVRM_VALUE(Code::kInvalidValue, CUDA_ERROR_INVALID_VALUE)
KVRM_VALUE(Code::kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY)
KVRM_VALUE(Code::kDeinitialized, CUDA_ERROR_DEINITIALIZED)
KVRM_VALUE(Code::kStubLibrary, CUDA_ERROR_STUB_LIBRARY)
KVRM_VALUE(Code::kDeviceUnavailable, CUDA_ERROR_DEVICE_UNAVAILABLE)
KVRM_VALUE(Code::kNoDevice, CUDA_ERROR_NO_DEVICE)
KVRM_VALUE(Code::kInvalidDevice, CUDA_ERROR_INVALID_DEVICE)
KVRM_VALUE(Code::kInvalidImage, CUDA_ERROR_INVALID_IMAGE)
KVRM_VALUE(Code::kNoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU)
KVRM_VALUE(Code::kEccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE)
KVRM_VALUE(Code::kInvalidPtx, CUDA_ERROR_INVALID_PTX)
KVRM_VALUE(Code::kNvlinkUncorrectable, CUDA_ERROR_NVLINK_UNCORRECTABLE)
KVRM_VALUE(Code::kJitCompilerNotFound, CUDA_ERROR_JIT_COMPILER_NOT_FOUND)
KVRM_VALUE(Code::kUnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
KVRM_VALUE(Code::kJitCompilationDisabled, CUDA_ERROR_JIT_COMPILATION_DISABLED)
KVRM_VALUE(Code::kNotFound, CUDA_ERROR_NOT_FOUND)
KVRM_VALUE(Code::kNotReady, CUDA_ERROR_NOT_READY)
KVRM_VALUE(Code::kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS)
KVRM_VALUE(Code::kLaunchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)
KVRM_VALUE(Code::kLaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT)
KVRM_VALUE(Code::kContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED)
KVRM_VALUE(Code::kAssert, CUDA_ERROR_ASSERT)
KVRM_VALUE(Code::kHardwareStackError, CUDA_ERROR_HARDWARE_STACK_ERROR)
KVRM_VALUE(Code::kIllegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION)
KVRM_VALUE(Code::kMisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS)
KVRM_VALUE(Code::kInvalidAddressSpace, CUDA_ERROR_INVALID_ADDRESS_SPACE)
KVRM_VALUE(Code::kInvalidPc, CUDA_ERROR_INVALID_PC)
KVRM_VALUE(Code::kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED)
KVRM_VALUE(Code::kSystemNotReady, CUDA_ERROR_SYSTEM_NOT_READY)
KVRM_VALUE(Code::kSystemDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH)
KVRM_VALUE(Code::kCompatNotSupported, CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE)
KVRM_VALUE(Code::kExternalDevice, CUDA_ERROR_EXTERNAL_DEVICE)
KVRM_VALUE(Code::kUnknown, CUDA_ERROR_UNKNOWN)

KVRM_VALUE(DeviceAttribute::kClockRate, CU_DEVICE_ATTRIBUTE_CLOCK_RATE)
KVRM_VALUE(DeviceAttribute::kMultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
KVRM_VALUE(DeviceAttribute::kKernelExecTimeout, CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT)
KVRM_VALUE(DeviceAttribute::kL2CacheSize, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)
KVRM_VALUE(DeviceAttribute::kMaxThreadsPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)
KVRM_VALUE(DeviceAttribute::kComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
KVRM_VALUE(DeviceAttribute::kComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
KVRM_VALUE(DeviceAttribute::kMaxSharedMemoryPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)
KVRM_VALUE(DeviceAttribute::kMaxRegistersPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR)
KVRM_VALUE(DeviceAttribute::kMaxSharedMemoryPerBlockOptin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)

KVRM_VALUE(FunctionAttribute::kMaxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
KVRM_VALUE(FunctionAttribute::kSharedSizeBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)
KVRM_VALUE(FunctionAttribute::kLocalSizeBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)
KVRM_VALUE(FunctionAttribute::kRegisters, CU_FUNC_ATTRIBUTE_NUM_REGS)
KVRM_VALUE(FunctionAttribute::kPtxVersion, CU_FUNC_ATTRIBUTE_PTX_VERSION)
KVRM_VALUE(FunctionAttribute::kBinaryVersion, CU_FUNC_ATTRIBUTE_BINARY_VERSION)
KVRM_VALUE(FunctionAttribute::kMaxDynamicSharedSizeBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
KVRM_VALUE(FunctionAttribute::kPreferredSharedMemoryCarveout, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)

KVRM_VALUE(JitOption::kErrorLogBuffer, CU_JIT_ERROR_LOG_BUFFER)
KVRM_VALUE(JitOption::kErrorLogBufferSizeBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
#if CUDA_VERSION >= 13000
KVRM_VALUE(JitOption::kSplitCompile, CU_JIT_SPLIT_COMPILE)
#endif
KVRM_VALUE(JitInput::kPtx, CU_JIT_INPUT_PTX)
KVRM_VALUE(kHostAllocPortable, CU_MEMHOSTALLOC_PORTABLE)
KVRM_VALUE(kHostAllocDeviceMap, CU_MEMHOSTALLOC_DEVICEMAP)
KVRM_VALUE(kStreamNonBlocking, CU_STREAM_NON_BLOCKING)
KVRM_VALUE(kEventBlockingSync, CU_EVENT_BLOCKING_SYNC)
KVRM_VALUE(kEventDisableTiming, CU_EVENT_DISABLE_TIMING)

TEST(CudaHeader, AgreesWithOurDeclarations) { SUCCEED() << "this file compiled"; }

}  // namespace
}  // namespace kvrm::backend::cuda
