// Converts programs and jobs of the public API into processes' options, and divides the host's descriptors.
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

// The program's file, read and checked, and its environment. The caller sets args and the standard files.
Result<JobProgram> load_job_program(const Program& program);
// Writes a traced program's calls to stderr, a line at a time, prefixed with the lane's number if there are several.
std::function<void(std::string_view)> trace_to_stderr(std::optional<u64> lane);
// The bytes of a text.
inline std::span<const u8> bytes_of(const std::string& text) {
  return {reinterpret_cast<const u8*>(text.data()), text.size()};
}
std::vector<std::string> arguments_of(const std::string& path, const std::vector<std::string>& args);

// The captured output of one of a guest's files, up to a limit. One thread writes at a time.
struct KeptOutput {
  std::string bytes;
  bool cut = false;
  u64 limit = 0;
  memory::AccountPointer account = {};  // of the guest; null: without a limit

  void append(std::span<const u8> more);
  std::string release();  // the bytes, which no longer count against the account
};
// Moves what both streams hold into an Output.
Output take(KeptOutput& output, KeptOutput& errors);

// The options of a job's process. Its output goes to the two receivers, which outlive the process.
linux_abi::ProcessOptions job_options(const LaneJob& job, KeptOutput& output, KeptOutput& errors);

// The result of a job that could not start.
JobResult failed_job(const Job& job, std::string error);

// The jobs of a batch with their programs; each file is read once. `failed` receives the jobs whose program cannot be
// loaded.
class JobBatch {
 public:
  static Result<JobBatch> load(const Program& program, std::span<const Job> jobs, const JobCallback& failed);

  std::span<const LaneJob> jobs() const { return jobs_; }

 private:
  std::map<std::pair<std::string, const ProgramFile*>, Result<JobProgram>> programs_;
  std::vector<LaneJob> jobs_;
};

// Host descriptors that all guests of a machine may hold together, and the share of each of so many guests that run at
// the same time. A guest that hoards descriptors starves only itself.
u64 descriptors_of(const Options& options);
u64 descriptor_share(u64 all, u64 guests);

}  // namespace kvrm
