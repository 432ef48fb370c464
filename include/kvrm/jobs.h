// Many inputs for one program, or many programs: each is a job, and a machine's lanes take one after the other.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kvrm/types.h"

namespace kvrm {

struct Job {
  std::uint64_t index = 0;        // the caller's; its result carries it
  std::string program;            // the ELF file on the host; empty: the batch's
  std::vector<std::string> args;  // argv[1] and on
  std::shared_ptr<const std::string> input;  // all of stdin; null: nothing. Jobs may share it
  ProgramFilePointer file = {};              // the file of `program`, read before; null: it is opened by name
};

struct JobResult {
  std::uint64_t index = 0;
  Stop stop;
  std::uint64_t instructions = 0;
  std::string output, errors;                   // what it wrote to stdout and stderr
  bool output_cut = false, errors_cut = false;  // it wrote more than JobLimits::max_output; the rest was dropped
  Registers registers;
  std::optional<DispatchStatistics> dispatch;  // of this job alone; on the CPU device
  std::string error;  // why the job could not be started; then nothing of the above holds
};

struct JobLimits {
  std::uint64_t instructions = std::numeric_limits<std::uint64_t>::max();  // per job
  std::uint64_t max_output = std::uint64_t{16} << 20;                      // bytes kept per job and stream
  // Time on the lane per job; one that takes longer is stopped a little later, with kTimeout.
  std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max();
};

// Gets each result as soon as it is there, in no particular order; called by one thread at a time. It must not throw,
// nor run the machine that calls it.
using JobCallback = std::function<void(JobResult&&)>;

}  // namespace kvrm
