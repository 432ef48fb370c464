// kvrm fleet: one program over many inputs, or many programs.
#include "kvrm/fleet.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <memory>
#include <set>

#include "command_line.h"
#include "commands.h"
#include "confine.h"
#include "endings.h"
#include "formatted.h"
#include "inputs.h"
#include "interrupt.h"
#include "kvrm/program_file.h"
#include "machine_options.h"
#include "options.h"
#include "outside_root.h"
#include "progress.h"
#include "ranks.h"
#include "records.h"
#include "results_header.h"
#include "statistics.h"
#include "streams.h"

namespace kvrm::cli {
namespace {

struct FleetArguments {
  MachineArguments machine;
  InputArguments inputs;
  std::string devices = "0";
  std::string out;
  std::string stdout_dir;
  std::string max_output = "16M";
  std::string timeout;
  bool resume = false;
};

// Everything a fleet needs, on each rank.
struct Plan {
  Settings settings;
  JobLimits limits;
  std::vector<unsigned> devices;
  std::vector<Input> inputs;
  ProgramFiles programs;
  std::string stdout_dir;  // in full
};

Result<std::vector<unsigned>> parse_devices(const std::string& text) {
  std::vector<unsigned> devices;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const auto number = parse_count(text.substr(at, comma - at));
    if (!number || *number > 1023) return Error{"--devices takes numbers such as 0 or 0,1, not '" + text + "'"};
    devices.push_back(static_cast<unsigned>(*number));
    at = comma + 1;
  }
  return devices;
}

Result<JobLimits> limits_of(const FleetArguments& arguments, std::uint64_t instructions) {
  constexpr std::uint64_t kMostOutput = std::uint64_t{1} << 30;
  JobLimits limits;
  limits.instructions = instructions;
  const auto max_output = parse_size(arguments.max_output);
  if (!max_output || *max_output > kMostOutput) return Error{"--max-output takes a size up to 1G"};
  limits.max_output = *max_output;
  if (arguments.timeout.empty()) return limits;
  constexpr double kMostSeconds = 1e9;
  const auto seconds = parse_seconds(arguments.timeout);
  if (!seconds || *seconds <= 0 || *seconds > kMostSeconds) {
    return Error{"--timeout takes seconds such as 10 or 0.5, not '" + arguments.timeout + "'"};
  }
  limits.timeout = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(*seconds));
  return limits;
}

// The folder for the inputs' stdout, in full. The results and this folder must not lie where a guest can change them.
Result<std::string> find_outputs(const FleetArguments& arguments, const std::string& root) {
  if (arguments.out != "-") {
    if (auto out = file_outside_root("--out", arguments.out, root); !out) return out.error();
  }
  if (arguments.stdout_dir.empty()) return std::string();
  return folder_outside_root("--stdout-dir", arguments.stdout_dir, root);
}

// The programs are what their names mean now: a guest may change that.
Result<void> open_programs(Plan& plan) {
  Program& program = plan.settings.program;
  if (!program.path.empty()) {
    auto file = ProgramFile::open(program.path);
    if (!file) return file.error();
    program.file = std::move(*file);
  }
  for (const Input& input : plan.inputs) {
    if (!input.program.empty()) plan.programs.remember(input.program);
  }
  return {};
}

Result<Plan> plan_of(const FleetArguments& arguments, const std::vector<std::string>& command) {
  auto settings = settings_of(arguments.machine, command);
  if (!settings) return settings.error();
  if (arguments.out.empty()) return Error{"where do the results go? (--out RESULTS.jsonl)"};
  const bool own_programs = !arguments.inputs.programs.empty();
  if (own_programs && !command.empty()) return Error{"--programs names the programs; no PROGRAM besides"};
  const std::string& root = settings->program.root;
  auto stdout_dir = find_outputs(arguments, root);
  if (!stdout_dir) return stdout_dir.error();
  auto inputs = list_inputs(arguments.inputs, settings->program.args, root);
  if (!inputs) return inputs.error();
  if (!own_programs && command.empty()) return Error{"which program? (kvrm fleet [OPTIONS] PROGRAM [ARGS...])"};
  auto devices = parse_devices(arguments.devices);
  if (!devices) return devices.error();
  auto limits = limits_of(arguments, settings->budget);
  if (!limits) return limits.error();
  Plan plan{std::move(*settings), *limits, std::move(*devices), std::move(*inputs), {}, std::move(*stdout_dir)};
  if (auto opened = open_programs(plan); !opened) return opened.error();
  return plan;
}

// The inputs of this rank that have no record yet.
std::vector<std::uint64_t> left_to_do(std::size_t inputs, const std::vector<std::uint64_t>& done, const Ranks& ranks) {
  std::vector<bool> is_done(inputs);
  for (const std::uint64_t index : done) is_done[index] = true;
  std::vector<std::uint64_t> left;
  std::uint64_t position = 0;
  for (std::uint64_t index = 0; index < inputs; ++index) {
    if (!is_done[index] && position++ % ranks.size() == ranks.rank()) left.push_back(index);
  }
  return left;
}

// Of which each holds a descriptor; the guests need some too.
std::size_t most_programs() {
  constexpr std::size_t kFewest = 64;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kFewest;
  return std::max<std::size_t>(kFewest, limit.rlim_cur / 4);
}

// Makes jobs of the inputs and runs them, so many at a time that their bytes and programs fit in memory.
Result<void> run_inputs(Fleet& fleet, Plan& plan, const std::vector<std::uint64_t>& left, bool output_in_file,
                        const Ranks::Put& put) {
  constexpr std::size_t kMostJobs = std::size_t{1} << 20;
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
  ProgramFiles& programs = plan.programs;
  const std::size_t most = most_programs();
  const auto give = [&](const JobResult& result) {
    put(make_record(result, plan.inputs[result.index], output_in_file));
  };
  for (std::size_t at = 0; at < left.size() && !fleet.cancelled();) {
    std::vector<Job> jobs;
    programs.close_all();
    const auto is_full = [&](std::uint64_t bytes) {
      return jobs.size() >= kMostJobs || bytes + programs.bytes() >= kMostBytes || programs.count() >= most;
    };
    for (std::uint64_t bytes = 0; at < left.size() && !is_full(bytes); ++at) {
      auto job = make_job(plan.inputs[left[at]], left[at], programs);
      if (job) {
        bytes += job->input ? job->input->size() : 0;
        jobs.push_back(std::move(*job));
      } else {
        JobResult failed;
        failed.index = left[at];
        failed.error = job.error().message;
        give(failed);
      }
    }
    // What was interrupted has no record: --resume runs it again.
    const auto done = [&](JobResult&& result) {
      if (result.stop.reason != StopReason::kCancelled) give(result);
    };
    if (auto ran = fleet.run_jobs(plan.settings.program, jobs, done, plan.limits); !ran) return ran;
  }
  return {};
}

int run_fleet(Fleet& fleet, const FleetArguments& arguments, Plan& plan, const std::vector<std::uint64_t>& left,
              ResultsFile* results, std::uint64_t done_before, Ranks& ranks) {
  Endings endings;
  Result<void> worked, written;
  std::atomic<std::uint64_t> records = 0;
  const auto write = [&](Record&& record) {
    if (!written) return;
    written = results->write(record, [&] { return fleet.cancelled(); });
    if (!written) return fleet.cancel();
    endings.add(record.ending);
    ++records;
  };
  {
    const Interrupt interrupt(fleet);
    const auto poll = [&] {
      Progress progress = fleet.poll();
      progress.jobs_done = records;
      return progress;
    };
    const bool show = ranks.is_first() && (arguments.machine.progress || stderr_is_terminal());
    const ProgressLine line(show, poll, plan.inputs.size(), done_before);
    ranks.collect(
        [&](const Ranks::Put& put) { worked = run_inputs(fleet, plan, left, !arguments.stdout_dir.empty(), put); },
        write);
  }
  if (!worked) return host_error("fleet: " + worked.error().message);
  if (!written && !results->gave_up()) {
    return results->reader_is_gone() ? 128 + SIGPIPE : host_error("fleet: " + written.error().message);
  }
  const bool interrupted = fleet.cancelled();
  if (ranks.is_first()) {
    say("kvrm: {}{} of {} inputs{}{}\n", interrupted ? "interrupted; " : "", done_before + records, plan.inputs.size(),
        records != 0 ? ": " : "", endings.text());
    if (!arguments.machine.stats.empty()) {
      print_statistics(fleet.statistics(),
                       {.lanes = plan.settings.options.lanes,
                        .fleet = {{plan.inputs.size(), done_before, fleet.machines(), ranks.size()}},
                        .endings = &endings},
                       arguments.machine.stats == "json");
    }
  }
  return interrupted ? Interrupt::status() : 0;
}

Result<ResultsFile> open_results(const FleetArguments& arguments, const Plan& plan) {
  const auto header = ResultsHeader::make(plan.settings, plan.limits, plan.inputs);
  return ResultsFile::open(arguments.out, plan.stdout_dir, plan.inputs, header, arguments.resume);
}

// What is opened while guests run.
ReachableFiles files_of(const FleetArguments& arguments, const std::vector<Input>& inputs) {
  ReachableFiles files;
  if (!arguments.stdout_dir.empty()) files.stores.push_back(arguments.stdout_dir);
  if (!arguments.inputs.stdin_dir.empty()) {
    files.readable.push_back(arguments.inputs.stdin_dir);
    return files;
  }
  std::set<std::string> names;
  for (const Input& input : inputs) names.insert({input.program, input.stdin_file});
  names.erase("");
  files.readable.assign(names.begin(), names.end());
  return files;
}

int fleet(const FleetArguments& arguments, const Result<std::vector<std::string>>& command) {
  auto joined = join_ranks();
  if (!joined) return host_error("fleet: " + joined.error().message);
  Ranks& ranks = **joined;
  // All ranks come to the same point, whatever goes wrong on one of them.
  auto plan = !command                                           ? Result<Plan>(command.error())
              : ranks.size() > 1 && comes_once(arguments.inputs) ? Error{"under mpirun the inputs must be in a file"}
                                                                 : plan_of(arguments, command.value());
  auto results = plan && ranks.is_first() ? open_results(arguments, *plan) : Result<ResultsFile>(Error{});
  const bool ready = plan && (results || !ranks.is_first());
  const auto where = ranks.is_first() ? std::string() : formatted("rank {}: ", ranks.rank());
  if (!ready) host_error("fleet: " + where + (plan ? results.error() : plan.error()).message);
  if (!ranks.agree(ready)) return kHostError;

  std::vector<std::uint64_t> done;
  if (results) done = results->done();
  ranks.share(done);
  const auto left = left_to_do(plan->inputs.size(), done, ranks);
  if (arguments.machine.lanes.empty()) {
    plan->settings.options.lanes = static_cast<unsigned>(std::clamp<std::size_t>(left.size(), 1, 131072));
    plan->settings.options.spread_jobs = true;
  }
  auto machines = Fleet::create(plan->settings.options, plan->devices);
  if (!machines) host_error("fleet: " + where + machines.error().message);
  if (!ranks.agree(machines.ok())) return kHostError;
  const Surroundings around = ranks.uses_mpi() ? Surroundings::kMpi : Surroundings::kAlone;
  confine(arguments.machine, plan->settings, machines->statistics().device, files_of(arguments, plan->inputs), around);
  return run_fleet(*machines, arguments, *plan, left, results ? &*results : nullptr, done.size(), ranks);
}

}  // namespace

void add_fleet(CommandSpec program, const std::vector<std::string>& separated, Command& chosen) {
  auto arguments = std::make_shared<FleetArguments>();
  const CommandSpec command =
      program.add_command("fleet", "Run a program over many inputs: kvrm fleet [OPTIONS] PROGRAM [ARGS...]");
  command.takes_guest();
  command.option("--stdin-dir", arguments->inputs.stdin_dir, "Inputs: the files of a folder, each one stdin");
  command.option("--stdin-lines", arguments->inputs.stdin_lines,
                 "Inputs: the lines of a file, each one stdin; - for kvrm's own");
  command.option("--args-file", arguments->inputs.args_file,
                 "Inputs: the lines of a file, each more arguments for PROGRAM");
  command.option("--programs", arguments->inputs.programs,
                 "Inputs: the lines of a file, each a program with arguments and perhaps <STDIN-FILE");
  command.option("--out", arguments->out, "The results, one JSON object per line; - for stdout");
  command.option("--stdout-dir", arguments->stdout_dir,
                 "Each input's stdout as a file of this folder instead of in its record");
  command.flag("--resume", arguments->resume, "Go on with the results of a run that was cut short");
  command.option("--timeout", arguments->timeout,
                 "Stop each program after so many seconds (10, 0.5); its record says \"timeout\"");
  command.option("--max-output", arguments->max_output, "Bytes of stdout and of stderr kept per input").show_default();
  add_machine_options(command, arguments->machine);
  command.option("--lanes", arguments->machine.lanes, "How many inputs run at a time (default: as many as help)");
  command.option("--devices", arguments->devices, "The GPUs to share the inputs among, such as 0,1").show_default();
  command.flag("--progress", arguments->machine.progress, "A progress bar even where stderr is no terminal");
  command.footer(
      "Each input becomes one record: its index and name, how the program ended, its instructions and its output.\n"
      "The status is 0 when every input has a record, however the programs ended; 130 after Ctrl-C; 143 after\n"
      "SIGTERM; 125 if something is wrong on this side. Killed at any moment, --resume goes on without repeating a\n"
      "finished input; it refuses results of another program, other arguments or other inputs. The first line of a\n"
      "results file says what it belongs to; it has no index.\n"
      "Lines of --args-file and --programs are split at blanks; '...', \"...\" and \\ quote. Under mpirun the ranks\n"
      "share the inputs and rank 0 writes the results.\n"
      "Example: kvrm fleet --stdin-dir corpus --out results.jsonl ./parser --strict");
  command.on_parsed([arguments, command, &separated, &chosen] {
    chosen = [arguments, command, &separated] { return fleet(*arguments, command.guest_command(separated)); };
  });
}

}  // namespace kvrm::cli
