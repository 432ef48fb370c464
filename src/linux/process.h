// A Linux process as the machine sees it: it starts a program, answers its system calls and makes
// signals of its faults. It knows nothing of engines: all it touches is a Cpu and a GuestMemory.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu.h"
#include "base/types.h"
#include "kvrm/result.h"
#include "linux/elf.h"
#include "linux/exe_file.h"
#include "linux/freestanding/lane_process.h"
#include "linux/memory_pipe.h"
#include "memory/account.h"
#include "memory/guest_memory.h"

namespace kvrm::linux_abi {

enum class ClockSource { kVirtual, kHost };

struct ProcessOptions {
  std::vector<std::string> args;  // args[0] is the program's name
  std::vector<std::string> env;
  // The program's host path. The guest may open it (read only), and /proc/self/exe names it. May be empty.
  std::string exe_path;
  // The file of that name, opened before. Null: it is opened by name, once, when the process is made.
  ExePointer exe;
  // The folder the guest sees as "/", read-write. Without one it sees no file but the program and a few
  // devices (/dev/null, /dev/zero, /dev/full, /dev/urandom, /dev/random, /proc/self/maps).
  std::optional<std::string> root;
  std::vector<std::string> hidden;  // host folders that the guest cannot use even where they lie below the root
  // What the host keeps for the guest is put there: texts, pipes, open files, detached segments. Null: without a limit.
  memory::AccountPointer account;
  ClockSource clock = ClockSource::kVirtual;
  u64 seed = 0;  // of AT_RANDOM, getrandom and /dev/urandom
  u64 memory_limit = u64{4} << 30;  // the guest's; no segment is larger
  bool verbose = false;  // name every unknown system call once
  int stdin_fd = 0, stdout_fd = 1, stderr_fd = 2;  // borrowed, never closed; -1: closed for the guest
  // Instead of descriptors: all that stdin will ever give, and receivers of what is written to stdout
  // and stderr. The guest sees pipes; their other end takes everything at once and never goes away.
  std::shared_ptr<const std::string> input;
  OutputSink output, errors;
  u64 most_files = ~u64{0};  // host descriptors the guest may hold besides the standard three; more are EMFILE
  // Polled while a call waits for the host (a terminal, a pipe). The process then answers kCancelled.
  // set_cancel() may change it later.
  const std::atomic<bool>* cancel = nullptr;
  // Receives one line at a time, without newline. Empty: host stderr.
  std::function<void(std::string_view)> log;
  // Receives a line for each call and signal, as strace prints them (linux/strace.h). Empty: nothing is traced.
  // A lane on another device leaves every call to the process then.
  std::function<void(std::string_view)> trace;
};

struct Outcome {
  enum class Kind : u8 {
    kContinue,  // go on at cpu.pc
    kExit,  // code: the exit status, 0..255
    kSignal,  // code: the signal that killed the process
    kDeadlock,  // it waits for something that can never happen; message() says for what
    kCancelled,  // options.cancel was set during a wait; cpu.pc is at the SVC again, the call had no effect
  };
  Kind kind = Kind::kContinue;
  int code = 0;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

struct Kernel;  // the state behind the calls, src/linux/kernel_state.h

class Process {
 public:
  // Opens the root folder and the program's file; an error is a folder that cannot be opened.
  static Result<Process> create(ProcessOptions options);
  Process(Process&&) noexcept;
  Process& operator=(Process&&) noexcept;
  ~Process();  // closes every host file the guest opened; the three standard ones stay open

  // Maps program, stack and trampoline, and sets the whole of cpu as Linux does for a new program.
  Result<void> start(const Program& program, Cpu& cpu, memory::GuestMemory& memory);

  // Call with pc after the SVC. Afterwards cpu holds the result, or a signal handler's first state.
  // The clock: cpu.clock_ns is the guest's time. A guest that sleeps has no instructions to spend, so the
  // call moves cpu.clock_ns forward; the machine must count on from the value it finds afterwards.
  Outcome system_call(Cpu& cpu, memory::GuestMemory& memory);

  // Call with pc at the instruction that did not complete and cpu.fault_address as base/cpu.h says.
  Outcome fault(Cpu& cpu, memory::GuestMemory& memory, Trap trap);

  // Timers (setitimer) fire at system calls. A machine that wants them on time in loops without calls
  // runs until cpu.clock_ns reaches the deadline and calls tick(). With the host's clock the deadline is only
  // a good moment to check again, given in the same unit; it needs the cpu, and without one there is none.
  std::optional<u64> next_deadline_ns(const Cpu* cpu = nullptr) const;
  Outcome tick(Cpu& cpu, memory::GuestMemory& memory);

  // A lane that answers calls by itself (linux/freestanding/lane_calls.h) keeps this and sends it with every
  // request to the host. `input` is where this process has its input; a lane on another device puts in where its copy
  // is, and the host leaves that alone.
  LaneProcess lane_process(const Cpu& cpu) const;
  void set_lane_process(const LaneProcess& process);
  // What such a lane may say for fstat of a standard file, and for /proc/self/exe.
  std::optional<GuestStat> standard_stat(u32 fd) const;
  const std::string& program_name() const;

  void set_cancel(const std::atomic<bool>* cancel);
  memory::Account& account() const;  // what the host keeps for the guest

  // Why the process ended in a way that needs words (deadlock, out of memory); otherwise empty.
  const std::string& message() const;

 private:
  explicit Process(std::unique_ptr<Kernel> kernel);
  std::unique_ptr<Kernel> kernel_;
};

}  // namespace kvrm::linux_abi
