#include "run_lanes.h"

#include <unistd.h>

#include <map>

#include "commands.h"
#include "confine.h"
#include "endings.h"
#include "interrupt.h"
#include "kvrm/machine.h"
#include "progress.h"
#include "statistics.h"
#include "streams.h"

namespace kvrm::cli {
namespace {

// Takes results in any order and prints them in the lanes' order.
class LaneOutput {
 public:
  // False: what the lanes write cannot be written.
  bool take(JobResult&& result) {
    waiting_.emplace(result.index, std::move(result));
    for (auto first = waiting_.begin(); first != waiting_.end() && first->first == next_; first = waiting_.begin()) {
      print(first->second);
      waiting_.erase(first);
      ++next_;
    }
    return written_;
  }
  // After a run that was cut short there may be gaps.
  void finish() {
    for (const auto& [lane, result] : waiting_) print(result);
    waiting_.clear();
    written_ = flush_output() && written_;
  }
  bool written() const { return written_; }
  int status() const { return status_; }
  // By lane: how its words were routed.
  const std::map<std::uint64_t, DispatchStatistics>& dispatch() const { return dispatch_; }
  const Endings& endings() const { return endings_; }

 private:
  void print(const JobResult& result) {
    if (!print_text(result.output) || write_all(STDERR_FILENO, result.errors) != 0) written_ = false;
    if (result.output_cut || result.errors_cut) {
      say("kvrm: lane {} wrote more than is kept; the rest was dropped\n", result.index);
    }
    if (!result.error.empty()) say("kvrm: lane {}: {}\n", result.index, result.error);
    endings_.add(ending_of(result));
    if (result.dispatch) dispatch_.emplace(result.index, *result.dispatch);
    if (status_ == 0) status_ = status_of(result);
  }
  static int status_of(const JobResult& result) {
    if (!result.error.empty()) return kHostError;
    switch (result.stop.reason) {
      case StopReason::kExit: return result.stop.exit_status;
      case StopReason::kSignal: return 128 + result.stop.signal;
      case StopReason::kCancelled: return Interrupt::status();
      default: return kHostError;
    }
  }

  std::map<std::uint64_t, JobResult> waiting_;
  std::uint64_t next_ = 0;
  int status_ = 0;  // the first that is not 0
  bool written_ = true;
  Endings endings_;
  std::map<std::uint64_t, DispatchStatistics> dispatch_;
};

}  // namespace

int run_lanes(const MachineArguments& arguments, const Settings& settings) {
  auto machine = Machine::create(settings.options);
  if (!machine) return host_error(machine.error().message);
  auto bytes = whole_stdin("--lanes");
  if (!bytes) return host_error("run: " + bytes.error().message);
  const auto input = std::make_shared<const std::string>(std::move(*bytes));
  std::vector<Job> jobs(settings.options.lanes);
  for (std::size_t lane = 0; lane < jobs.size(); ++lane) jobs[lane] = {lane, {}, settings.program.args, input};

  confine(arguments, settings, machine->statistics().device);
  LaneOutput output;
  JobLimits limits;
  limits.instructions = settings.budget;
  const auto run = [&] {
    const Interrupt interrupt(*machine);
    const ProgressLine progress(arguments.progress, [&] { return machine->poll(); });
    const auto take = [&](JobResult&& result) {
      if (!output.take(std::move(result))) machine->cancel();
    };
    return machine->run_jobs(settings.program, jobs, take, limits);
  };
  const auto ran = run();
  output.finish();
  if (!ran) return host_error(ran.error().message);
  if (!output.written()) return kHostError;

  const auto& counts = output.endings().counts();
  const bool interrupted = counts.contains(to_string(StopReason::kCancelled)) || counts.empty();
  const bool plain = output.endings().all_alike() && counts.begin()->first.starts_with("exit");
  if (interrupted || !plain) {
    say("kvrm: {}{} lanes: {}\n", interrupted ? "interrupted; " : "", jobs.size(), output.endings().text());
  }
  if (!arguments.stats.empty()) {
    RunFacts facts{.lanes = machine->lanes(), .endings = &output.endings()};
    if (arguments.lane_stats) facts.lane_dispatch = &output.dispatch();
    print_statistics(machine->statistics(), facts, arguments.stats == "json");
  }
  return interrupted ? Interrupt::status() : output.status();
}

}  // namespace kvrm::cli
