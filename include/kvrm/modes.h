// What the ways to run a Machine report.
#pragma once

#include <cstdint>
#include <functional>

#include "kvrm/api.h"
#include "kvrm/types.h"

namespace kvrm {

// Why a batch of run_continuous() ended.
enum class Signal {
  kRunning,     // the batch's instructions are used up and there is more to do
  kHalt,        // every lane has come to its end (exit or HLT)
  kSystemCall,  // a raw lane waits at a system call for its host
  kBreakpoint,  // a raw lane stands at a breakpoint
  kFault,       // every lane has come to its end, one of them by a fault, an undefined word or a fatal signal
  kCheckpoint,  // as kRunning, but the last: max_batches, the timeout or the callback ends the run here
  kCancelled,   // cancel() was called
};
KVRM_API const char* to_string(Signal signal);

struct Batch {
  std::uint64_t number = 0;  // from 1
  Signal signal = Signal::kRunning;
  unsigned lane = 0;               // the lane that gave the signal
  Stop stop;                       // that lane's
  std::uint64_t instructions = 0;  // of all lanes since the run began
  std::uint64_t lanes_alive = 0;   // lanes that can go on
  double seconds = 0;              // since the run began
};
// Called between batches, when every lane is at rest and may be looked at or changed. False ends the run.
using BatchCallback = std::function<bool(const Batch& batch)>;

// How far a machine has come; may be asked for at any time, from any thread.
struct Progress {
  bool running = false;            // start() has something under way
  std::uint64_t instructions = 0;  // retired so far by all lanes since the machine was made
  std::uint64_t lanes_alive = 0;   // lanes that run now or wait to
  std::uint64_t jobs_done = 0;
};

}  // namespace kvrm
