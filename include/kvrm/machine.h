// The public face of KVRM: one Machine, with options.
//
//   auto machine = kvrm::Machine::create();
//   machine->load(code, 0x1000);                     // raw bytes, or load_program() for a Linux ELF
//   machine->set_pc(0x1000);
//   auto stop = machine->run(1'000'000);
//   std::printf("%llu\n", machine->x(0));
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kvrm/api.h"
#include "kvrm/inspect.h"
#include "kvrm/jobs.h"
#include "kvrm/modes.h"
#include "kvrm/result.h"
#include "kvrm/types.h"

namespace kvrm {

// A machine belongs to the process that made it. In a fork of that process every call that can report an error does so:
// those with a Result give it, runs stop with kDevice, and what has neither (registers, output, statistics) throws
// std::runtime_error with the same message. Only destroying it, lanes(), poll(), is_running() and cancel() still work.
class KVRM_API Machine {
 public:
  static constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

  static Result<Machine> create(const Options& options = {});
  Machine(Machine&&) noexcept;
  Machine& operator=(Machine&&) noexcept;
  ~Machine();

  static constexpr unsigned kMostLanes = 1u << 24;

  // An error if this process is a fork of the one that made the machine.
  Result<void> check_process() const;

  // A Linux program: maps it, builds its stack, sets the registers. System calls and signals are served. Every lane
  // gets it, or the one named; a lane forgets what it held before.
  Result<void> load_program(const Program& program);
  Result<void> load_program(const Program& program, unsigned lane);
  // What the lane's program wrote since this was last asked, if it has Program::keep_output.
  Output take_output(unsigned lane = 0);

  // A raw machine: bytes at an address, pages mapped readable, writable and executable where none are yet. With
  // Options::common_memory any lane stands for all, and the map cannot change once a lane has run.
  Result<void> load(std::span<const std::byte> bytes, std::uint64_t address, unsigned lane = 0);
  // Code that all lanes have in common, readable and executable only, from a page boundary on. It is kept once, and on
  // a GPU lanes that stand at the same place run it together, which they cannot do with code of their own.
  Result<void> load_code(std::span<const std::byte> bytes, std::uint64_t address);
  Result<void> map(std::uint64_t address, std::uint64_t size, std::uint32_t protection, unsigned lane = 0);
  Result<void> protect(std::uint64_t address, std::uint64_t size, std::uint32_t protection, unsigned lane = 0);
  Result<void> unmap(std::uint64_t address, std::uint64_t size, unsigned lane = 0);
  // Pages that the lane and the caller both use, without copies. Not for code, and only on the CPU device.
  Result<SharedMemory> map_shared(std::uint64_t address, std::uint64_t size, std::uint32_t protection,
                                  unsigned lane = 0);

  // Memory as a debugger sees it: page permissions do not matter, holes do.
  Result<void> read(std::uint64_t address, std::span<std::byte> to, unsigned lane = 0) const;
  Result<void> write(std::uint64_t address, std::span<const std::byte> from, unsigned lane = 0);

  unsigned lanes() const;
  std::uint64_t x(unsigned index, unsigned lane = 0) const;  // 0..30
  void set_x(unsigned index, std::uint64_t value, unsigned lane = 0);
  std::uint64_t sp(unsigned lane = 0) const;
  void set_sp(std::uint64_t value, unsigned lane = 0);
  std::uint64_t pc(unsigned lane = 0) const;
  void set_pc(std::uint64_t value, unsigned lane = 0);
  std::uint32_t nzcv(unsigned lane = 0) const;
  void set_nzcv(std::uint32_t value, unsigned lane = 0);
  Vector v(unsigned index, unsigned lane = 0) const;  // 0..31
  void set_v(unsigned index, Vector value, unsigned lane = 0);
  Registers registers(unsigned lane = 0) const;
  void set_registers(const Registers& registers, unsigned lane = 0);
  Result<RegisterView> view_registers(unsigned lane = 0);  // only on the CPU device

  // Called for SVC on a raw machine, by one thread at a time; the lane is at rest, the others may be running. Return
  // false to stop with kSystemCall.
  using SystemCallHook = std::function<bool(Machine& machine, unsigned lane, std::uint32_t immediate)>;
  void on_system_call(SystemCallHook hook);

  // Runs one lane until something stops it; after a budget stop, run() goes on where it stopped.
  Stop run(std::uint64_t budget = kNoLimit, unsigned lane = 0);
  // Runs all lanes, each until something stops it or it has retired `budget` instructions.
  std::vector<Stop> run_all(std::uint64_t budget = kNoLimit);
  // Runs all lanes in batches of so many instructions a lane, and calls back after each. Gives the last batch.
  Batch run_continuous(std::uint64_t batch, std::uint64_t max_batches = kNoLimit,
                       std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max(),
                       const BatchCallback& callback = {});
  // The same as one single batch: one call of the device for all the instructions.
  Batch run_mega(std::uint64_t total);

  // run_all() on a thread of its own: returns at once. Until wait() has returned, only poll(), is_running() and
  // cancel() may be called, and the machine must not be moved.
  void start(std::uint64_t budget = kNoLimit);
  bool is_running() const;
  Progress poll() const;
  std::vector<Stop> wait();  // empty if nothing was started
  // Ends whatever runs, or what runs next if nothing does, within milliseconds. May be called from another thread or a
  // signal handler.
  void cancel();

  // Streams jobs through the lanes: as many at a time as there are lanes (on the CPU device, as there are threads),
  // each on a fresh machine that starts `program` or the job's own. What the lanes hold otherwise is left alone. When
  // cancelled, jobs that had not begun give no result and those that ran give kCancelled. The error is one that stops
  // them all.
  Result<void> run_jobs(const Program& program, std::span<const Job> jobs, const JobCallback& done,
                        const JobLimits& limits = {});

  Statistics statistics() const;
  // Of one lane. On a GPU the lanes share their decoded code, and there is no such thing.
  Result<DispatchStatistics> dispatch_statistics(unsigned lane) const;

 private:
  struct Parts;
  struct Release {
    void operator()(Parts* parts) const;
  };
  using PartsPointer = std::unique_ptr<Parts, Release>;
  explicit Machine(PartsPointer parts);
  PartsPointer parts_;
};

}  // namespace kvrm
