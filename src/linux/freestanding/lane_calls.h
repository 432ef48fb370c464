// A system call answered by the lane that makes it: everything that needs no host. Freestanding.
#pragma once

#include "base/cpu.h"
#include "linux/freestanding/lane_advice.h"
#include "linux/freestanding/lane_files.h"
#include "linux/freestanding/lane_identity.h"
#include "linux/freestanding/lane_map.h"
#include "linux/freestanding/lane_pages.h"
#include "linux/freestanding/lane_remap.h"
#include "linux/freestanding/lane_system.h"
#include "linux/freestanding/lane_time.h"

namespace kvrm::linux_abi {

struct CallOutcome {
  enum class Kind : u32 {
    kDone,         // x0 holds the result
    kExit,         // the process ends; code is the exit status
    kHost,         // nothing has changed: the host must answer
    kWait,         // the output has no room: the same call again, later; memory and process have not changed
    kOutOfMemory,  // the guest's memory limit is reached: what Trap::kOutOfMemory means
  };
  Kind kind;
  i32 code;
};

namespace lane {

template <class Call>
i64 not_supported(Call& call, u32 number, i64 result) {
  call.process.unsupported = number + 1;
  return call.process.lane_flags & kLaneNamesUnknown ? kNeedsHost : result;
}

template <class Call, class Io>
i64 answer(Call& call, u32 number, Io& io) {
  const u32 flags = call.process.lane_flags;
  switch (number) {
#define KVRM_LANE(number, name) \
  case number: return lane::name(call);
#define KVRM_LANE_SAME(number, name, handler) \
  case number: return lane::handler(call);
#define KVRM_CLOCK(number, name) \
  case number: return flags & kLaneHostClock ? kNeedsHost : lane::name(call);
#define KVRM_SIMPLE(number, name) \
  case number: return lane::name(call, io);
#define KVRM_CALL(number, name) \
  case number: return kNeedsHost;
#define KVRM_SAME(number, name, handler) \
  case number: return kNeedsHost;
#define KVRM_FIXED(number, name, result) \
  case number: return result;
#define KVRM_REFUSED(number, name, result, what) \
  case number: return not_supported(call, number, result);
#include "linux/syscalls.inc"
    default: return not_supported(call, number, -kEnosys);
  }
}

}  // namespace lane

// Whether a call reads the input that a lane holds: no other one depends on it.
inline bool reads_input(const LaneProcess& process, u64 number, u64 fd) {
  constexpr u32 kRead = 63, kReadv = 65;
  return (u32(number) == kRead || u32(number) == kReadv) && u32(fd) < 3 &&
         (process.standard[u32(fd)] & kStandardReads) != 0;
}

// With pc after the SVC. State has Cpu's x, clock_ns and exclusive_size, and clock_ns is the time now.
template <class State, class Memory, class Io>
CallOutcome lane_call(LaneProcess& process, State& cpu, Memory& memory, Io& io) {
  using Kind = CallOutcome::Kind;
  constexpr u32 kExit = 93, kExitGroup = 94;
  const u32 number = u32(cpu.x[8]);
  // Timers and signals are the host's. With its clock it alone knows whether a timer is due.
  const bool host_timer = (process.lane_flags & kLaneHostClock) != 0 && process.deadline != kNoDeadline;
  if (cpu.clock_ns >= process.deadline || host_timer || (process.lane_flags & kLaneAsksHost)) return {Kind::kHost, 0};
  if (number == kExit || number == kExitGroup) {
    cpu.exclusive_size = 0;
    return {Kind::kExit, exit_status(cpu.x[0])};
  }
  LaneCall<Memory, VirtualClock> call{
      process, memory, {cpu.clock_ns}, {cpu.x[0], cpu.x[1], cpu.x[2], cpu.x[3], cpu.x[4], cpu.x[5]}};
  const i64 result = lane::answer(call, number, io);
  if (result == kNeedsHost) return {Kind::kHost, 0};
  if (result == kMustWait) return {Kind::kWait, 0};
  cpu.exclusive_size = 0;
  if (result == kUsedUp) return {Kind::kOutOfMemory, 0};
  cpu.x[0] = u64(result);
  return {Kind::kDone, 0};
}

}  // namespace kvrm::linux_abi
