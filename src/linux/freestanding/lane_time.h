// Clocks.
#pragma once

#include "linux/freestanding/lane_context.h"

namespace kvrm::linux_abi::lane {

template <class Call>
i64 clock_gettime(Call& call) {
  u64 now = 0;
  if (!read_clock(call.clock, call.int_arg(0), now)) return -kEinval;
  return call.copy_out(call.a[1], to_timespec(now)) ? 0 : -kEfault;
}

template <class Call>
i64 clock_getres(Call& call) {
  const i32 id = call.int_arg(0);
  u64 now = 0;
  if (!read_clock(call.clock, id, now)) return -kEinval;
  const bool coarse = id == kClockRealtimeCoarse || id == kClockMonotonicCoarse;
  const GuestTimespec resolution{0, coarse ? 4'000'000 : 1};
  return call.a[1] == 0 || call.copy_out(call.a[1], resolution) ? 0 : -kEfault;
}

template <class Call>
i64 gettimeofday(Call& call) {
  const GuestTimeval now = to_timeval(call.clock.realtime_ns());
  const u64 utc = 0;
  if (call.a[0] != 0 && !call.copy_out(call.a[0], now)) return -kEfault;
  if (call.a[1] != 0 && !call.copy_out(call.a[1], utc)) return -kEfault;
  return 0;
}

template <class Call>
i64 times(Call& call) {
  constexpr u64 kTick = kSecond / 100;
  const u64 used[4] = {call.clock.cpu_ns() / kTick, 0, 0, 0};
  if (call.a[0] != 0 && !call.copy_out(call.a[0], used)) return -kEfault;
  return i64(call.clock.monotonic_ns() / kTick);
}

template <class Call>
i64 getrusage(Call& call) {
  constexpr i32 kSelf = 0, kChildren = -1, kThread = 1;
  const i32 who = call.int_arg(0);
  if (who != kSelf && who != kChildren && who != kThread) return -kEinval;
  GuestRusage usage{};
  if (who != kChildren) usage.user = to_timeval(call.clock.cpu_ns());
  return call.copy_out(call.a[1], usage) ? 0 : -kEfault;
}

template <class Call>
i64 sysinfo(Call& call) {
  constexpr u64 kMemory = u64{1} << 32;  // a fixed answer: what the host has is not the guest's
  GuestSysinfo info{};
  info.uptime = i64(call.clock.monotonic_ns() / kSecond);
  info.totalram = kMemory;
  info.freeram = kMemory / 2;
  info.procs = 1;
  info.mem_unit = 1;
  return call.copy_out(call.a[0], info) ? 0 : -kEfault;
}

}  // namespace kvrm::linux_abi::lane
