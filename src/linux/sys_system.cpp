// The machine as the guest sees it: names, limits, scheduling, randomness.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "linux/kernel_state.h"

namespace kvrm::linux_abi {
namespace {

constexpr u64 kLimitFiles = 7;

template <std::size_t N>
void set_text(char (&field)[N], const char* text) {
  std::strncpy(field, text, N - 1);
}

bool is_self(i32 pid) { return pid == 0 || pid == kPid; }

i64 get_limit(Kernel& kernel, Call& call, u32 which, u64 pointer) {
  if (which >= kLimits) return -EINVAL;
  return copy_out(call.memory, pointer, kernel.limits[which]) ? 0 : -EFAULT;
}

i64 set_limit(Kernel& kernel, Call& call, u32 which, u64 pointer) {
  GuestRlimit limit{};
  if (which >= kLimits) return -EINVAL;
  if (!copy_in(call.memory, pointer, limit)) return -EFAULT;
  if (limit.current > limit.maximum) return -EINVAL;
  if (limit.maximum > kernel.limits[which].maximum) return -EPERM;
  kernel.limits[which] = limit;
  if (which == kLimitFiles) kernel.files.set_limit(limit.current);
  return 0;
}

}  // namespace

i64 sys_uname(Kernel&, Call& call) {
  GuestUtsname name{};
  set_text(name.sysname, "Linux");
  set_text(name.nodename, "kvrm");
  set_text(name.release, "6.1.0");
  set_text(name.version, "#1 KVRM");
  set_text(name.machine, "aarch64");
  set_text(name.domainname, "(none)");
  return copy_out(call.memory, call.a[0], name) ? 0 : -EFAULT;
}

i64 sys_sysinfo(Kernel& kernel, Call& call) {
  constexpr u64 kMemory = u64{1} << 32;  // a fixed answer: what the host has is not the guest's
  GuestSysinfo info{};
  info.uptime = i64(kernel.clock.monotonic_ns(call.cpu) / kSecond);
  info.totalram = kMemory;
  info.freeram = kMemory / 2;
  info.procs = 1;
  info.mem_unit = 1;
  return copy_out(call.memory, call.a[0], info) ? 0 : -EFAULT;
}

i64 sys_getrandom(Kernel& kernel, Call& call) {
  constexpr u32 kNonblock = 1, kRandom = 2, kInsecure = 4;
  const u32 flags = call.uint_arg(2);
  if ((flags & ~(kNonblock | kRandom | kInsecure)) != 0 || (flags & (kRandom | kInsecure)) == (kRandom | kInsecure))
    return -EINVAL;
  const u64 total = std::min<u64>(call.a[1], 0x7fffffff);
  u64 done = 0;
  while (done < total) {
    const std::size_t wanted = std::min<std::size_t>(total - done, kernel.buffer().size());
    const std::size_t n = call.memory.accessible(call.a[0] + done, wanted, memory::kWrite);
    if (n == 0) return done != 0 ? i64(done) : -EFAULT;
    kernel.random.fill(kernel.buffer().data(), n);
    if (!call.memory.write(call.a[0] + done, kernel.buffer().data(), n)) return kernel.end_out_of_memory();
    done += n;
  }
  return i64(done);
}

i64 sys_prctl(Kernel& kernel, Call& call) {
  enum : u32 {
    kSetDeathSignal = 1,
    kGetDeathSignal = 2,
    kGetDumpable = 3,
    kSetDumpable = 4,
    kSetName = 15,
    kGetName = 16,
    kGetSeccomp = 21,
    kCapBoundRead = 23,
    kGetTimerSlack = 30,
    kSetTimerSlack = 29,
    kSetNoNewPrivileges = 38,
    kGetNoNewPrivileges = 39,
  };
  const i32 zero = 0;
  switch (call.uint_arg(0)) {
    case kSetName: {
      std::array<char, 16> name{};
      std::string text;
      if (copy_text(call.memory, call.a[1], name.size(), text) == -EFAULT) return -EFAULT;
      std::memcpy(name.data(), text.data(), std::min<std::size_t>(text.size(), name.size() - 1));
      kernel.thread_name = name;
      return 0;
    }
    case kGetName: return copy_out(call.memory, call.a[1], kernel.thread_name) ? 0 : -EFAULT;
    case kSetDeathSignal: return call.a[1] > u64(kSignals) ? -EINVAL : 0;
    case kGetDeathSignal: return copy_out(call.memory, call.a[1], zero) ? 0 : -EFAULT;
    case kGetDumpable: return 1;
    case kSetDumpable: return call.a[1] > 1 ? -EINVAL : 0;
    case kGetSeccomp: return 0;
    case kCapBoundRead: return call.a[1] > 40 ? -EINVAL : 0;
    case kSetTimerSlack: return 0;
    case kGetTimerSlack: return 50000;
    case kSetNoNewPrivileges: return call.a[1] == 1 && call.a[2] == 0 && call.a[3] == 0 && call.a[4] == 0 ? 0 : -EINVAL;
    case kGetNoNewPrivileges: return 1;  // there is no exec, so none will ever be gained
    default: return -EINVAL;
  }
}

i64 sys_getrlimit(Kernel& kernel, Call& call) { return get_limit(kernel, call, call.uint_arg(0), call.a[1]); }
i64 sys_setrlimit(Kernel& kernel, Call& call) { return set_limit(kernel, call, call.uint_arg(0), call.a[1]); }

i64 sys_prlimit64(Kernel& kernel, Call& call) {
  if (call.uint_arg(1) >= kLimits) return -EINVAL;
  if (!is_self(call.int_arg(0))) return -ESRCH;
  const GuestRlimit before = kernel.limits[call.uint_arg(1)];
  if (call.a[2] != 0)
    if (const i64 error = set_limit(kernel, call, call.uint_arg(1), call.a[2])) return error;
  if (call.a[3] != 0 && !copy_out(call.memory, call.a[3], before)) return -EFAULT;
  return 0;
}

// One processor, one thread, the ordinary policy.
i64 sys_sched_getaffinity(Kernel&, Call& call) {
  const u64 mask = 1;
  if (call.uint_arg(1) < sizeof mask || call.uint_arg(1) % 8 != 0) return -EINVAL;
  if (!is_self(call.int_arg(0))) return -ESRCH;
  return copy_out(call.memory, call.a[2], mask) ? i64(sizeof mask) : -EFAULT;
}

i64 sys_sched_setaffinity(Kernel&, Call& call) {
  u8 mask = 0;
  if (call.uint_arg(1) == 0) return -EINVAL;
  if (!call.memory.read(call.a[2], &mask, 1)) return -EFAULT;
  if (!is_self(call.int_arg(0))) return -ESRCH;
  return mask & 1 ? 0 : -EINVAL;
}

i64 sys_sched_setparam(Kernel&, Call& call) {
  i32 priority = 0;
  if (call.int_arg(0) < 0 || call.a[1] == 0) return -EINVAL;
  if (!copy_in(call.memory, call.a[1], priority)) return -EFAULT;
  if (!is_self(call.int_arg(0))) return -ESRCH;
  return priority == 0 ? 0 : -EINVAL;
}

i64 sys_sched_setscheduler(Kernel&, Call& call) {
  i32 priority = 0;
  const i32 policy = call.int_arg(1);
  if (call.int_arg(0) < 0 || policy < 0 || call.a[2] == 0) return -EINVAL;
  if (!copy_in(call.memory, call.a[2], priority)) return -EFAULT;
  if (!is_self(call.int_arg(0))) return -ESRCH;
  if (policy == 1 || policy == 2) return -EPERM;
  return priority == 0 && (policy == 0 || policy == 3 || policy == 5) ? 0 : -EINVAL;
}

i64 sys_sched_getscheduler(Kernel&, Call& call) {
  if (call.int_arg(0) < 0) return -EINVAL;
  return is_self(call.int_arg(0)) ? 0 : -ESRCH;
}

i64 sys_sched_getparam(Kernel&, Call& call) {
  const i32 priority = 0;
  if (call.int_arg(0) < 0 || call.a[1] == 0) return -EINVAL;
  if (!is_self(call.int_arg(0))) return -ESRCH;
  return copy_out(call.memory, call.a[1], priority) ? 0 : -EFAULT;
}

i64 sys_sched_get_priority_max(Kernel&, Call& call) {
  const u32 policy = call.uint_arg(0);
  if (policy == 1 || policy == 2) return 99;
  return policy == 0 || policy == 3 || policy == 5 || policy == 6 ? 0 : -EINVAL;
}

i64 sys_sched_get_priority_min(Kernel&, Call& call) {
  const u32 policy = call.uint_arg(0);
  if (policy == 1 || policy == 2) return 1;
  return policy == 0 || policy == 3 || policy == 5 || policy == 6 ? 0 : -EINVAL;
}

i64 sys_sched_rr_get_interval(Kernel&, Call& call) {
  if (call.int_arg(0) < 0) return -EINVAL;
  if (!is_self(call.int_arg(0))) return -ESRCH;
  return copy_out(call.memory, call.a[1], GuestTimespec{0, 4'000'000}) ? 0 : -EFAULT;
}

i64 sys_getcpu(Kernel&, Call& call) {
  const u32 zero = 0;
  for (const u64 pointer : {call.a[0], call.a[1]})
    if (pointer != 0 && !copy_out(call.memory, pointer, zero)) return -EFAULT;
  return 0;
}

i64 sys_getpriority(Kernel&, Call& call) {
  if (call.uint_arg(0) > 2) return -EINVAL;
  return call.uint_arg(0) == 2 || is_self(call.int_arg(1)) ? 20 : -ESRCH;  // 20 - nice, and nice is 0
}

i64 sys_setpriority(Kernel&, Call& call) {
  if (call.uint_arg(0) > 2) return -EINVAL;
  return call.uint_arg(0) == 2 || is_self(call.int_arg(1)) ? 0 : -ESRCH;
}

}  // namespace kvrm::linux_abi
