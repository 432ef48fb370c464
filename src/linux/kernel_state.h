// The state of a process's system calls, and the functions that answer them. Each call's function is
// named after it (sys_openat), is declared from its row in syscalls.inc, and lives in the sys_*.cpp file of
// its topic. What a lane can answer by itself is in the lane_*.h files, and its state in LaneProcess.
#pragma once

#include <array>
#include <bitset>
#include <optional>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "base/types.h"
#include "linux/clock.h"
#include "linux/file_table.h"
#include "linux/freestanding/abi.h"
#include "linux/freestanding/lane_process.h"
#include "linux/freestanding/times.h"
#include "linux/guest_copy.h"
#include "linux/mapped_files.h"
#include "linux/process.h"
#include "linux/sandbox.h"
#include "linux/segments.h"
#include "linux/signal_state.h"
#include "memory/guest_memory.h"

namespace kvrm::linux_abi {

inline constexpr std::size_t kTimers = 3;
inline constexpr std::size_t kBounceSize = 64 << 10;
inline constexpr u64 kCallNumbers = 512;

struct Kernel : LaneProcess {
  explicit Kernel(ProcessOptions given);

  ProcessOptions options;
  Clock clock;
  Sandbox sandbox;
  FileTable files;
  MappedFiles mapped_files;
  Segments segments{options.account};
  SignalState signals;
  std::array<Timer, kTimers> timers;
  HostFd cwd;            // only with a root
  ExePointer exe;        // the program's own file
  std::string exe_name;  // what /proc/self/exe says
  // The standard files as they were at the start; a lane may speak for those the guest still has.
  std::array<std::shared_ptr<OpenFile>, 3> standard_files;
  std::array<u32, 3> standard_abilities{};  // StandardFlag
  std::bitset<kCallNumbers> named;                    // unknown calls already reported
  std::optional<std::array<u8, 36>> terminal_before;  // what to put back when the process ends
  int terminal_fd = -1;

  std::vector<u8> bounce;
  bool keep_x0 = false;  // rt_sigreturn: x0 is a restored register, not a result
  // Set by a call that ends the process or cannot go on.
  std::optional<Outcome> ended;
  std::string message;

  // What every transfer goes through, kBounceSize bytes. Made when it is first needed: many guests never do.
  std::vector<u8>& buffer() {
    if (bounce.empty()) bounce.resize(kBounceSize);
    return bounce;
  }
  void log(const std::string& line) const;
  void trace_signal(const GuestSiginfo& info) const;
  i64 end(Outcome outcome, std::string why = {});
  i64 end_out_of_memory();
  // The result of a call for the way its wait ended. kTimedOut and kReady are the caller's.
  i64 after_wait(Wait wait, const char* what);
};

// What a wait for a signal that cannot come is called.
inline constexpr const char* kNoSignal = "a signal, with no timer running";

// One system call in progress.
struct Call {
  Cpu& cpu;
  memory::GuestMemory& memory;
  std::array<u64, 6> a;

  i32 int_arg(std::size_t i) const { return i32(u32(a[i])); }
  u32 uint_arg(std::size_t i) const { return u32(a[i]); }
};

// Interrupted by a signal: EINTR, or made again if the handler has SA_RESTART (Linux's ERESTARTSYS).
inline constexpr i64 kRestart = -512;

#define KVRM_CALL(number, name) i64 sys_##name(Kernel& kernel, Call& call);
#define KVRM_LANE(number, name) i64 sys_##name(Kernel& kernel, Call& call);
#include "linux/syscalls.inc"
i64 sys_not_a_socket(Kernel& kernel, Call& call);

// Signals, signal_frame.cpp.
// Runs handlers and default actions for everything that waits; nullopt: go on.
// interrupted_x0: the call's first argument, when the call ended with kRestart.
std::optional<Outcome> deliver_signals(Kernel& kernel, Cpu& cpu, memory::GuestMemory& memory,
                                       std::optional<u64> interrupted_x0);
// A signal the program caused by its current instruction: cannot be blocked or ignored.
std::optional<Outcome> force_signal(Kernel& kernel, Cpu& cpu, memory::GuestMemory& memory, GuestSiginfo info);

// Time, sys_time.cpp.
// A relative timeout as ppoll and futex take it: null is none. 0, -EFAULT or -EINVAL.
i64 read_timeout(Kernel& kernel, Call& call, u64 pointer, std::optional<u64>& deadline);

}  // namespace kvrm::linux_abi
