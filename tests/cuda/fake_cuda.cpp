#include "fake_cuda.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>

using namespace kvrm::backend::cuda;

namespace {

FakeState state;
ContextHandle current = nullptr;  // of one thread; the tests have no more

// A handle that is not null and points at nothing.
template <class Handle>
Code make(Handle* handle) {
  *handle = reinterpret_cast<Handle>(static_cast<std::uintptr_t>(0x1000));
  ++state.live;
  return Code::kSuccess;
}

Code drop() {
  --state.live;
  return Code::kSuccess;
}

// Most calls need a context.
Code with_context(Code code) { return current ? code : static_cast<Code>(201); }

}  // namespace

extern "C" {

Code cuDriverGetVersion(int* version) {
  *version = state.version;
  return Code::kSuccess;
}

FakeState* kvrm_fake_cuda_state() { return &state; }

Code cuInit(unsigned) { return state.init; }

Code cuGetErrorName(Code code, const char** text) {
  *text = code == Code::kIllegalAddress ? "CUDA_ERROR_ILLEGAL_ADDRESS" : nullptr;
  return *text ? Code::kSuccess : Code::kInvalidValue;
}

Code cuGetErrorString(Code code, const char** text) {
  *text = code == Code::kIllegalAddress ? "an illegal memory access\nwas encountered" : nullptr;
  return *text ? Code::kSuccess : Code::kInvalidValue;
}

Code cuDeviceGetCount(int* count) {
  *count = state.devices;
  return Code::kSuccess;
}

Code cuDeviceGet(DeviceNumber* device, int ordinal) {
  *device = ordinal;
  return ordinal < state.devices ? Code::kSuccess : Code::kInvalidDevice;
}

Code cuDeviceGetName(char* name, int size, DeviceNumber) {
  std::snprintf(name, static_cast<std::size_t>(size), "Fake GPU");
  return Code::kSuccess;
}

Code cuDeviceTotalMem_v2(std::size_t* bytes, DeviceNumber) {
  *bytes = std::size_t{16} << 30;
  return Code::kSuccess;
}

Code cuDeviceGetAttribute(int* value, DeviceAttribute attribute, DeviceNumber) {
  switch (attribute) {
    case DeviceAttribute::kComputeCapabilityMajor: *value = state.compute / 10; break;
    case DeviceAttribute::kComputeCapabilityMinor: *value = state.compute % 10; break;
    case DeviceAttribute::kMultiprocessorCount: *value = 132; break;
    case DeviceAttribute::kMaxSharedMemoryPerBlockOptin: *value = 232448; break;
    case DeviceAttribute::kClockRate: *value = 1980000; break;
    default: *value = 0; break;
  }
  return Code::kSuccess;
}

Code cuDevicePrimaryCtxRetain(ContextHandle* context, DeviceNumber) {
  return state.retain == Code::kSuccess ? make(context) : state.retain;
}
Code cuDevicePrimaryCtxRelease_v2(DeviceNumber) { return drop(); }
Code cuCtxSetCurrent(ContextHandle context) {
  current = context;
  return Code::kSuccess;
}
Code cuCtxSynchronize() { return with_context(state.stream); }

Code cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  *free = state.free;
  *total = std::size_t{16} << 30;
  return with_context(Code::kSuccess);
}

Code cuMemAlloc_v2(DeviceAddress* address, std::size_t bytes) {
  if (bytes > state.free) return Code::kOutOfMemory;
  ++state.live;
  *address = reinterpret_cast<DeviceAddress>(std::malloc(bytes));
  return with_context(Code::kSuccess);
}
Code cuMemFree_v2(DeviceAddress address) {
  std::free(reinterpret_cast<void*>(address));
  return drop();
}
Code cuMemHostAlloc(void** pointer, std::size_t bytes, unsigned flags) {
  if (bytes > state.free) return Code::kOutOfMemory;
  if (flags != (kHostAllocPortable | kHostAllocDeviceMap)) return Code::kInvalidValue;
  ++state.live;
  *pointer = std::malloc(bytes);
  std::memset(*pointer, 0x55, bytes);
  return with_context(Code::kSuccess);
}
Code cuMemHostGetDevicePointer_v2(DeviceAddress* address, void* pointer, unsigned) {
  *address = reinterpret_cast<DeviceAddress>(pointer);
  return Code::kSuccess;
}
Code cuMemFreeHost(void* pointer) {
  std::free(pointer);
  return drop();
}

Code cuMemcpyHtoDAsync_v2(DeviceAddress to, const void* from, std::size_t bytes, StreamHandle) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return with_context(Code::kSuccess);
}
Code cuMemcpy2DAsync_v2(const RowCopy* copy, StreamHandle) {
  for (std::size_t row = 0; row < copy->height; ++row) {
    std::memcpy(reinterpret_cast<void*>(copy->to_device + row * copy->to_pitch),
                static_cast<const char*>(copy->from_host) + row * copy->from_pitch, copy->width);
  }
  return with_context(Code::kSuccess);
}
Code cuMemcpyDtoHAsync_v2(void* to, DeviceAddress from, std::size_t bytes, StreamHandle) {
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return with_context(Code::kSuccess);
}
Code cuMemcpyDtoDAsync_v2(DeviceAddress to, DeviceAddress from, std::size_t bytes, StreamHandle) {
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  return with_context(Code::kSuccess);
}
Code cuMemsetD8Async(DeviceAddress to, unsigned char value, std::size_t count, StreamHandle) {
  std::memset(reinterpret_cast<void*>(to), value, count);
  return with_context(Code::kSuccess);
}

Code cuStreamCreate(StreamHandle* stream, unsigned flags) {
  return flags == kStreamNonBlocking ? make(stream) : Code::kInvalidValue;
}
Code cuStreamDestroy_v2(StreamHandle) { return drop(); }
Code cuStreamQuery(StreamHandle) { return with_context(state.stream); }
Code cuStreamSynchronize(StreamHandle) { return with_context(state.stream); }

Code cuEventCreate(EventHandle* event, unsigned) { return make(event); }
Code cuEventDestroy_v2(EventHandle) { return drop(); }
Code cuEventRecord(EventHandle, StreamHandle) { return with_context(Code::kSuccess); }
Code cuEventQuery(EventHandle) { return with_context(state.stream); }
Code cuEventSynchronize(EventHandle) { return with_context(state.stream); }
Code cuEventElapsedTime(float* milliseconds, EventHandle, EventHandle) {
  *milliseconds = 250;
  return with_context(Code::kSuccess);
}

Code cuModuleLoadDataEx(ModuleHandle* module, const void* image, unsigned, JitOption*, void**) {
  const bool is_elf = std::memcmp(image, "\177ELF", 4) == 0;
  if (is_elf && state.load_elf != Code::kSuccess) return state.load_elf;
  return with_context(make(module));
}
Code cuModuleUnload(ModuleHandle) { return drop(); }
Code cuModuleGetFunction(FunctionHandle* function, ModuleHandle, const char* name) {
  if (std::strcmp(name, "missing") == 0) return Code::kNotFound;
  *function = reinterpret_cast<FunctionHandle>(static_cast<std::uintptr_t>(0x2000));
  return Code::kSuccess;
}
Code cuModuleGetGlobal_v2(DeviceAddress* address, std::size_t* bytes, ModuleHandle, const char*) {
  *address = 0x3000;
  *bytes = 8;
  return Code::kSuccess;
}

Code cuLinkCreate_v2(unsigned, JitOption*, void** values, LinkHandle* link) {
  // The first value is the error log.
  if (state.link != Code::kSuccess) std::strcpy(static_cast<char*>(values[0]), "ptxas fatal: no\nand more");
  return make(link);
}
Code cuLinkAddData_v2(LinkHandle, JitInput type, void* data, std::size_t bytes, const char*, unsigned, JitOption*,
                      void**) {
  const bool ends = type == JitInput::kPtx && static_cast<const char*>(data)[bytes - 1] == '\0';
  return ends ? state.link : Code::kInvalidValue;
}
Code cuLinkComplete(LinkHandle, void** cubin, std::size_t* bytes) {
  static char text[] = "compiled";
  ++state.compiled;
  *cubin = text;
  *bytes = sizeof text;
  return Code::kSuccess;
}
Code cuLinkDestroy(LinkHandle) { return drop(); }

Code cuFuncGetAttribute(int* value, FunctionAttribute attribute, FunctionHandle) {
  *value = static_cast<int>(attribute);
  return with_context(Code::kSuccess);
}
Code cuFuncSetAttribute(FunctionHandle, FunctionAttribute, int) { return with_context(Code::kSuccess); }
Code cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, FunctionHandle, int threads, std::size_t) {
  *blocks = 2048 / threads;
  return with_context(Code::kSuccess);
}

// Stands for a kernel with the parameters (value, address): stores the value there.
Code cuLaunchKernel(FunctionHandle, unsigned grid_x, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                    StreamHandle, void** parameters, void**) {
  if (state.launch != Code::kSuccess) return state.launch;
  state.launched_grid = grid_x;
  int value = 0;
  DeviceAddress address = 0;
  std::memcpy(&value, parameters[0], sizeof value);
  std::memcpy(&address, parameters[1], sizeof address);
  std::memcpy(reinterpret_cast<void*>(address), &value, sizeof value);
  return with_context(Code::kSuccess);
}

#define KVRM_SAME_TYPE(name, ...) static_assert(std::is_same_v<decltype(&::name), decltype(Api::name)>);
KVRM_CUDA_CALLS(KVRM_SAME_TYPE)
}
