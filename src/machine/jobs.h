// From programs and jobs, as the public API has them, to what a process needs.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kvrm/jobs.h"
#include "kvrm/result.h"
#include "kvrm/types.h"
#include "machine/backend.h"

namespace kvrm {

// The program's file, read and checked, and its surroundings. args and the standard files are still to be set.
Result<JobProgram> load_job_program(const Program& program);
// Where a traced program's calls go: to stderr, a line at a time, after the lane's number if there are several.
std::function<void(std::string_view)> trace_to_stderr(std::optional<u64> lane);
std::vector<std::string> arguments_of(const std::string& path, const std::vector<std::string>& args);

// What a guest wrote to one of its files, up to a limit. Written by one thread at a time.
struct KeptOutput {
  std::string bytes;
  bool cut = false;
  u64 limit = 0;
  memory::AccountPointer account = {};  // of the guest; null: without a limit

  void take(std::span<const u8> more);
  std::string give();  // what was kept, which is nobody's burden any more
};

// The options of a job's process, with its output going to the two receivers, which outlive the process.
linux_abi::ProcessOptions job_options(const LaneJob& job, KeptOutput& output, KeptOutput& errors);

// The jobs of a batch with their programs, each file read once. Jobs whose program cannot be loaded are given to
// `failed` with the error set.
class JobBatch {
 public:
  static Result<JobBatch> load(const Program& program, std::span<const Job> jobs, const JobCallback& failed);

  std::span<const LaneJob> jobs() const { return jobs_; }

 private:
  std::map<std::string, Result<JobProgram>> programs_;
  std::vector<LaneJob> jobs_;
};

}  // namespace kvrm
