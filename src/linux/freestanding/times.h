// Times as the guest counts them.
#pragma once

#include "base/types.h"
#include "linux/freestanding/abi.h"

namespace kvrm::linux_abi {

inline constexpr u64 kSecond = 1'000'000'000;
inline constexpr u64 kEpoch = 1'704'067'200 * kSecond;  // virtual time begins on 2024-01-01, 00:00 UTC
inline constexpr u64 kForever = u64{1} << 62;           // a deadline that is never reached in practice

constexpr GuestTimespec to_timespec(u64 ns) { return {i64(ns / kSecond), i64(ns % kSecond)}; }
constexpr GuestTimeval to_timeval(u64 ns) { return {i64(ns / kSecond), i64(ns % kSecond / 1000)}; }

// Nanoseconds, at most kForever; false: not a valid time.
constexpr bool to_ns(const GuestTimespec& time, u64& ns) {
  if (time.seconds < 0 || time.nanoseconds < 0 || time.nanoseconds >= i64(kSecond)) return false;
  ns = u64(time.seconds) >= kForever / kSecond ? kForever : u64(time.seconds) * kSecond + u64(time.nanoseconds);
  return true;
}

enum ClockId : i32 {
  kClockRealtime = 0,
  kClockMonotonic = 1,
  kClockProcess = 2,
  kClockThread = 3,
  kClockMonotonicRaw = 4,
  kClockRealtimeCoarse = 5,
  kClockMonotonicCoarse = 6,
  kClockBoottime = 7,
  kClockTai = 11,
};

// What a clock shows; false: there is no such clock.
template <class Clock>
bool read_clock(const Clock& clock, i32 id, u64& ns) {
  switch (id) {
    case kClockRealtime:
    case kClockRealtimeCoarse:
    case kClockTai: ns = clock.realtime_ns(); return true;
    case kClockMonotonic:
    case kClockMonotonicRaw:
    case kClockMonotonicCoarse:
    case kClockBoottime: ns = clock.monotonic_ns(); return true;
    case kClockProcess:
    case kClockThread: ns = clock.cpu_ns(); return true;
    default: return false;
  }
}

}  // namespace kvrm::linux_abi
