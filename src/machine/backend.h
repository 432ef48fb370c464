// What a Machine asks of a device. A backend owns lanes; each is a state, a memory and, for Linux programs, a process.
//
// Nothing here says where a lane's memory is or how many threads run lanes: a CPU backend runs them on a thread pool, a
// GPU backend all in one launch.
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

// How far a run has come. Backends only ever add to `instructions`, what was retired since they last did, at least
// twenty times a second; so several backends can share one.
struct RunProgress {
  std::atomic<u64> instructions = 0;
  std::atomic<u64> lanes_alive = 0;  // lanes that run or wait to
  std::atomic<u64> jobs_done = 0;
};

// How the outside takes part in a run.
struct RunControl {
  const std::atomic<bool>& cancel;  // lanes stop within milliseconds of it being set; nobody clears it during a run
  RunProgress& progress;
  // SVC on a raw lane. The lane is at rest meanwhile: cpu(lane) and memory(lane) may be used, other lanes' not. False:
  // the lane stops with kSystemCall. Called by one thread at a time. Empty: every SVC stops its lane.
  std::function<bool(unsigned lane, u32 immediate)> system_call;
};

struct LaneResult {
  Stop stop;
  u64 instructions = 0;  // retired by this run
};

// What jobs with the same program share.
struct JobProgram {
  linux_abi::Program image;
  linux_abi::ProcessOptions options;  // all but args and the standard files
};

// A job and the program it runs; both outlive the run.
struct LaneJob {
  const Job* job;
  const JobProgram* program;
};

class Backend {
 public:
  virtual ~Backend() = default;

  // With Options::common_memory there is one memory, whichever lane is named: inside system_call it may be read and
  // written while other lanes run. No such lane is ever started as a process, nor given a job.

  // Lanes at rest: between runs, and inside RunControl::system_call for its own lane. The states begin as zeros, the
  // memories empty. A reference stays valid until start() of the lane; what it shows is current when the lane is at
  // rest, and what is written through it counts for the next run. Lanes come into being when they are first asked for.
  virtual Cpu& cpu(unsigned lane) = 0;
  // The same to keep, for as long as somebody holds it. Null where lanes are not in the host's memory.
  virtual std::shared_ptr<Cpu> shared_cpu(unsigned lane) = 0;
  virtual memory::GuestMemory& memory(unsigned lane) = 0;

  // Makes a lane a new Linux process: empties its memory, loads the program, sets the registers. Until then the lane is
  // raw. options.clock says which clock the lane sees; options.cancel is set again by each run.
  virtual Result<void> start(unsigned lane, const linux_abi::Program& program, linux_abi::ProcessOptions options) = 0;

  // Runs lanes first .. first + results.size() - 1, each until it stops or has retired exactly `budget`
  // instructions, and blocks until all have. A lane whose process has ended gives the same stop again.
  // If the device fails, the lanes' stops say so (kDevice).
  virtual void run(unsigned first, std::span<LaneResult> results, u64 budget, RunControl& control) = 0;

  // Runs all jobs; as many at a time as there are lanes, and a lane that ends takes the next job. These
  // lanes are not the ones above: no state of cpu(), memory() or start() takes part or changes. A job that
  // was cancelled before it began gives no result; one that was running gives kCancelled. The error is one
  // of the whole batch (a lost device, no memory for a single lane); results that were given stay valid.
  virtual Result<void> run_jobs(std::span<const LaneJob> jobs, const JobLimits& limits, const JobCallback& done,
                                RunControl& control) = 0;

  // How a lane's words got their classes; none where lanes share what is decoded.
  virtual std::optional<DispatchStatistics> dispatched(unsigned lane) const = 0;

  // Sums since the backend was made. seconds and engine settings are the machine's.
  virtual Statistics statistics() const = 0;
};

// Lanes that share one memory run at the same time or not at all.
Error too_many_common_lanes(unsigned lanes, u64 most);

// The backend the options ask for: the one place that knows which devices there are.
Result<std::unique_ptr<Backend>> make_backend(const Options& options);

}  // namespace kvrm
