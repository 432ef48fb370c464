// Reports of the ways to run a Machine.
#pragma once

#include <cstdint>
#include <functional>

#include "kvrm/api.h"
#include "kvrm/types.h"

namespace kvrm {

// Why a batch of run_continuous() ended.
enum class Signal {
  kRunning,     // the batch's budget is used up and a lane can continue
  kHalt,        // every lane has ended (exit or HLT)
  kSystemCall,  // a raw lane waits for the host at a system call
  kBreakpoint,  // a raw lane stopped at a breakpoint
  kFault,       // every lane has ended, at least one by a fault, an undefined word or a fatal signal
  kCheckpoint,  // as kRunning, but max_batches, the timeout or the callback ends the run
  kCancelled,   // cancel() was called
};
KVRM_API const char* to_string(Signal signal);

struct Batch {
  std::uint64_t number = 0;  // from 1
  Signal signal = Signal::kRunning;
  unsigned lane = 0;               // the lane that gave the signal
  Stop stop;                       // that lane's
  std::uint64_t instructions = 0;  // of all lanes since the run began
  std::uint64_t lanes_alive = 0;   // lanes that can continue
  double seconds = 0;              // since the run began
};
// Called between batches, while every lane is stopped and may be read or changed. False ends the run.
using BatchCallback = std::function<bool(const Batch& batch)>;

// The progress of a machine; available at any time, from any thread.
struct Progress {
  bool running = false;            // a run of start() is active
  std::uint64_t instructions = 0;  // retired by all lanes since the machine was created
  std::uint64_t lanes_alive = 0;   // lanes that run or wait to run
  std::uint64_t jobs_done = 0;
};

}  // namespace kvrm
