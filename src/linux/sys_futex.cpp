// futex for a single thread: there is no thread to wake, and none that could wake this one.
#include <algorithm>
#include <cerrno>

#include "linux/kernel_state.h"

namespace kvrm::linux_abi {
namespace {

enum FutexOperation : u32 {
  kWait = 0,
  kWake = 1,
  kRequeue = 3,
  kCompareRequeue = 4,
  kWakeOperation = 5,
  kWaitBitset = 9,
  kWakeBitset = 10,
};
constexpr u32 kPrivate = 128, kUsesRealtime = 256;

i64 wait_on(Kernel& kernel, Call& call, u32 operation) {
  std::optional<u64> deadline;
  if (call.a[3] != 0) {
    GuestTimespec time{};
    u64 ns = 0;
    if (!copy_in(call.memory, call.a[3], time)) return -EFAULT;
    if (!to_ns(time, ns)) return -EINVAL;
    // WAIT takes a length, WAIT_BITSET a point in time.
    const u64 now = kernel.clock.monotonic_ns(call.cpu);
    if (operation == kWaitBitset) {
      const bool realtime = (call.uint_arg(1) & kUsesRealtime) != 0;
      const u64 clock = realtime ? kernel.clock.realtime_ns(call.cpu) : now;
      ns = ns > clock ? ns - clock : 0;
    }
    deadline = std::min(now + ns, kForever);
  }
  if (operation == kWaitBitset && call.uint_arg(5) == 0) return -EINVAL;
  u32 value = 0;
  if (!copy_in(call.memory, call.a[0], value)) return -EFAULT;
  if (value != call.uint_arg(2)) return -EAGAIN;
  const Wait wait = wait_for(kernel, call.cpu, {}, false, deadline);
  if (wait == Wait::kTimedOut) return -ETIMEDOUT;
  if (wait == Wait::kInterrupted && deadline) return -EINTR;  // a length of time is not made again
  return kernel.after_wait(wait, "a futex that no other thread can wake");
}

}  // namespace

i64 sys_futex(Kernel& kernel, Call& call) {
  const u32 operation = call.uint_arg(1) & ~(kPrivate | kUsesRealtime);
  u32 value = 0;
  switch (operation) {
    case kWait:
    case kWake:
    case kRequeue:
    case kCompareRequeue:
    case kWakeOperation:
    case kWaitBitset:
    case kWakeBitset: break;
    default: return -ENOSYS;  // priority inheritance
  }
  if (call.a[0] % 4 != 0) return -EINVAL;
  switch (operation) {
    case kWait:
    case kWaitBitset: return wait_on(kernel, call, operation);
    case kCompareRequeue:
      if (!copy_in(call.memory, call.a[0], value)) return -EFAULT;
      return value == call.uint_arg(5) ? 0 : -EAGAIN;
    case kWakeBitset: return call.uint_arg(5) == 0 ? -EINVAL : 0;
    case kWakeOperation: return -ENOSYS;  // changes a second word; no libc has used it since glibc 2.25
    default: return 0;
  }
}

}  // namespace kvrm::linux_abi
