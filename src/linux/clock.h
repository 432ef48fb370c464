// The guest's clocks, its interval timers, and waiting. With the virtual clock nothing waits for real time
// unless the host's files make it: the clock jumps.
#pragma once

#include <poll.h>

#include <array>
#include <optional>
#include <span>

#include "base/cpu.h"
#include "base/types.h"
#include "linux/freestanding/times.h"
#include "linux/process.h"

namespace kvrm::linux_abi {

struct Kernel;

class Clock {
 public:
  explicit Clock(ClockSource source) : source_(source) {}
  bool is_virtual() const { return source_ == ClockSource::kVirtual; }
  u64 realtime_ns(const Cpu& cpu) const;
  u64 monotonic_ns(const Cpu& cpu) const;
  u64 cpu_ns(const Cpu& cpu) const;
  // Virtual only: jumps forward to the given monotonic time.
  void advance_to(Cpu& cpu, u64 monotonic) const;

 private:
  ClockSource source_;
};

struct Timer {
  u64 deadline = 0;  // monotonic; 0: not armed
  u64 interval = 0;
};

// Posts the signals of all timers that are due.
void fire_timers(Kernel& kernel, const Cpu& cpu);

enum class Wait {
  kReady,        // one of the files is ready
  kTimedOut,     // the deadline came first
  kInterrupted,  // a signal came that has an effect
  kNever,        // none of these can ever happen
  kCancelled,
};

// Waits until one of the files is ready or the (monotonic) deadline comes. `external`: one of the files
// can become ready by something outside the guest, so real time may have to pass even with a virtual clock.
Wait wait_for(Kernel& kernel, Cpu& cpu, std::span<pollfd> files, bool external, std::optional<u64> deadline);

}  // namespace kvrm::linux_abi
