#include "machine/jobs.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "cache/folder.h"
#include "linux/elf.h"
#include "linux/file_table.h"
#include "linux/host_io.h"
#include "machine/program_file.h"

namespace kvrm {

Result<JobProgram> load_job_program(const Program& program) {
  auto file = program.file ? Result(program.file) : ProgramFile::open(program.path);
  if (!file) return file.error();
  const ProgramFile::Parts& parts = (*file)->parts();
  auto elf = linux_abi::parse_elf(parts.image);
  if (!elf) return Error{program.path + ": " + elf.error().message};
  JobProgram result{std::move(*elf), {}};
  linux_abi::ProcessOptions& options = result.options;
  options.env = program.env;
  options.exe_path = program.path;
  options.exe = parts.exe;
  if (!program.root.empty()) {
    options.root = program.root;
    options.hidden = cache::Folder::trusted();
  }
  options.clock = program.clock == Clock::kHost ? linux_abi::ClockSource::kHost : linux_abi::ClockSource::kVirtual;
  options.seed = program.seed;
  options.verbose = program.verbose;
  if (program.strace) options.trace = trace_to_stderr(std::nullopt);
  return result;
}

std::function<void(std::string_view)> trace_to_stderr(std::optional<u64> lane) {
  const std::string prefix = lane ? "[lane " + std::to_string(*lane) + "] " : "";
  // One write per line keeps lines of different lanes apart.
  return
      [prefix](std::string_view line) { linux_abi::write_quietly(STDERR_FILENO, prefix + std::string(line) + "\n"); };
}

std::vector<std::string> arguments_of(const std::string& path, const std::vector<std::string>& args) {
  std::vector<std::string> all{path};
  all.insert(all.end(), args.begin(), args.end());
  return all;
}

void KeptOutput::append(std::span<const u8> more) {
  u64 room = limit - std::min<u64>(limit, bytes.size());
  if (account) room = std::min(room, account->room());
  if (more.size() > room) {
    cut = true;
    more = more.first(room);
  }
  if (account && !account->charge(more.size())) {
    cut = true;
    return;
  }
  bytes.append(reinterpret_cast<const char*>(more.data()), more.size());
}

std::string KeptOutput::release() {
  if (account) account->release(bytes.size());
  return std::exchange(bytes, {});
}

Output take(KeptOutput& output, KeptOutput& errors) {
  return {output.release(), errors.release(), std::exchange(output.cut, false), std::exchange(errors.cut, false)};
}

linux_abi::ProcessOptions job_options(const LaneJob& job, KeptOutput& output, KeptOutput& errors) {
  linux_abi::ProcessOptions options = job.program->options;
  options.args = arguments_of(options.exe_path, job.job->args);
  options.account = output.account;
  if (options.trace) options.trace = trace_to_stderr(job.job->index);
  options.input = job.job->input ? job.job->input : std::make_shared<const std::string>();
  options.output = [&output](std::span<const u8> bytes) { output.append(bytes); };
  options.errors = [&errors](std::span<const u8> bytes) { errors.append(bytes); };
  return options;
}

JobResult failed_job(const Job& job, std::string error) {
  JobResult result;
  result.index = job.index;
  result.error = std::move(error);
  return result;
}

Result<JobBatch> JobBatch::load(const Program& program, std::span<const Job> jobs, const JobCallback& failed) {
  JobBatch batch;
  const auto load = [&](const std::string& path, const ProgramFilePointer& file) -> const Result<JobProgram>& {
    auto found = batch.programs_.find({path, file.get()});
    if (found == batch.programs_.end()) {
      Program one = program;
      one.path = path;
      one.file = file;
      found = batch.programs_.emplace(std::pair(path, file.get()), load_job_program(one)).first;
    }
    return found->second;
  };
  if (!program.path.empty()) {
    if (const auto& own = load(program.path, program.file); !own) return own.error();
  }
  batch.jobs_.reserve(jobs.size());
  for (const Job& job : jobs) {
    const auto& loaded = job.program.empty() ? load(program.path, program.file) : load(job.program, job.file);
    if (loaded) {
      batch.jobs_.push_back({&job, &loaded.value()});
    } else {
      failed(failed_job(job, loaded.error().message));
    }
  }
  return batch;
}

u64 descriptors_of(const Options& options) {
  if (options.descriptors != 0) return options.descriptors;
  constexpr u64 kReserve = 256;  // the machine's own files, and files that calls open for a moment
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kReserve;
  return limit.rlim_cur - std::min<u64>(kReserve, limit.rlim_cur / 2);
}

u64 descriptor_share(u64 all, u64 guests) {
  constexpr u64 kFewest = 16;  // any program needs a few
  constexpr u64 kFolders = 2;  // a process holds its root and its current folder
  const u64 share = all / std::max<u64>(guests, 1);
  return std::clamp<u64>(share - std::min(share, kFolders), kFewest, linux_abi::FileTable::kMaxFiles);
}

}  // namespace kvrm
