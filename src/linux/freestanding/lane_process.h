// What a lane must know of its process to answer system calls by itself. Plain data: it travels with the registers
// when the host answers a call, so that there is one truth, wherever it is at the moment.
#pragma once

#include "base/types.h"
#include "linux/freestanding/abi.h"

namespace kvrm::linux_abi {

inline constexpr i32 kPid = 1000;
inline constexpr i32 kParentPid = 999;
inline constexpr u32 kLimits = 16;
inline constexpr u32 kLimitFiles = 7;
inline constexpr u32 kNameSize = 16;
inline constexpr u64 kNoDeadline = ~u64{0};

// The guest's randomness: a fixed sequence for each seed, so that runs repeat (splitmix64).
struct Random {
  u64 state = 0;  // at first the seed

  u64 next() {
    state += 0x9e3779b97f4a7c15;
    u64 z = state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }

  void fill(u8* to, u64 size) {
    for (u64 done = 0; done < size;) {
      u64 word = next();
      for (u64 i = 0; i < sizeof word && done < size; ++i, ++done, word >>= 8) to[done] = u8(word);
    }
  }
};

enum LaneFlag : u32 {
  kLaneHostClock = 1,     // time is the host's: only the host can tell it
  kLaneNamesUnknown = 2,  // the host wants to name every unknown call
  kLaneAsksHost = 4,      // the host wants to see every call
};

// What a lane may do with a standard file (descriptors 0, 1, 2). Nothing, once the guest has closed or replaced it:
// the host checks this after every call it serves.
enum StandardFlag : u32 {
  kStandardOpen = 1,      // still the file it was at the start
  kStandardReads = 2,     // reading gives the input the lane holds
  kStandardWrites = 4,    // writing goes to the lane's output
  kStandardPipe = 8,      // it cannot seek
  kStandardTerminal = 16,
  kStandardStat = 32,     // what fstat says does not change
};

struct LaneProcess {
  u64 brk_start = 0, brk = 0;
  Random random;
  // When the host must see the process again (timers, signals that wait), in the lane's clock.
  u64 deadline = kNoDeadline;
  GuestRlimit limits[kLimits] = {};
  u64 robust_list[2] = {};
  char thread_name[kNameSize] = {};
  u32 uid = 1000, gid = 1000;
  u32 umask = 022;
  u32 lane_flags = 0;
  u32 standard[3] = {};  // StandardFlag
  u32 unsupported = 0;   // the last call that is not supported: its number + 1
  // Standard input, if all of it is known: where the lane finds it, how much there is and how much was read.
  u64 input = 0, input_size = 0, input_position = 0;
};
static_assert(sizeof(LaneProcess) % sizeof(u64) == 0 && sizeof(LaneProcess) <= 512);

// Only the low byte of an exit status counts.
constexpr i32 exit_status(u64 argument) { return i32(argument & 0xff); }

}  // namespace kvrm::linux_abi
