#include "kvrm/machine.h"

#include <pthread.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

#include "machine/cpu_backend.h"
#include "machine/cuda_backend.h"
#include "machine/parts.h"
#include "machine/prefetch_options.h"

namespace kvrm {

// --- the process that created it ---------------------------------------------------------------------------------

std::atomic<std::uint64_t> Origin::forks = 0;

// Reading a counter that forks increment costs a load; getpid() is a system call.
Origin::Origin() : process_(::getpid()) {
  [[maybe_unused]] static const int once = ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1); });
}

Result<void> Origin::check() const {
  if (is_here()) return {};
  return Error{"the machine belongs to process " + std::to_string(process_) + ", and process " +
               std::to_string(::getpid()) + " is a fork of it: make another machine here"};
}

Result<void> Machine::check_process() const { return parts_->origin.check(); }

Backend& Machine::Parts::here() const {
  if (const auto checked = origin.check(); !checked) throw std::runtime_error(checked.error().message);
  return *backend;
}

// A fork does not have the threads that the destructor joins, so it leaks its copy of the parts.
void Machine::Release::operator()(Parts* parts) const {
  if (parts->origin.is_here()) delete parts;
}

// --- creating it -------------------------------------------------------------------------------------------------

Result<std::unique_ptr<Backend>> make_backend(const Options& options) {
  auto dispatch = DispatchOptions::create(options);
  if (!dispatch) return dispatch.error();
  if (auto choices = site_choices(options.neural); !choices) return choices.error();
  if (options.device != Device::kCpu) {
    auto cuda = CudaBackend::create(options, *dispatch);
    // engine=jit with device=auto selects a device that has a translator.
    const bool fits = options.device == Device::kCuda || options.engine != Engine::kJit;
    if (cuda && (fits || (*cuda)->translates())) return std::unique_ptr<Backend>(std::move(*cuda));
    if (!cuda && options.device == Device::kCuda) return cuda.error();
  }
  auto cpu = CpuBackend::create(options, std::move(*dispatch));
  if (!cpu) return cpu.error();
  return std::unique_ptr<Backend>(std::move(*cpu));
}

Error too_many_shared_lanes(unsigned lanes, u64 most) {
  return Error{std::to_string(lanes) + " lanes cannot share one memory here: at most " + std::to_string(most) +
               " run at the same time"};
}

Result<Machine> Machine::create(const Options& options) {
  if (options.lanes == 0) return Error{"a machine has at least one lane"};
  if (options.lanes > kMostLanes) {
    return Error{"a machine has at most " + std::to_string(kMostLanes) + " lanes, not " +
                 std::to_string(options.lanes) + "; run_jobs() sends any number of jobs through few lanes"};
  }
  if (options.memory_limit < memory::kPageSize) return Error{"the memory limit must be at least one page (4096 bytes)"};
  auto backend = make_backend(options);
  if (!backend) return backend.error();
  PartsPointer parts(new Parts);
  parts->lanes = options.lanes;
  parts->memory_limit = options.memory_limit;
  parts->shared_memory = options.shared_memory;
  parts->backend = std::move(*backend);
  return Machine(std::move(parts));
}

Machine::Machine(PartsPointer parts) : parts_(std::move(parts)) {}
Machine::Machine(Machine&&) noexcept = default;
Machine& Machine::operator=(Machine&&) noexcept = default;
Machine::~Machine() = default;

Machine::Parts::~Parts() {
  cancel.store(true, std::memory_order_relaxed);
  if (runner.joinable()) runner.join();
  backend.reset();  // its processes write to members that are destroyed next
}

Result<void> Machine::Parts::may_map() const {
  if (auto checked = origin.check(); !checked) return checked;
  if (!shared_memory || !has_run.load(std::memory_order_relaxed)) return {};
  return Error{"the map of a memory that lanes share stays as it was when they first ran"};
}

unsigned Machine::lanes() const { return parts_->lanes; }

void Machine::on_system_call(SystemCallHook hook) { parts_->hook = std::move(hook); }

Statistics Machine::statistics() const {
  Statistics result = parts_->here().statistics();
  result.seconds = parts_->seconds;
  return result;
}

}  // namespace kvrm
