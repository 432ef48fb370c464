// NVIDIA's driver, opened at run time, and what it lends us: a device, memory, modules, streams and events.
//
//   auto driver = Driver::instance();                    // or one line that says what is missing
//   auto context = Context::open(*driver, 0);
//   auto kernel = load_kernel(*context, {}, progress);   // module_cache.h
//   auto buffer = DeviceBuffer::allocate(*context, bytes);
//   auto stream = Stream::create(*context);
//   kernel->module.function("name")->launch(*stream, {.grid = 132, .block = 256}, buffer->address(), count);
//
// Everything that can fail gives a Result with one line for a person. Any thread may use any object; the calls set the
// device's context on their thread themselves. Objects keep alive what they need (a buffer its context, a function its
// module).
//
// While a kernel is resident the host must not allocate, free or load: those calls wait for the kernel, which may be
// waiting for the host. That includes the ends of the lives of these objects, and the first fill() on a device. Copies
// in another stream than the kernel's are fine, from and to pinned memory.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/cuda/api.h"
#include "kvrm/result.h"

namespace kvrm::backend::cuda {

inline constexpr int kOldestDriver = 12000;    // CUDA 12.0, driver 525: as cuDriverGetVersion counts
inline constexpr int kOldestCompute = 80;      // compute capability 8.0, ten times major plus minor

struct Properties {
  int ordinal = 0;
  std::string name;
  int compute_major = 0;
  int compute_minor = 0;
  int multiprocessors = 0;
  std::uint64_t memory = 0;                   // bytes
  int shared_memory_per_block = 0;            // bytes, what a kernel may opt in to
  int shared_memory_per_multiprocessor = 0;   // bytes
  int registers_per_multiprocessor = 0;
  int threads_per_multiprocessor = 0;
  int l2_bytes = 0;
  int clock_khz = 0;
  bool limits_kernel_time = false;            // the device also draws a screen: a long kernel is killed
  int driver_version = 0;                     // 12040 for CUDA 12.4

  int compute() const { return compute_major * 10 + compute_minor; }
};

// The library. It stays open until the process ends.
class Driver {
 public:
  // The process's one driver: libcuda.so.1, or what the environment variable KVRM_LIBCUDA names. Opened by the first
  // call.
  static Result<std::shared_ptr<const Driver>> instance();
  // Any library, for tests.
  static Result<std::shared_ptr<const Driver>> open(const std::string& library);

  const Api& api() const { return api_; }
  int version() const { return version_; }
  Result<int> device_count() const;
  // Of any device, also of one that is too old for us.
  Result<Properties> properties(int ordinal) const;

  // The one line for a call that did not succeed; `doing` completes "while ...".
  Error error(Code code, std::string_view doing) const;

 private:
  Driver() = default;
  Api api_;
  int version_ = 0;
};

// "12.4" for 12040.
std::string version_text(int driver_version);
// "64.0 GiB", "512 bytes"
std::string size_text(std::uint64_t bytes);
// Whether KVRM can run there, and if not, why.
Result<void> supported(const Properties& properties);

// A device, through its primary context.
class Context : public std::enable_shared_from_this<Context> {
 public:
  static Result<std::shared_ptr<const Context>> open(std::shared_ptr<const Driver> driver, int ordinal);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Driver& driver() const { return *driver_; }
  const Properties& properties() const { return properties_; }

  struct Memory {
    std::uint64_t free = 0, total = 0;
  };
  Result<Memory> memory() const;
  // Until everything on the device is done, however long that takes.
  Result<void> wait() const;

  // A call with this device's context current on the calling thread.
  template <class... Parameters, class... Arguments>
  Code call(Code (*Api::*function)(Parameters...), Arguments... arguments) const {
    const Code code = driver_->api().cuCtxSetCurrent(handle_);
    return code == Code::kSuccess ? (driver_->api().*function)(arguments...) : code;
  }
  // The same as a Result.
  template <class... Parameters, class... Arguments>
  Result<void> attempt(std::string_view doing, Code (*Api::*function)(Parameters...), Arguments... arguments) const {
    const Code code = call(function, arguments...);
    if (code != Code::kSuccess) return driver_->error(code, doing);
    return {};
  }
  // The error for `bytes` that could not be had; says how much is free where that is the reason.
  Error allocation_error(Code code, std::uint64_t bytes, std::string_view what) const;

 private:
  Context() = default;
  std::shared_ptr<const Driver> driver_;
  Properties properties_;
  DeviceNumber device_ = 0;
  ContextHandle handle_ = nullptr;
};
using ContextPointer = std::shared_ptr<const Context>;

// Memory on the device. Empty buffers (0 bytes) are allowed and have address 0.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  static Result<DeviceBuffer> allocate(ContextPointer context, std::size_t bytes, std::string_view what = "a buffer");
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    DeviceBuffer(std::move(other)).swap(*this);
    return *this;
  }
  ~DeviceBuffer();

  DeviceAddress address() const { return address_; }
  std::size_t size() const { return size_; }

 private:
  void swap(DeviceBuffer& other) noexcept;
  ContextPointer context_;
  DeviceAddress address_ = 0;
  std::size_t size_ = 0;
};

// Memory of the host that the device sees too: mailboxes, rings, and the ends of copies. Zero at first.
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  static Result<PinnedBuffer> allocate(ContextPointer context, std::size_t bytes, std::string_view what = "a buffer");
  PinnedBuffer(PinnedBuffer&& other) noexcept { swap(other); }
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept {
    PinnedBuffer(std::move(other)).swap(*this);
    return *this;
  }
  ~PinnedBuffer();

  void* host() const { return host_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(host_);
  }
  DeviceAddress address() const { return address_; }  // where the device sees it
  std::size_t size() const { return size_; }

 private:
  void swap(PinnedBuffer& other) noexcept;
  ContextPointer context_;
  void* host_ = nullptr;
  DeviceAddress address_ = 0;
  std::size_t size_ = 0;
};

// Work in order. Streams do not wait for each other, nor for the default stream.
class Stream {
 public:
  Stream() = default;
  static Result<Stream> create(ContextPointer context);
  Stream(Stream&& other) noexcept { swap(other); }
  Stream& operator=(Stream&& other) noexcept {
    Stream(std::move(other)).swap(*this);
    return *this;
  }
  ~Stream();

  // These return at once; the memory must stay until the stream is through. Copies with memory of the host that is not
  // pinned are staged and slower.
  Result<void> upload(DeviceAddress to, const void* from, std::size_t bytes) const;
  // So many rows that lie close together on the host and `pitch` bytes apart on the GPU.
  Result<void> upload_rows(DeviceAddress to, std::size_t pitch, const void* from, std::size_t width,
                           std::size_t rows) const;
  Result<void> download_rows(void* to, DeviceAddress from, std::size_t pitch, std::size_t width,
                             std::size_t rows) const;
  Result<void> download(void* to, DeviceAddress from, std::size_t bytes) const;
  Result<void> copy(DeviceAddress to, DeviceAddress from, std::size_t bytes) const;
  Result<void> fill(DeviceAddress to, std::uint8_t value, std::size_t bytes) const;

  Result<bool> done() const;  // whether everything given to the stream has ended; an error if it failed
  Result<void> wait() const;  // however long it takes
  Result<bool> wait_for(std::chrono::nanoseconds time) const;  // done() after at most this time

  StreamHandle handle() const { return handle_; }
  const ContextPointer& context() const { return context_; }

 private:
  void swap(Stream& other) noexcept;
  ContextPointer context_;
  StreamHandle handle_ = nullptr;
};

// A mark in a stream.
class Event {
 public:
  Event() = default;
  // With timing off an event is cheaper, and seconds_since() is an error.
  static Result<Event> create(ContextPointer context, bool timing = true);
  Event(Event&& other) noexcept { swap(other); }
  Event& operator=(Event&& other) noexcept {
    Event(std::move(other)).swap(*this);
    return *this;
  }
  ~Event();

  Result<void> record(const Stream& stream) const;
  Result<bool> done() const;
  Result<void> wait() const;
  Result<double> seconds_since(const Event& start) const;

 private:
  void swap(Event& other) noexcept;
  ContextPointer context_;
  EventHandle handle_ = nullptr;
};

struct Extent {
  unsigned x = 1, y = 1, z = 1;
  Extent(unsigned x_extent = 1, unsigned y_extent = 1, unsigned z_extent = 1) : x(x_extent), y(y_extent), z(z_extent) {}
};

struct LaunchShape {
  Extent grid, block;
  unsigned shared_bytes = 0;  // dynamic; above 48 KiB after set_dynamic_shared()
};

class Module;

// A kernel.
class Function {
 public:
  struct Attributes {
    int registers = 0;  // of a thread
    int local_bytes = 0;  // of a thread: stack and spills
    int shared_bytes = 0;  // static, of a block
    int threads_per_block = 0;  // at most
    int ptx_version = 0, binary_version = 0;
  };
  Result<Attributes> attributes() const;
  // Allows launches with this much dynamic shared memory.
  Result<void> set_dynamic_shared(unsigned bytes) const;
  // How much of a multiprocessor's memory should be shared memory rather than cache: percent, -1 for the driver's
  // choice.
  Result<void> set_shared_carveout(int percent) const;
  // How many blocks fit on one multiprocessor.
  Result<int> blocks_per_multiprocessor(unsigned threads, std::size_t shared_bytes) const;

  // Returns at once. The arguments must be exactly of the types of the kernel's parameters: they are copied byte for
  // byte.
  template <class... Arguments>
  Result<void> launch(const Stream& stream, const LaunchShape& shape, Arguments... arguments) const {
    std::array<void*, sizeof...(Arguments) + 1> pointers{static_cast<void*>(&arguments)..., nullptr};
    return launch_with(stream, shape, pointers.data());
  }
  Result<void> launch_with(const Stream& stream, const LaunchShape& shape, void** parameters) const;

 private:
  friend class Module;
  struct Loaded;
  std::shared_ptr<const Loaded> module_;
  FunctionHandle handle_ = nullptr;
  std::string name_;
};

// Code on the device.
class Module {
 public:
  Module() = default;
  // A cubin, or PTX that a zero byte ends.
  static Result<Module> load(ContextPointer context, std::span<const std::byte> image);
  Result<Function> function(const std::string& name) const;
  struct Global {
    DeviceAddress address = 0;
    std::size_t size = 0;
  };
  Result<Global> global(const std::string& name) const;

 private:
  std::shared_ptr<const Function::Loaded> loaded_;
};

// The driver's compiler: a cubin for the context's device from PTX. The byte after the span must be 0.
Result<std::vector<std::byte>> compile_ptx(const Context& context, std::span<const std::byte> ptx);
// The same together with a relocatable cubin. The text ends with a zero byte that is not counted. So many registers a
// thread, at most.
Result<std::vector<std::byte>> link_ptx(const Context& context, std::span<const std::byte> cubin,
                                        std::span<const std::byte> ptx, unsigned registers);

}  // namespace kvrm::backend::cuda
