// The public face of KVRM: one Machine, with options.
//
//   auto machine = kvrm::Machine::create();
//   machine->load(code, 0x1000);                     // raw bytes, or load_program() for a Linux ELF
//   machine->set_pc(0x1000);
//   auto stop = machine->run(1'000'000);
//   std::printf("%llu\n", machine->x(0));
//
// Errors. What can fail for reasons outside the calling program (a file, a device, the guest's memory) returns a
// Result. Indexes are preconditions, and they are checked: a lane that is not below lanes(), or a register that does
// not exist, throws std::out_of_range, in every call and before anything changes. Python raises IndexError.
//
// A machine belongs to the process that created it. In a fork of that process every call that can report an error does
// so: calls with a Result return it, runs stop with kDevice, and calls with neither (registers, output, statistics)
// throw std::runtime_error with the same message. Only the destructor, lanes(), lane(), poll(), is_running() and
// cancel() still work.
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

class Machine;

// A handle to one lane of a machine: a pointer and a number, valid while the machine exists and is not moved.
class KVRM_API Lane {
 public:
  static constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

  unsigned index() const { return index_; }
  Machine& machine() { return *machine_; }

  // A Linux program: maps it, builds its stack, sets the registers. The lane loses its previous contents.
  Result<void> load_program(const Program& program);
  // What the program wrote since the last call, if it has Program::keep_output.
  Output take_output();

  // A raw lane: bytes at an address; pages that are not mapped become readable, writable and executable. With
  // Options::shared_memory a change in one lane is a change in all of them, and the map is fixed once a lane has run.
  Result<void> load(std::span<const std::byte> bytes, std::uint64_t address);
  Result<void> map(std::uint64_t address, std::uint64_t size, std::uint32_t protection);
  Result<void> protect(std::uint64_t address, std::uint64_t size, std::uint32_t protection);
  Result<void> unmap(std::uint64_t address, std::uint64_t size);
  // Pages that the lane and the caller both use, without copies. Not for code, and only on the CPU device.
  Result<SharedMemory> map_shared(std::uint64_t address, std::uint64_t size, std::uint32_t protection);

  // Memory as a debugger sees it: page permissions do not matter, but the pages must be mapped.
  Result<void> read(std::uint64_t address, std::span<std::byte> to) const;
  Result<void> write(std::uint64_t address, std::span<const std::byte> from);

  std::uint64_t x(unsigned index) const;  // 0..30
  void set_x(unsigned index, std::uint64_t value);
  std::uint64_t sp() const;
  void set_sp(std::uint64_t value);
  std::uint64_t pc() const;
  void set_pc(std::uint64_t value);
  std::uint32_t nzcv() const;
  void set_nzcv(std::uint32_t value);
  Vector v(unsigned index) const;  // 0..31
  void set_v(unsigned index, Vector value);
  Registers registers() const;
  void set_registers(const Registers& registers);
  Result<RegisterView> view_registers();  // only on the CPU device

  // Runs until something stops the lane. After a budget stop the next run continues.
  Stop run(std::uint64_t budget = kNoLimit);

  // An error on a GPU, where lanes share their decoded code.
  Result<DispatchStatistics> dispatch_statistics() const;

 private:
  friend class Machine;
  Lane(Machine& machine, unsigned index) : machine_(&machine), index_(index) {}

  Machine* machine_;
  unsigned index_;
};

class KVRM_API Machine {
 public:
  static constexpr std::uint64_t kNoLimit = Lane::kNoLimit;
  static constexpr unsigned kMostLanes = 1u << 24;

  static Result<Machine> create(const Options& options = {});
  Machine(Machine&&) noexcept;
  Machine& operator=(Machine&&) noexcept;
  ~Machine();

  // An error if this process is a fork of the one that created the machine.
  Result<void> check_process() const;

  unsigned lanes() const;
  Lane lane(unsigned index);
  const Lane lane(unsigned index) const { return const_cast<Machine*>(this)->lane(index); }

  // Every lane gets the Linux program.
  Result<void> load_program(const Program& program);
  // Code for all lanes: readable and executable only, from a page boundary on, stored once. On a GPU lanes that are at
  // the same pc run it together, which they cannot do with private code.
  Result<void> load_code(std::span<const std::byte> bytes, std::uint64_t address);

  // Called for SVC on a raw lane, by one thread at a time. This lane is stopped; the others may be running. Return
  // false to stop with kSystemCall.
  using SystemCallHook = std::function<bool(Lane lane, std::uint32_t immediate)>;
  void on_system_call(SystemCallHook hook);

  // Runs all lanes, each until something stops it or it has retired `budget` instructions.
  std::vector<Stop> run_all(std::uint64_t budget = kNoLimit);
  // Runs all lanes in batches of this many instructions per lane, and calls back after each. Returns the last batch.
  Batch run_continuous(std::uint64_t batch, std::uint64_t max_batches = kNoLimit,
                       std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max(),
                       const BatchCallback& callback = {});
  // The same as one single batch: one launch of the device for all the instructions.
  Batch run_mega(std::uint64_t total);

  // run_all() on a thread of its own: returns at once. Until wait() has returned, only poll(), is_running() and
  // cancel() may be called, and the machine must not be moved.
  void start(std::uint64_t budget = kNoLimit);
  bool is_running() const;
  Progress poll() const;
  std::vector<Stop> wait();  // empty if nothing was started
  // Ends the current run, or else the next one, within milliseconds. May be called from another thread or a signal
  // handler.
  void cancel();

  // Streams jobs through the lanes: as many at a time as there are lanes (on the CPU device, threads), each on a fresh
  // lane that starts `program` or the job's own. The contents of the machine's lanes do not change. After a cancel,
  // jobs that had not begun give no result and running jobs give kCancelled. The error is one that stops all jobs.
  Result<void> run_jobs(const Program& program, std::span<const Job> jobs, const JobCallback& done,
                        const JobLimits& limits = {});

  Statistics statistics() const;

  // Short forms for lane 0, the only lane of a machine with default options.
  Output take_output() { return lane(0).take_output(); }
  Result<void> load(std::span<const std::byte> bytes, std::uint64_t address) { return lane(0).load(bytes, address); }
  Result<void> map(std::uint64_t address, std::uint64_t size, std::uint32_t protection) {
    return lane(0).map(address, size, protection);
  }
  Result<void> protect(std::uint64_t address, std::uint64_t size, std::uint32_t protection) {
    return lane(0).protect(address, size, protection);
  }
  Result<void> unmap(std::uint64_t address, std::uint64_t size) { return lane(0).unmap(address, size); }
  Result<SharedMemory> map_shared(std::uint64_t address, std::uint64_t size, std::uint32_t protection) {
    return lane(0).map_shared(address, size, protection);
  }
  Result<void> read(std::uint64_t address, std::span<std::byte> to) const { return lane(0).read(address, to); }
  Result<void> write(std::uint64_t address, std::span<const std::byte> from) { return lane(0).write(address, from); }
  std::uint64_t x(unsigned index) const { return lane(0).x(index); }
  void set_x(unsigned index, std::uint64_t value) { lane(0).set_x(index, value); }
  std::uint64_t sp() const { return lane(0).sp(); }
  void set_sp(std::uint64_t value) { lane(0).set_sp(value); }
  std::uint64_t pc() const { return lane(0).pc(); }
  void set_pc(std::uint64_t value) { lane(0).set_pc(value); }
  std::uint32_t nzcv() const { return lane(0).nzcv(); }
  void set_nzcv(std::uint32_t value) { lane(0).set_nzcv(value); }
  Vector v(unsigned index) const { return lane(0).v(index); }
  void set_v(unsigned index, Vector value) { lane(0).set_v(index, value); }
  Registers registers() const { return lane(0).registers(); }
  void set_registers(const Registers& registers) { lane(0).set_registers(registers); }
  Result<RegisterView> view_registers() { return lane(0).view_registers(); }
  Stop run(std::uint64_t budget = kNoLimit) { return lane(0).run(budget); }

 private:
  friend class Lane;
  struct Parts;
  struct Release {
    void operator()(Parts* parts) const;
  };
  using PartsPointer = std::unique_ptr<Parts, Release>;
  explicit Machine(PartsPointer parts);
  PartsPointer parts_;
};

}  // namespace kvrm
