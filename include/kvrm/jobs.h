// Many inputs for one program, or many programs. Each is a job; a lane that finishes one starts the next.
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
  std::uint64_t index = 0;        // chosen by the caller; the result carries it
  std::string program;            // the ELF file on the host; empty: the batch's
  std::vector<std::string> args;  // argv[1] and on
  std::shared_ptr<const std::string> input;  // all of stdin; null: nothing. Jobs may share it
  ProgramFilePointer file = {};              // its contents (program_file.h); null: `program` is opened
};

struct JobResult : Output {
  std::uint64_t index = 0;
  Stop stop;
  Registers registers;
  std::optional<DispatchStatistics> dispatch;  // of this job alone; CPU device only
  std::string error;  // why the job could not start; then the members above are meaningless
};

struct JobLimits {
  std::uint64_t instructions = std::numeric_limits<std::uint64_t>::max();  // per job
  std::uint64_t max_output = std::uint64_t{16} << 20;                      // bytes kept per job and stream
  // Time on the lane per job. A job that takes longer stops soon after with kTimeout.
  std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max();
};

// Receives each result when its job ends, in no particular order, from one thread at a time. It must not throw, nor run
// the machine that calls it.
using JobCallback = std::function<void(JobResult&&)>;

}  // namespace kvrm
