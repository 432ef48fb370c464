// The part of NVIDIA's driver interface (libcuda.so.1) that KVRM uses, declared here so that no CUDA toolkit is needed
// to build. tests/cuda/header_test.cpp compares it with cuda.h where that is installed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kvrm::backend::cuda {

// CUresult. Only the codes we say something special about have a name.
enum class Code : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kDeinitialized = 4,
  kStubLibrary = 34,
  kDeviceUnavailable = 46,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kNoBinaryForGpu = 209,
  kEccUncorrectable = 214,
  kInvalidPtx = 218,
  kNvlinkUncorrectable = 220,
  kJitCompilerNotFound = 221,
  kUnsupportedPtxVersion = 222,
  kJitCompilationDisabled = 223,
  kContained = 226,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kLaunchTimeout = 702,
  kContextIsDestroyed = 709,
  kAssert = 710,
  kHardwareStackError = 714,
  kIllegalInstruction = 715,
  kMisalignedAddress = 716,
  kInvalidAddressSpace = 717,
  kInvalidPc = 718,
  kLaunchFailed = 719,
  kSystemNotReady = 802,
  kSystemDriverMismatch = 803,
  kCompatNotSupported = 804,
  kMpsClientTerminated = 810,
  kExternalDevice = 911,
  kUnknown = 999,
};

// CUdevice_attribute
enum class DeviceAttribute : int {
  kClockRate = 13,
  kMultiprocessorCount = 16,
  kKernelExecTimeout = 17,
  kL2CacheSize = 38,
  kMaxThreadsPerMultiprocessor = 39,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kMaxSharedMemoryPerMultiprocessor = 81,
  kMaxRegistersPerMultiprocessor = 82,
  kMaxSharedMemoryPerBlockOptin = 97,
};

// CUfunction_attribute
enum class FunctionAttribute : int {
  kMaxThreadsPerBlock = 0,
  kSharedSizeBytes = 1,
  kLocalSizeBytes = 3,
  kRegisters = 4,
  kPtxVersion = 5,
  kBinaryVersion = 6,
  kMaxDynamicSharedSizeBytes = 8,
  kPreferredSharedMemoryCarveout = 9,
};

// CUjit_option, CUjitInputType
enum class JitOption : int {
  kMaxRegisters = 0,
  kErrorLogBuffer = 5,
  kErrorLogBufferSizeBytes = 6,
  kSplitCompile = 34,  // since CUDA 13.0: so many threads; 0: as many as there are processors
};
enum class JitInput : int { kCubin = 0, kPtx = 1 };

// Flags of calls that take an unsigned number.
inline constexpr unsigned kHostAllocPortable = 1;
inline constexpr unsigned kHostAllocDeviceMap = 2;
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventBlockingSync = 1;
inline constexpr unsigned kEventDisableTiming = 2;

using DeviceNumber = int;               // CUdevice
using DeviceAddress = std::uint64_t;    // CUdeviceptr
using ContextHandle = struct CUctx_st*;
using ModuleHandle = struct CUmod_st*;
using FunctionHandle = struct CUfunc_st*;
using StreamHandle = struct CUstream_st*;
using EventHandle = struct CUevent_st*;
using LinkHandle = struct CUlinkState_st*;

// CUDA_MEMCPY2D: rows with a pitch.
struct RowCopy {
  std::size_t from_x, from_y;
  unsigned from_kind;  // 1: host, 2: device
  const void* from_host;
  DeviceAddress from_device;
  void* from_array;
  std::size_t from_pitch;
  std::size_t to_x, to_y;
  unsigned to_kind;
  void* to_host;
  DeviceAddress to_device;
  void* to_array;
  std::size_t to_pitch;
  std::size_t width, height;
};
static_assert(sizeof(RowCopy) == 128);

// Every call: its name in the library, which carries the version of its parameters, and the parameters.
#define KVRM_CUDA_CALLS(X)                                                                                             \
  X(cuInit, unsigned flags)                                                                                            \
  X(cuDriverGetVersion, int* version)                                                                                  \
  X(cuGetErrorName, Code code, const char** text)                                                                      \
  X(cuGetErrorString, Code code, const char** text)                                                                    \
  X(cuDeviceGetCount, int* count)                                                                                      \
  X(cuDeviceGet, DeviceNumber* device, int ordinal)                                                                    \
  X(cuDeviceGetName, char* name, int size, DeviceNumber device)                                                        \
  X(cuDeviceTotalMem_v2, std::size_t* bytes, DeviceNumber device)                                                      \
  X(cuDeviceGetAttribute, int* value, DeviceAttribute attribute, DeviceNumber device)                                  \
  X(cuDevicePrimaryCtxRetain, ContextHandle* context, DeviceNumber device)                                             \
  X(cuDevicePrimaryCtxRelease_v2, DeviceNumber device)                                                                 \
  X(cuCtxSetCurrent, ContextHandle context)                                                                            \
  X(cuCtxSynchronize)                                                                                                  \
  X(cuMemGetInfo_v2, std::size_t* free, std::size_t* total)                                                            \
  X(cuMemAlloc_v2, DeviceAddress* address, std::size_t bytes)                                                          \
  X(cuMemFree_v2, DeviceAddress address)                                                                               \
  X(cuMemHostAlloc, void** pointer, std::size_t bytes, unsigned flags)                                                 \
  X(cuMemHostGetDevicePointer_v2, DeviceAddress* address, void* pointer, unsigned flags)                               \
  X(cuMemFreeHost, void* pointer)                                                                                      \
  X(cuMemcpyHtoDAsync_v2, DeviceAddress to, const void* from, std::size_t bytes, StreamHandle stream)                  \
  X(cuMemcpyDtoHAsync_v2, void* to, DeviceAddress from, std::size_t bytes, StreamHandle stream)                        \
  X(cuMemcpyDtoDAsync_v2, DeviceAddress to, DeviceAddress from, std::size_t bytes, StreamHandle stream)                \
  X(cuMemcpy2DAsync_v2, const RowCopy* copy, StreamHandle stream)                                                      \
  X(cuMemsetD8Async, DeviceAddress to, unsigned char value, std::size_t count, StreamHandle stream)                    \
  X(cuStreamCreate, StreamHandle* stream, unsigned flags)                                                              \
  X(cuStreamDestroy_v2, StreamHandle stream)                                                                           \
  X(cuStreamQuery, StreamHandle stream)                                                                                \
  X(cuStreamSynchronize, StreamHandle stream)                                                                          \
  X(cuEventCreate, EventHandle* event, unsigned flags)                                                                 \
  X(cuEventDestroy_v2, EventHandle event)                                                                              \
  X(cuEventRecord, EventHandle event, StreamHandle stream)                                                             \
  X(cuEventQuery, EventHandle event)                                                                                   \
  X(cuEventSynchronize, EventHandle event)                                                                             \
  X(cuEventElapsedTime, float* milliseconds, EventHandle start, EventHandle end)                                       \
  X(cuModuleLoadDataEx, ModuleHandle* module, const void* image, unsigned count, JitOption* options, void** values)    \
  X(cuModuleUnload, ModuleHandle module)                                                                               \
  X(cuModuleGetFunction, FunctionHandle* function, ModuleHandle module, const char* name)                              \
  X(cuModuleGetGlobal_v2, DeviceAddress* address, std::size_t* bytes, ModuleHandle module, const char* name)           \
  X(cuLinkCreate_v2, unsigned count, JitOption* options, void** values, LinkHandle* link)                              \
  X(cuLinkAddData_v2, LinkHandle link, JitInput type, void* data, std::size_t bytes, const char* name, unsigned count, \
    JitOption* options, void** values)                                                                                 \
  X(cuLinkComplete, LinkHandle link, void** cubin, std::size_t* bytes)                                                 \
  X(cuLinkDestroy, LinkHandle link)                                                                                    \
  X(cuFuncGetAttribute, int* value, FunctionAttribute attribute, FunctionHandle function)                              \
  X(cuFuncSetAttribute, FunctionHandle function, FunctionAttribute attribute, int value)                               \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor, int* blocks, FunctionHandle function, int threads,                    \
    std::size_t shared_bytes)                                                                                          \
  X(cuLaunchKernel, FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,      \
    unsigned block_y, unsigned block_z, unsigned shared_bytes, StreamHandle stream, void** parameters, void** extra)

// The calls as pointers, found in the library when it is opened.
struct Api {
#define KVRM_CUDA_POINTER(name, ...) Code (*name)(__VA_ARGS__) = nullptr;
  KVRM_CUDA_CALLS(KVRM_CUDA_POINTER)
#undef KVRM_CUDA_POINTER
};

}  // namespace kvrm::backend::cuda
