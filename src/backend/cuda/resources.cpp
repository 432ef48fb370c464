// What a context lends: buffers, streams, events, modules and functions.
#include <cstring>
#include <thread>

#include "backend/cuda/driver.h"

namespace kvrm::backend::cuda {
namespace {

// Whether something has ended, from the answer of a query.
Result<bool> ended(const Context& context, Code code, std::string_view doing) {
  if (code == Code::kSuccess) return true;
  if (code == Code::kNotReady) return false;
  return context.driver().error(code, doing);
}

// Where the driver's compiler writes what it does not like.
class ErrorLog {
 public:
  unsigned count() const { return 2; }
  JitOption* options() { return options_.data(); }
  void** values() { return values_.data(); }
  // The error with the first line of the log.
  Error with(Error error) const {
    const std::string_view text(text_.data(), strnlen(text_.data(), text_.size()));
    const std::string_view line = text.substr(0, text.find('\n'));
    if (!line.empty()) error.message += ": " + std::string(line);
    return error;
  }

 private:
  std::array<char, 4096> text_{};
  std::array<JitOption, 2> options_{JitOption::kErrorLogBuffer, JitOption::kErrorLogBufferSizeBytes};
  // Numbers travel in the pointer itself.
  std::array<void*, 2> values_{text_.data(), reinterpret_cast<void*>(text_.size())};
};

}  // namespace

Result<DeviceBuffer> DeviceBuffer::allocate(ContextPointer context, std::size_t bytes, std::string_view what) {
  DeviceBuffer buffer;
  if (bytes != 0) {
    DeviceAddress address = 0;
    const Code code = context->call(&Api::cuMemAlloc_v2, &address, bytes);
    if (code != Code::kSuccess) return context->allocation_error(code, bytes, what);
    buffer.address_ = address;
    buffer.size_ = bytes;
  }
  buffer.context_ = std::move(context);
  return buffer;
}

DeviceBuffer::~DeviceBuffer() {
  if (address_) context_->call(&Api::cuMemFree_v2, address_);
}

void DeviceBuffer::swap(DeviceBuffer& other) noexcept {
  std::swap(context_, other.context_);
  std::swap(address_, other.address_);
  std::swap(size_, other.size_);
}

Result<PinnedBuffer> PinnedBuffer::allocate(ContextPointer context, std::size_t bytes, std::string_view what) {
  PinnedBuffer buffer;
  buffer.context_ = std::move(context);
  if (bytes == 0) return buffer;
  const Context& owner = *buffer.context_;
  Code code = owner.call(&Api::cuMemHostAlloc, &buffer.host_, bytes, kHostAllocPortable | kHostAllocDeviceMap);
  if (code == Code::kOutOfMemory) {
    return Error{"out of memory: " + size_text(bytes) + " of the host's memory cannot be pinned for " +
                 std::string(what) + "; free some, or use fewer lanes"};
  }
  if (code != Code::kSuccess) return owner.driver().error(code, "pinning memory for " + std::string(what));
  buffer.size_ = bytes;
  std::memset(buffer.host_, 0, bytes);
  code = owner.call(&Api::cuMemHostGetDevicePointer_v2, &buffer.address_, buffer.host_, 0U);
  if (code != Code::kSuccess) return owner.driver().error(code, "mapping memory for " + std::string(what));
  return buffer;
}

PinnedBuffer::~PinnedBuffer() {
  if (host_) context_->call(&Api::cuMemFreeHost, host_);
}

void PinnedBuffer::swap(PinnedBuffer& other) noexcept {
  std::swap(context_, other.context_);
  std::swap(host_, other.host_);
  std::swap(address_, other.address_);
  std::swap(size_, other.size_);
}

Result<Stream> Stream::create(ContextPointer context) {
  Stream stream;
  const auto made = context->attempt("creating a stream", &Api::cuStreamCreate, &stream.handle_, kStreamNonBlocking);
  stream.context_ = std::move(context);
  if (!made) return made.error();
  return stream;
}

Stream::~Stream() {
  if (handle_) context_->call(&Api::cuStreamDestroy_v2, handle_);
}

void Stream::swap(Stream& other) noexcept {
  std::swap(context_, other.context_);
  std::swap(handle_, other.handle_);
}

Result<void> Stream::upload(DeviceAddress to, const void* from, std::size_t bytes) const {
  if (bytes == 0) return {};
  return context_->attempt("copying to the GPU", &Api::cuMemcpyHtoDAsync_v2, to, from, bytes, handle_);
}

namespace {
constexpr unsigned kHost = 1, kDevice = 2;  // kinds of memory in a RowCopy
}  // namespace

Result<void> Stream::download_rows(void* to, DeviceAddress from, std::size_t pitch, std::size_t width,
                                   std::size_t rows) const {
  if (rows == 0) return {};
  RowCopy copy{};
  copy.from_kind = kDevice;
  copy.from_device = from;
  copy.from_pitch = pitch;
  copy.to_kind = kHost;
  copy.to_host = to;
  copy.to_pitch = copy.width = width;
  copy.height = rows;
  return context_->attempt("copying from the GPU", &Api::cuMemcpy2DAsync_v2, &copy, handle_);
}

Result<void> Stream::upload_rows(DeviceAddress to, std::size_t pitch, const void* from, std::size_t width,
                                 std::size_t rows) const {
  if (rows == 0) return {};
  RowCopy copy{};
  copy.from_kind = kHost;
  copy.from_host = from;
  copy.from_pitch = copy.width = width;
  copy.to_kind = kDevice;
  copy.to_device = to;
  copy.to_pitch = pitch;
  copy.height = rows;
  return context_->attempt("copying to the GPU", &Api::cuMemcpy2DAsync_v2, &copy, handle_);
}

Result<void> Stream::download(void* to, DeviceAddress from, std::size_t bytes) const {
  if (bytes == 0) return {};
  return context_->attempt("copying from the GPU", &Api::cuMemcpyDtoHAsync_v2, to, from, bytes, handle_);
}

Result<void> Stream::copy(DeviceAddress to, DeviceAddress from, std::size_t bytes) const {
  if (bytes == 0) return {};
  return context_->attempt("copying on the GPU", &Api::cuMemcpyDtoDAsync_v2, to, from, bytes, handle_);
}

Result<void> Stream::fill(DeviceAddress to, std::uint8_t value, std::size_t bytes) const {
  if (bytes == 0) return {};
  return context_->attempt("filling GPU memory", &Api::cuMemsetD8Async, to, value, bytes, handle_);
}

Result<bool> Stream::done() const {
  return ended(*context_, context_->call(&Api::cuStreamQuery, handle_), "running its work");
}

Result<void> Stream::wait() const { return context_->attempt("running its work", &Api::cuStreamSynchronize, handle_); }

Result<bool> Stream::wait_for(std::chrono::nanoseconds time) const {
  const auto end = std::chrono::steady_clock::now() + time;
  for (;;) {
    auto now = done();
    if (!now || *now || std::chrono::steady_clock::now() >= end) return now;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

Result<Event> Event::create(ContextPointer context, bool timing) {
  Event event;
  const unsigned flags = kEventBlockingSync | (timing ? 0 : kEventDisableTiming);
  const auto made = context->attempt("creating an event", &Api::cuEventCreate, &event.handle_, flags);
  event.context_ = std::move(context);
  if (!made) return made.error();
  return event;
}

Event::~Event() {
  if (handle_) context_->call(&Api::cuEventDestroy_v2, handle_);
}

void Event::swap(Event& other) noexcept {
  std::swap(context_, other.context_);
  std::swap(handle_, other.handle_);
}

Result<void> Event::record(const Stream& stream) const {
  return context_->attempt("recording an event", &Api::cuEventRecord, handle_, stream.handle());
}

Result<bool> Event::done() const {
  return ended(*context_, context_->call(&Api::cuEventQuery, handle_), "running its work");
}

Result<void> Event::wait() const { return context_->attempt("running its work", &Api::cuEventSynchronize, handle_); }

Result<double> Event::seconds_since(const Event& start) const {
  float milliseconds = 0;
  const auto asked =
      context_->attempt("measuring time", &Api::cuEventElapsedTime, &milliseconds, start.handle_, handle_);
  if (!asked) return asked.error();
  return static_cast<double>(milliseconds) / 1000;
}

// A module on the device, for as long as someone holds it or one of its functions.
struct Function::Loaded {
  ContextPointer context;
  ModuleHandle handle = nullptr;
  explicit Loaded(ContextPointer owner) : context(std::move(owner)) {}
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
  ~Loaded() {
    if (handle) context->call(&Api::cuModuleUnload, handle);
  }
};

Result<Module> Module::load(ContextPointer context, std::span<const std::byte> image) {
  auto loaded = std::make_shared<Function::Loaded>(std::move(context));
  ErrorLog log;
  const auto done =
      loaded->context->attempt("loading the GPU code", &Api::cuModuleLoadDataEx, &loaded->handle,
                               static_cast<const void*>(image.data()), log.count(), log.options(), log.values());
  if (!done) return log.with(done.error());
  Module module;
  module.loaded_ = std::move(loaded);
  return module;
}

Result<Function> Module::function(const std::string& name) const {
  Function function;
  const auto found = loaded_->context->attempt("looking for the kernel " + name, &Api::cuModuleGetFunction,
                                               &function.handle_, loaded_->handle, name.c_str());
  if (!found) return found.error();
  function.module_ = loaded_;
  function.name_ = name;
  return function;
}

Result<Module::Global> Module::global(const std::string& name) const {
  Global global;
  const auto found = loaded_->context->attempt("looking for the variable " + name, &Api::cuModuleGetGlobal_v2,
                                               &global.address, &global.size, loaded_->handle, name.c_str());
  if (!found) return found.error();
  return global;
}

Result<Function::Attributes> Function::attributes() const {
  Attributes found;
  const std::pair<FunctionAttribute, int*> wanted[] = {
      {FunctionAttribute::kRegisters, &found.registers},
      {FunctionAttribute::kLocalSizeBytes, &found.local_bytes},
      {FunctionAttribute::kSharedSizeBytes, &found.shared_bytes},
      {FunctionAttribute::kMaxThreadsPerBlock, &found.threads_per_block},
      {FunctionAttribute::kPtxVersion, &found.ptx_version},
      {FunctionAttribute::kBinaryVersion, &found.binary_version},
  };
  for (const auto& [attribute, value] : wanted) {
    const auto asked = module_->context->attempt("asking for a kernel's properties", &Api::cuFuncGetAttribute, value,
                                                 attribute, handle_);
    if (!asked) return asked.error();
  }
  return found;
}

Result<void> Function::set_dynamic_shared(unsigned bytes) const {
  const int most = module_->context->properties().shared_memory_per_block;
  if (bytes > static_cast<unsigned>(most)) {
    return Error{"the kernel " + name_ + " wants " + size_text(bytes) + " of shared memory a block; this GPU has " +
                 size_text(static_cast<std::uint64_t>(most))};
  }
  return module_->context->attempt("setting a kernel's shared memory", &Api::cuFuncSetAttribute, handle_,
                                   FunctionAttribute::kMaxDynamicSharedSizeBytes, static_cast<int>(bytes));
}

Result<void> Function::set_shared_carveout(int percent) const {
  return module_->context->attempt("setting a kernel's shared memory", &Api::cuFuncSetAttribute, handle_,
                                   FunctionAttribute::kPreferredSharedMemoryCarveout, percent);
}

Result<int> Function::blocks_per_multiprocessor(unsigned threads, std::size_t shared_bytes) const {
  int blocks = 0;
  const auto asked =
      module_->context->attempt("asking how many blocks fit", &Api::cuOccupancyMaxActiveBlocksPerMultiprocessor,
                                &blocks, handle_, static_cast<int>(threads), shared_bytes);
  if (!asked) return asked.error();
  return blocks;
}

Result<void> Function::launch_with(const Stream& stream, const LaunchShape& shape, void** parameters) const {
  void** const no_extra = nullptr;
  return module_->context->attempt("launching the kernel " + name_, &Api::cuLaunchKernel, handle_, shape.grid.x,
                                   shape.grid.y, shape.grid.z, shape.block.x, shape.block.y, shape.block.z,
                                   shape.shared_bytes, stream.handle(), parameters, no_extra);
}

namespace {

struct LinkInput {
  JitInput type;
  std::span<const std::byte> bytes;
};

Result<std::vector<std::byte>> link_inputs(const Context& context, std::span<const LinkInput> inputs,
                                           unsigned registers) {
  ErrorLog log;
  LinkHandle link = nullptr;
  auto done = context.attempt("starting the driver's compiler", &Api::cuLinkCreate_v2, log.count(), log.options(),
                              log.values(), &link);
  if (!done) return done.error();
  void* cubin = nullptr;
  std::size_t size = 0;
  JitOption options[] = {JitOption::kMaxRegisters, JitOption::kSplitCompile};
  void* values[] = {reinterpret_cast<void*>(std::uintptr_t{registers}), nullptr};
  constexpr int kKnowsSplitting = 13000;
  const bool splits = context.properties().driver_version >= kKnowsSplitting;
  for (const LinkInput& input : inputs) {
    // The driver only reads, and wants the zero byte of a text counted.
    const bool is_text = input.type == JitInput::kPtx;
    void* const bytes = const_cast<std::byte*>(input.bytes.data());
    const auto add = [&](unsigned count) {
      return context.attempt("compiling the GPU code", &Api::cuLinkAddData_v2, link, input.type, bytes,
                             input.bytes.size() + is_text, "kvrm kernel", count, options, values);
    };
    const unsigned count = is_text && registers != 0 ? 1 : 0;
    done = add(count + (count != 0 && splits));
    if (!done && count != 0 && splits) done = add(count);
    if (!done) break;
  }
  if (done) done = context.attempt("compiling the GPU code", &Api::cuLinkComplete, link, &cubin, &size);
  std::vector<std::byte> result;
  if (done) {
    const auto* bytes = static_cast<const std::byte*>(cubin);
    result.assign(bytes, bytes + size);
  }
  context.call(&Api::cuLinkDestroy, link);
  if (!done) return log.with(done.error());
  return result;
}

}  // namespace

Result<std::vector<std::byte>> compile_ptx(const Context& context, std::span<const std::byte> ptx) {
  const LinkInput input{JitInput::kPtx, ptx};
  return link_inputs(context, {&input, 1}, 0);
}

Result<std::vector<std::byte>> link_ptx(const Context& context, std::span<const std::byte> cubin,
                                        std::span<const std::byte> ptx, unsigned registers) {
  const LinkInput inputs[] = {{JitInput::kCubin, cubin}, {JitInput::kPtx, ptx}};
  return link_inputs(context, inputs, registers);
}

}  // namespace kvrm::backend::cuda
