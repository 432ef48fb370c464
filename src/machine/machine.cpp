#include "kvrm/machine.h"

#include <array>
#include <cstdio>
#include <new>
#include <stdexcept>
#include <utility>

#include "machine/parts.h"
#include "memory/image.h"

namespace kvrm {
namespace {

using memory::kPageSize;

constexpr std::uint64_t page_down(std::uint64_t address) { return address & ~(kPageSize - 1); }

Error bad_range(const char* what, std::uint64_t address, std::uint64_t size) {
  std::array<char, 128> text{};
  std::snprintf(text.data(), text.size(), "%s: no %llu bytes at 0x%llx", what, static_cast<unsigned long long>(size),
                static_cast<unsigned long long>(address));
  return Error{text.data()};
}

// The whole pages that a range touches; no value if it leaves the address space or is empty.
struct PageRange {
  std::uint64_t start, size;
};
std::optional<PageRange> pages_of(std::uint64_t address, std::uint64_t size) {
  if (size == 0 || address >= memory::kAddressLimit || size > memory::kAddressLimit - address) return std::nullopt;
  const std::uint64_t start = page_down(address);
  return PageRange{start, page_down(address + size + kPageSize - 1) - start};
}

}  // namespace

Machine::Machine(PartsPointer parts) : parts_(std::move(parts)) {}
Machine::Machine(Machine&&) noexcept = default;
Machine& Machine::operator=(Machine&&) noexcept = default;
Machine::~Machine() = default;

// In a fork the threads that a destructor would wait for do not exist: the copy of what they left is kept.
void Machine::Release::operator()(Parts* parts) const {
  if (parts->origin.is_here()) delete parts;
}

Result<void> Machine::check_process() const { return parts_->origin.check(); }

Backend& Machine::Parts::here() const {
  if (const auto checked = origin.check(); !checked) throw std::runtime_error(checked.error().message);
  return *backend;
}

Result<Machine> Machine::create(const Options& options) {
  if (options.lanes == 0) return Error{"a machine has at least one lane"};
  if (options.lanes > kMostLanes) {
    return Error{"a machine has at most " + std::to_string(kMostLanes) + " lanes, not " +
                 std::to_string(options.lanes) + "; run_jobs() sends any number of jobs through few lanes"};
  }
  if (options.memory_limit < kPageSize) return Error{"the memory limit must be at least one page (4096 bytes)"};
  auto backend = make_backend(options);
  if (!backend) return backend.error();
  PartsPointer parts(new Parts);
  parts->lanes = options.lanes;
  parts->memory_limit = options.memory_limit;
  parts->common_memory = options.common_memory;
  parts->backend = std::move(*backend);
  return Machine(std::move(parts));
}

Result<void> Machine::Parts::may_map() const {
  if (auto checked = origin.check(); !checked) return checked;
  if (!common_memory || !has_run.load(std::memory_order_relaxed)) return {};
  return Error{"the map of a memory that lanes share stays as it was when they first ran"};
}

Result<void> Machine::load(std::span<const std::byte> bytes, std::uint64_t address, unsigned lane) {
  if (auto checked = check_process(); !checked) return checked;
  if (bytes.empty()) return {};
  const auto range = pages_of(address, bytes.size());
  if (!range) return bad_range("load", address, bytes.size());
  memory::GuestMemory& space = parts_->memory(lane);
  for (std::uint64_t page = range->start; page < range->start + range->size; page += kPageSize) {
    if (!space.is_free(page, kPageSize)) continue;
    if (auto may = parts_->may_map(); !may) return may;
    space.map(page, kPageSize, memory::kRead | memory::kWrite | memory::kExecute);
  }
  return write(address, bytes, lane);
}

Result<void> Machine::load_code(std::span<const std::byte> bytes, std::uint64_t address) {
  if (auto may = parts_->may_map(); !may) return may;
  if (bytes.empty()) return {};
  const auto range = pages_of(address, bytes.size());
  if (!range || range->start != address) return bad_range("load code", address, bytes.size());
  const auto image =
      std::make_shared<const memory::Image>(std::span(reinterpret_cast<const u8*>(bytes.data()), bytes.size()));
  const unsigned spaces = parts_->common_memory ? 1 : lanes();
  for (unsigned lane = 0; lane < spaces; ++lane) {
    if (!parts_->memory(lane).map_image(address, range->size, memory::kRead | memory::kExecute, image, 0))
      return bad_range("load code", address, bytes.size());
  }
  return {};
}

Result<void> Machine::map(std::uint64_t address, std::uint64_t size, std::uint32_t protection, unsigned lane) {
  if (auto may = parts_->may_map(); !may) return may;
  const auto range = pages_of(address, size);
  if (!range || !parts_->memory(lane).map(range->start, range->size, protection)) {
    return bad_range("map", address, size);
  }
  return {};
}

Result<void> Machine::protect(std::uint64_t address, std::uint64_t size, std::uint32_t protection, unsigned lane) {
  if (auto may = parts_->may_map(); !may) return may;
  const auto range = pages_of(address, size);
  if (!range || !parts_->memory(lane).protect(range->start, range->size, protection)) {
    return bad_range("protect", address, size);
  }
  return {};
}

Result<void> Machine::unmap(std::uint64_t address, std::uint64_t size, unsigned lane) {
  if (auto may = parts_->may_map(); !may) return may;
  const auto range = pages_of(address, size);
  if (!range || !parts_->memory(lane).unmap(range->start, range->size)) return bad_range("unmap", address, size);
  return {};
}

Result<SharedMemory> Machine::map_shared(std::uint64_t address, std::uint64_t size, std::uint32_t protection,
                                         unsigned lane) try {
  if (auto may = parts_->may_map(); !may) return may.error();
  if (!parts_->backend->shared_cpu(lane)) return Error{"map_shared: lanes on this device do not use the host's memory"};
  if (protection & kProtectExecute) return Error{"map_shared: code may not be shared; map it and write it"};
  const auto range = pages_of(address, size);
  if (!range || range->start != address) return bad_range("map_shared", address, size);
  auto image = std::make_shared<memory::Image>(range->size);
  const std::span bytes(reinterpret_cast<std::byte*>(image->data()), range->size);
  if (!parts_->memory(lane).map_image(address, range->size, protection, image, 0)) {
    return bad_range("map_shared", address, size);
  }
  return SharedMemory{std::move(image), bytes};
} catch (const std::bad_alloc&) {
  return Error{"map_shared: the host has no memory left"};
}

Result<void> Machine::read(std::uint64_t address, std::span<std::byte> to, unsigned lane) const {
  if (auto checked = check_process(); !checked) return checked;
  if (!parts_->memory(lane).peek(address, to.data(), to.size())) {
    return bad_range("read", address, to.size());
  }
  return {};
}

Result<void> Machine::write(std::uint64_t address, std::span<const std::byte> from, unsigned lane) {
  if (auto checked = check_process(); !checked) return checked;
  if (!parts_->memory(lane).poke(address, from.data(), from.size())) {
    return bad_range("write", address, from.size());
  }
  return {};
}

unsigned Machine::lanes() const { return parts_->lanes; }

void Machine::on_system_call(SystemCallHook hook) { parts_->hook = std::move(hook); }

Statistics Machine::statistics() const {
  Statistics result = parts_->here().statistics();
  result.seconds = parts_->seconds;
  return result;
}

Result<DispatchStatistics> Machine::dispatch_statistics(unsigned lane) const {
  if (auto checked = check_process(); !checked) return checked.error();
  if (lane >= parts_->lanes) return Error{"there is no lane " + std::to_string(lane)};
  auto found = parts_->backend->dispatched(lane);
  if (!found) return Error{"lanes of a GPU share their decoded code: there are no dispatch statistics of one lane"};
  return *found;
}

const char* to_string(StopReason reason) {
  switch (reason) {
    case StopReason::kExit: return "exit";
    case StopReason::kHalt: return "halt";
    case StopReason::kBreakpoint: return "breakpoint";
    case StopReason::kBudget: return "budget";
    case StopReason::kFault: return "fault";
    case StopReason::kUndefined: return "undefined";
    case StopReason::kSignal: return "signal";
    case StopReason::kSystemCall: return "system call";
    case StopReason::kCancelled: return "cancelled";
    case StopReason::kTimeout: return "timeout";
    case StopReason::kDevice: return "device";
  }
  return "unknown";
}

}  // namespace kvrm
