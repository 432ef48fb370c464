// Sleeping and interval timers. The clocks themselves are in lane_time.h.
#include <algorithm>
#include <cerrno>

#include "linux/kernel_state.h"
#include "linux/lane_host.h"

namespace kvrm::linux_abi {
namespace {

// Sleeps until a monotonic time; remaining time goes to the pointer if a signal comes first.
i64 sleep_until(Kernel& kernel, Call& call, u64 deadline, u64 remaining) {
  const Wait wait = wait_for(kernel, call.cpu, {}, false, deadline);
  if (wait == Wait::kTimedOut) return 0;
  if (wait != Wait::kInterrupted) return kernel.after_wait(wait, "the end of a sleep");
  if (remaining != 0) {
    const u64 now = kernel.clock.monotonic_ns(call.cpu);
    if (!copy_out(call.memory, remaining, to_timespec(deadline > now ? deadline - now : 0))) return -EFAULT;
  }
  return -EINTR;
}

bool timeval_ns(const GuestTimeval& time, u64& ns) {
  if (time.microseconds < 0 || time.microseconds >= 1'000'000) return false;
  return to_ns({time.seconds, time.microseconds * 1000}, ns);
}

GuestItimerval show_timer(const Kernel& kernel, const Cpu& cpu, const Timer& timer) {
  const u64 now = kernel.clock.monotonic_ns(cpu);
  u64 left = 0;
  // An armed timer never shows zero, which would mean that it is off.
  if (timer.deadline != 0) left = timer.deadline > now ? timer.deadline - now : 1000;
  return {to_timeval(timer.interval), to_timeval(left)};
}

}  // namespace

i64 read_timeout(Kernel& kernel, Call& call, u64 pointer, std::optional<u64>& deadline) {
  deadline.reset();
  if (pointer == 0) return 0;
  GuestTimespec time{};
  u64 ns = 0;
  if (!copy_in(call.memory, pointer, time)) return -EFAULT;
  if (!to_ns(time, ns)) return -EINVAL;
  deadline = std::min(kernel.clock.monotonic_ns(call.cpu) + ns, kForever);
  return 0;
}

i64 sys_nanosleep(Kernel& kernel, Call& call) {
  std::optional<u64> deadline;
  if (call.a[0] == 0) return -EFAULT;
  if (const i64 error = read_timeout(kernel, call, call.a[0], deadline)) return error;
  return sleep_until(kernel, call, *deadline, call.a[1]);
}

i64 sys_clock_nanosleep(Kernel& kernel, Call& call) {
  constexpr u32 kAbsolute = 1;
  const i32 id = call.int_arg(0);
  u64 now = 0;
  if (!read_clock(HostClock{kernel.clock, call.cpu}, id, now)) return -EINVAL;
  if (id == kClockThread || id == kClockMonotonicRaw) return -EINVAL;
  if (id == kClockRealtimeCoarse || id == kClockMonotonicCoarse) return -EOPNOTSUPP;
  GuestTimespec time{};
  u64 ns = 0;
  if (!copy_in(call.memory, call.a[2], time)) return -EFAULT;
  if (!to_ns(time, ns)) return -EINVAL;
  const bool absolute = (call.uint_arg(1) & kAbsolute) != 0;
  if (absolute) ns = ns > now ? ns - now : 0;
  const u64 deadline = std::min(kernel.clock.monotonic_ns(call.cpu) + ns, kForever);
  return sleep_until(kernel, call, deadline, absolute ? 0 : call.a[3]);
}

i64 sys_getitimer(Kernel& kernel, Call& call) {
  if (call.uint_arg(0) >= kTimers) return -EINVAL;
  const auto shown = show_timer(kernel, call.cpu, kernel.timers[call.uint_arg(0)]);
  return copy_out(call.memory, call.a[1], shown) ? 0 : -EFAULT;
}

i64 sys_setitimer(Kernel& kernel, Call& call) {
  GuestItimerval value{};  // a null pointer stops the timer
  if (call.a[1] != 0 && !copy_in(call.memory, call.a[1], value)) return -EFAULT;
  u64 first = 0, interval = 0;
  if (!timeval_ns(value.value, first) || !timeval_ns(value.interval, interval)) return -EINVAL;
  if (call.uint_arg(0) >= kTimers) return -EINVAL;
  Timer& timer = kernel.timers[call.uint_arg(0)];
  const auto before = show_timer(kernel, call.cpu, timer);
  const u64 now = kernel.clock.monotonic_ns(call.cpu);
  timer = first == 0 ? Timer{} : Timer{std::min(now + first, kForever), interval};
  if (call.a[2] != 0 && !copy_out(call.memory, call.a[2], before)) return -EFAULT;
  return 0;
}

}  // namespace kvrm::linux_abi
