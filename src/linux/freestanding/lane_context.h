// A system call as the functions of lane_*.h see it. They are templates over
//
//   Memory  the lane's memory: the members of memory::GuestMemory under the same names, no virtual calls (HostMemory is
//           one on the host); a find_free that finds nothing gives memory::kNoRoom; protection_at(address)
//   Clock   realtime_ns(), monotonic_ns(), cpu_ns()
//
// and freestanding, so that one text answers on the host and inside a GPU kernel.
#pragma once

#include "base/cpu.h"
#include "linux/freestanding/abi.h"
#include "linux/freestanding/lane_process.h"
#include "linux/freestanding/times.h"
#include "memory/freestanding/page.h"

namespace kvrm::linux_abi {

template <class MemoryType, class ClockType>
struct LaneCall {
  LaneProcess& process;
  MemoryType& memory;
  ClockType clock;
  u64 a[6];

  i32 int_arg(u32 i) const { return i32(u32(a[i])); }
  u32 uint_arg(u32 i) const { return u32(a[i]); }
  template <class T>
  bool copy_in(u64 address, T& to) {
    return memory.read(address, &to, sizeof(T));
  }
  template <class T>
  bool copy_out(u64 address, const T& from) {
    return memory.write(address, &from, sizeof(T));
  }
};

// Results that are none of Linux's: no call returns these numbers.
inline constexpr i64 kNeedsHost = i64(u64{1} << 63);  // nothing has happened yet
inline constexpr i64 kMustWait = kNeedsHost + 1;  // no room for output; the same call again later
inline constexpr i64 kUsedUp = kNeedsHost + 2;  // the guest's memory limit is reached: the process ends

// By default one retired instruction is one nanosecond.
struct VirtualClock {
  u64 clock_ns;
  u64 realtime_ns() const { return kEpoch + clock_ns; }
  u64 monotonic_ns() const { return clock_ns; }
  u64 cpu_ns() const { return clock_ns; }
};

constexpr u64 least(u64 a, u64 b) { return a < b ? a : b; }
constexpr bool is_self(i32 pid) { return pid == 0 || pid == kPid; }

// PROT_READ, PROT_WRITE and PROT_EXEC have the values of memory::Protection. Without FEAT_EPAN the page
// tables know neither write-only nor execute-only user pages: both can be read.
inline u32 guest_protection(u32 prot) {
  const u32 bits = prot & (memory::kRead | memory::kWrite | memory::kExecute);
  return bits == 0 ? u32{memory::kNoAccess} : bits | memory::kRead;
}

// The calls that name existing memory accept addresses with a tag in the top byte.
inline u64 untagged(u64 address) { return reported_address(address); }

}  // namespace kvrm::linux_abi
