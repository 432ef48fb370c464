// The interface between a Machine and a device. A backend owns lanes; each has registers, a memory and, for a Linux
// program, a process.
//
// The interface does not say where a lane's memory is or how many threads run lanes: the CPU backend uses a thread
// pool, the GPU backend one launch for all of them.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "kvrm/jobs.h"
#include "kvrm/result.h"
#include "kvrm/types.h"
#include "linux/process.h"
#include "memory/guest_memory.h"

namespace kvrm {

// The progress of a run. Backends add to `instructions` what has retired since their last update, at least twenty times
// a second, so several backends can share one counter.
struct RunProgress {
  std::atomic<u64> instructions = 0;
  std::atomic<u64> lanes_alive = 0;  // lanes that run or wait to run
  std::atomic<u64> jobs_done = 0;
};

// Control of a run from outside.
struct RunControl {
  const std::atomic<bool>& cancel;  // lanes stop within milliseconds; it stays set until the run ends
  RunProgress& progress;
  // SVC on a raw lane. The lane is stopped: cpu(lane) and memory(lane) may be used, those of other lanes not. False:
  // the lane stops with kSystemCall. Called by one thread at a time. Empty: every SVC stops its lane.
  std::function<bool(unsigned lane, u32 immediate)> system_call;
};

// A loaded program, shared by its jobs.
struct JobProgram {
  linux_abi::Program image;
  linux_abi::ProcessOptions options;  // all but args and the standard files
};

// A job and its loaded program; both outlive the run.
struct LaneJob {
  const Job* job;
  const JobProgram* program;
};

class Backend {
 public:
  virtual ~Backend() = default;

  // With Options::shared_memory all lanes have the same memory: inside system_call it may be read and written while
  // other lanes run. Such a lane never becomes a process, nor runs a job.

  // Access to stopped lanes: between runs, and inside RunControl::system_call for its own lane. Registers start as
  // zeros, memories empty. A reference stays valid until start() of the lane; it is current while the lane is stopped,
  // and the next run sees writes through it. A lane is created on first access.
  virtual Cpu& cpu(unsigned lane) = 0;
  // The same with shared ownership. Null where lanes are not in the host's memory.
  virtual std::shared_ptr<Cpu> shared_cpu(unsigned lane) = 0;
  virtual memory::GuestMemory& memory(unsigned lane) = 0;

  // Turns a raw lane into a new Linux process: empties its memory, loads the program, sets the registers. Each run sets
  // options.cancel anew.
  virtual Result<void> start(unsigned lane, const linux_abi::Program& program, linux_abi::ProcessOptions options) = 0;

  // Runs lanes first .. first + stops.size() - 1, each until it stops or has retired exactly `budget` instructions, and
  // blocks until all have. A lane whose process has ended gives the same stop again, with 0 instructions. If the device
  // fails, all stops have the reason kDevice.
  virtual void run(unsigned first, std::span<Stop> stops, u64 budget, RunControl& control) = 0;

  // Runs all jobs, as many at a time as there are lanes; a lane that ends a job starts the next. These are not the
  // lanes above: cpu(), memory() and start() neither affect them nor change. A job that was cancelled before it began
  // gives no result; a running job gives kCancelled. The error concerns the whole batch (a lost device, no memory for a
  // single lane); results already delivered stay valid.
  virtual Result<void> run_jobs(std::span<const LaneJob> jobs, const JobLimits& limits, const JobCallback& done,
                                RunControl& control) = 0;

  // How a lane's words got their classes; none where lanes share decoded code.
  virtual std::optional<DispatchStatistics> dispatched(unsigned lane) const = 0;

  // Sums since the backend was created; the machine adds the seconds.
  virtual Statistics statistics() const = 0;
};

// Lanes that share one memory must all run at the same time.
Error too_many_shared_lanes(unsigned lanes, u64 most);

// The backend that the options select. Only this function knows which devices exist (machine.cpp).
Result<std::unique_ptr<Backend>> make_backend(const Options& options);

}  // namespace kvrm
