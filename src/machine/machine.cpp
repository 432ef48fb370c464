#include "kvrm/machine.h"

#include <array>
#include <cstdio>

#include "linux/elf.h"
#include "machine/parts.h"

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

Machine::Machine(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Machine::Machine(Machine&&) noexcept = default;
Machine& Machine::operator=(Machine&&) noexcept = default;
Machine::~Machine() = default;

Result<Machine> Machine::create(const Options& options) {
  if (options.device == Device::kCuda) return Error{"this build has no CUDA device yet; use the CPU device"};
  if (options.engine == Engine::kJit) return Error{"this build has no translator yet; use the interpreter"};
  if (options.lanes != 1) return Error{"this build runs one lane; more lanes come with the GPU device"};
  if (options.memory_limit < kPageSize) return Error{"the memory limit must be at least one page (4096 bytes)"};
  auto parts = std::make_unique<Parts>();
  parts->options = options;
  for (unsigned i = 0; i < options.lanes; ++i) {
    parts->lanes.push_back(std::make_unique<MachineLane>(options.memory_limit));
  }
  return Machine(std::move(parts));
}

Result<void> Machine::load_program(const Program& program) {
  auto bytes = read_file(program.path);
  if (!bytes) return bytes.error();
  auto elf = linux_abi::parse_elf(*bytes);
  if (!elf) return Error{program.path + ": " + elf.error().message};

  for (auto& lane : parts_->lanes) {
    linux_abi::ProcessOptions options;
    options.args.push_back(program.path);
    options.args.insert(options.args.end(), program.args.begin(), program.args.end());
    options.env = program.env;
    options.exe_path = program.path;
    if (!program.root.empty()) options.root = program.root;
    options.clock = program.clock == Clock::kHost ? linux_abi::ClockSource::kHost : linux_abi::ClockSource::kVirtual;
    options.seed = program.seed;
    options.verbose = program.verbose;
    options.stdin_fd = program.standard_input;
    options.stdout_fd = program.standard_output;
    options.stderr_fd = program.standard_error;
    options.cancel = &parts_->cancel;
    auto process = linux_abi::Process::create(std::move(options));
    if (!process) return process.error();
    lane->process.emplace(std::move(*process));
    lane->device.engine().use_host_clock(program.clock == Clock::kHost);
    auto started = lane->process->start(*elf, lane->device.cpu(), lane->device.space());
    if (!started) return Error{program.path + ": " + started.error().message};
  }
  return {};
}

Result<void> Machine::load(std::span<const std::byte> bytes, std::uint64_t address, unsigned lane) {
  if (bytes.empty()) return {};
  const auto range = pages_of(address, bytes.size());
  if (!range) return bad_range("load", address, bytes.size());
  auto& space = parts_->lane(lane).device.space();
  for (std::uint64_t page = range->start; page < range->start + range->size; page += kPageSize) {
    if (space.is_free(page, kPageSize)) {
      space.map(page, kPageSize, memory::kRead | memory::kWrite | memory::kExecute);
    }
  }
  return write(address, bytes, lane);
}

Result<void> Machine::map(std::uint64_t address, std::uint64_t size, std::uint32_t protection, unsigned lane) {
  const auto range = pages_of(address, size);
  if (!range || !parts_->lane(lane).device.space().map(range->start, range->size, protection)) {
    return bad_range("map", address, size);
  }
  return {};
}

Result<void> Machine::protect(std::uint64_t address, std::uint64_t size, std::uint32_t protection, unsigned lane) {
  const auto range = pages_of(address, size);
  if (!range || !parts_->lane(lane).device.space().protect(range->start, range->size, protection)) {
    return bad_range("protect", address, size);
  }
  return {};
}

void Machine::unmap(std::uint64_t address, std::uint64_t size, unsigned lane) {
  if (const auto range = pages_of(address, size)) {
    parts_->lane(lane).device.space().unmap(range->start, range->size);
  }
}

Result<void> Machine::read(std::uint64_t address, std::span<std::byte> to, unsigned lane) const {
  if (!parts_->lane(lane).device.space().peek(address, to.data(), to.size())) {
    return bad_range("read", address, to.size());
  }
  return {};
}

Result<void> Machine::write(std::uint64_t address, std::span<const std::byte> from, unsigned lane) {
  if (!parts_->lane(lane).device.space().poke(address, from.data(), from.size())) {
    return bad_range("write", address, from.size());
  }
  return {};
}

unsigned Machine::lanes() const { return static_cast<unsigned>(parts_->lanes.size()); }

void Machine::on_system_call(SystemCallHook hook) { parts_->hook = std::move(hook); }
void Machine::cancel() { parts_->cancel.store(true, std::memory_order_relaxed); }

Statistics Machine::statistics() const {
  Statistics result;
  result.seconds = parts_->seconds;
  result.launches = parts_->launches;
  result.floats = parts_->floats;
  for (const auto& lane : parts_->lanes) {
    result.instructions += lane->instructions;
    result.system_calls += lane->system_calls;
    result.decoded_words += lane->device.engine().decoded_words();
    result.code_invalidations += lane->device.engine().code_invalidations();
    result.private_bytes += lane->device.space().private_bytes();
  }
  return result;
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
  }
  return "unknown";
}

}  // namespace kvrm
