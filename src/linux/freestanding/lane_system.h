// The machine as the guest sees it: names, limits, scheduling, randomness.
#pragma once

#include "linux/freestanding/lane_context.h"

namespace kvrm::linux_abi::lane {

// A text of at most 64 characters in a field of 65 bytes, zeros after it.
template <class Call>
bool put_name(Call& call, u64 address, const char* text) {
  bool ended = false;
  for (u64 at = 0; at < 65; at += 13) {
    char part[13];
    for (u64 i = 0; i < 13; ++i) {
      ended = ended || text[at + i] == 0;
      part[i] = ended ? char{0} : text[at + i];
    }
    if (!call.memory.write(address + at, part, sizeof part)) return false;
  }
  return true;
}

template <class Call>
i64 uname(Call& call) {
  const u64 to = call.a[0];
  if (call.memory.accessible(to, sizeof(GuestUtsname), memory::kWrite) < sizeof(GuestUtsname)) return -kEfault;
  const bool all = put_name(call, to, "Linux") && put_name(call, to + 65, "kvrm") &&
                   put_name(call, to + 130, "6.1.0") && put_name(call, to + 195, "#1 KVRM") &&
                   put_name(call, to + 260, "aarch64") && put_name(call, to + 325, "(none)");
  return all ? 0 : -kEfault;
}

template <class Call>
i64 getrandom(Call& call) {
  constexpr u32 kNonblock = 1, kRandom = 2, kInsecure = 4;
  constexpr u64 kAtOnce = 64 << 10;
  const u32 flags = call.uint_arg(2);
  if ((flags & ~(kNonblock | kRandom | kInsecure)) != 0 || (flags & (kRandom | kInsecure)) == (kRandom | kInsecure))
    return -kEinval;
  const u64 total = least(call.a[1], 0x7fffffff);
  u64 done = 0;
  while (done < total) {
    const u64 to = call.a[0] + done;
    const u64 n = call.memory.accessible(to, least(total - done, kAtOnce), memory::kWrite);
    if (n == 0) return done != 0 ? i64(done) : -kEfault;
    u8 bytes[64];
    for (u64 i = 0; i < n; i += sizeof bytes) {
      const u64 size = least(sizeof bytes, n - i);
      call.process.random.fill(bytes, size);
      if (!call.memory.write(to + i, bytes, size)) return kUsedUp;
    }
    done += n;
  }
  return i64(done);
}

// The name: what is there up to a zero, at most 15 characters.
template <class Call>
i64 set_thread_name(Call& call) {
  char name[kNameSize] = {};
  for (u32 i = 0; i < kNameSize; ++i) {
    char c = 0;
    if (!call.copy_in(call.a[1] + i, c)) return -kEfault;
    if (c == 0) break;
    if (i < kNameSize - 1) name[i] = c;
  }
  for (u32 i = 0; i < kNameSize; ++i) call.process.thread_name[i] = name[i];
  return 0;
}

template <class Call>
i64 prctl(Call& call) {
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
    case kSetName: return set_thread_name(call);
    case kGetName: return call.copy_out(call.a[1], call.process.thread_name) ? 0 : -kEfault;
    case kSetDeathSignal: return call.a[1] > u64(kSignals) ? -kEinval : 0;
    case kGetDeathSignal: return call.copy_out(call.a[1], zero) ? 0 : -kEfault;
    case kGetDumpable: return 1;
    case kSetDumpable: return call.a[1] > 1 ? -kEinval : 0;
    case kGetSeccomp: return 0;
    case kCapBoundRead: return call.a[1] > 40 ? -kEinval : 0;
    case kSetTimerSlack: return 0;
    case kGetTimerSlack: return 50000;
    case kSetNoNewPrivileges:
      return call.a[1] == 1 && call.a[2] == 0 && call.a[3] == 0 && call.a[4] == 0 ? 0 : -kEinval;
    case kGetNoNewPrivileges: return 1;  // there is no exec, so none will ever be gained
    default: return -kEinval;
  }
}

template <class Call>
i64 set_limit(Call& call, u32 which, u64 pointer) {
  GuestRlimit limit{};
  if (which >= kLimits) return -kEinval;
  if (!call.copy_in(pointer, limit)) return -kEfault;
  if (limit.current > limit.maximum) return -kEinval;
  if (limit.maximum > call.process.limits[which].maximum) return -kEperm;
  call.process.limits[which] = limit;
  return 0;
}

template <class Call>
i64 getrlimit(Call& call) {
  const u32 which = call.uint_arg(0);
  if (which >= kLimits) return -kEinval;
  return call.copy_out(call.a[1], call.process.limits[which]) ? 0 : -kEfault;
}

template <class Call>
i64 setrlimit(Call& call) {
  return set_limit(call, call.uint_arg(0), call.a[1]);
}

template <class Call>
i64 prlimit64(Call& call) {
  const u32 which = call.uint_arg(1);
  if (which >= kLimits) return -kEinval;
  if (!is_self(call.int_arg(0))) return -kEsrch;
  const GuestRlimit before = call.process.limits[which];
  if (call.a[2] != 0)
    if (const i64 error = set_limit(call, which, call.a[2])) return error;
  if (call.a[3] != 0 && !call.copy_out(call.a[3], before)) return -kEfault;
  return 0;
}

// One processor, one thread, the ordinary policy.
template <class Call>
i64 sched_getaffinity(Call& call) {
  const u64 mask = 1;
  if (call.uint_arg(1) < sizeof mask || call.uint_arg(1) % 8 != 0) return -kEinval;
  if (!is_self(call.int_arg(0))) return -kEsrch;
  return call.copy_out(call.a[2], mask) ? i64(sizeof mask) : -kEfault;
}

template <class Call>
i64 sched_setaffinity(Call& call) {
  u8 mask = 0;
  if (call.uint_arg(1) == 0) return -kEinval;
  if (!call.copy_in(call.a[2], mask)) return -kEfault;
  if (!is_self(call.int_arg(0))) return -kEsrch;
  return mask & 1 ? 0 : -kEinval;
}

template <class Call>
i64 sched_setparam(Call& call) {
  i32 priority = 0;
  if (call.int_arg(0) < 0 || call.a[1] == 0) return -kEinval;
  if (!call.copy_in(call.a[1], priority)) return -kEfault;
  if (!is_self(call.int_arg(0))) return -kEsrch;
  return priority == 0 ? 0 : -kEinval;
}

template <class Call>
i64 sched_setscheduler(Call& call) {
  i32 priority = 0;
  const i32 policy = call.int_arg(1);
  if (call.int_arg(0) < 0 || policy < 0 || call.a[2] == 0) return -kEinval;
  if (!call.copy_in(call.a[2], priority)) return -kEfault;
  if (!is_self(call.int_arg(0))) return -kEsrch;
  if (policy == 1 || policy == 2) return -kEperm;
  return priority == 0 && (policy == 0 || policy == 3 || policy == 5) ? 0 : -kEinval;
}

template <class Call>
i64 sched_getscheduler(Call& call) {
  if (call.int_arg(0) < 0) return -kEinval;
  return is_self(call.int_arg(0)) ? 0 : -kEsrch;
}

template <class Call>
i64 sched_getparam(Call& call) {
  const i32 priority = 0;
  if (call.int_arg(0) < 0 || call.a[1] == 0) return -kEinval;
  if (!is_self(call.int_arg(0))) return -kEsrch;
  return call.copy_out(call.a[1], priority) ? 0 : -kEfault;
}

constexpr i64 policy_priority(u32 policy, i64 realtime) {
  if (policy == 1 || policy == 2) return realtime;
  return policy == 0 || policy == 3 || policy == 5 || policy == 6 ? 0 : -kEinval;
}
template <class Call>
i64 sched_get_priority_max(Call& call) {
  return policy_priority(call.uint_arg(0), 99);
}
template <class Call>
i64 sched_get_priority_min(Call& call) {
  return policy_priority(call.uint_arg(0), 1);
}

template <class Call>
i64 sched_rr_get_interval(Call& call) {
  if (call.int_arg(0) < 0) return -kEinval;
  if (!is_self(call.int_arg(0))) return -kEsrch;
  return call.copy_out(call.a[1], GuestTimespec{0, 4'000'000}) ? 0 : -kEfault;
}

template <class Call>
i64 getcpu(Call& call) {
  const u32 zero = 0;
  for (u32 i = 0; i < 2; ++i)
    if (call.a[i] != 0 && !call.copy_out(call.a[i], zero)) return -kEfault;
  return 0;
}

template <class Call>
i64 getpriority(Call& call) {
  if (call.uint_arg(0) > 2) return -kEinval;
  return call.uint_arg(0) == 2 || is_self(call.int_arg(1)) ? 20 : -kEsrch;  // 20 - nice, and nice is 0
}

template <class Call>
i64 setpriority(Call& call) {
  if (call.uint_arg(0) > 2) return -kEinval;
  return call.uint_arg(0) == 2 || is_self(call.int_arg(1)) ? 0 : -kEsrch;
}

}  // namespace kvrm::linux_abi::lane
