// Linux programs on a machine's lanes, and jobs.
#include <utility>

#include "kvrm/machine.h"
#include "machine/parts.h"

namespace kvrm {
namespace {

linux_abi::ProcessOptions lane_options(const JobProgram& loaded, const Program& program, std::optional<u64> lane,
                                       LaneOutput* kept, u64 memory_limit) {
  linux_abi::ProcessOptions options = loaded.options;
  options.account = std::make_shared<memory::Account>(memory_limit);
  if (options.trace) options.trace = trace_to_stderr(lane);
  options.args = arguments_of(program.path, program.args);
  options.stdin_fd = program.standard_input;
  options.stdout_fd = program.standard_output;
  options.stderr_fd = program.standard_error;
  if (program.input) options.input = std::make_shared<const std::string>(*program.input);
  if (kept) {
    kept->output.account = kept->errors.account = options.account;
    options.output = [kept](std::span<const u8> bytes) { kept->output.take(bytes); };
    options.errors = [kept](std::span<const u8> bytes) { kept->errors.take(bytes); };
  }
  return options;
}

}  // namespace

Result<void> Machine::Parts::may_load_program() const {
  if (auto checked = origin.check(); !checked) return checked;
  if (!common_memory) return {};
  return Error{"lanes that share one memory are raw machines: they run no Linux programs"};
}

Result<void> Machine::load_program(const Program& program) {
  if (auto may = parts_->may_load_program(); !may) return may;
  auto loaded = load_job_program(program);
  if (!loaded) return loaded.error();
  for (unsigned lane = 0; lane < lanes(); ++lane) {
    if (auto started = parts_->start(lane, *loaded, program); !started) return started;
  }
  return {};
}

Result<void> Machine::load_program(const Program& program, unsigned lane) {
  if (auto may = parts_->may_load_program(); !may) return may;
  if (lane >= lanes()) return Error{"there is no lane " + std::to_string(lane)};
  auto loaded = load_job_program(program);
  if (!loaded) return loaded.error();
  return parts_->start(lane, *loaded, program);
}

Result<void> Machine::Parts::start(unsigned lane, const JobProgram& loaded, const Program& program) {
  std::unique_ptr<LaneOutput> kept;
  if (program.keep_output) {
    kept = std::make_unique<LaneOutput>();
    kept->output.limit = kept->errors.limit = program.max_output;
  }
  const auto named = lanes > 1 ? std::optional<u64>(lane) : std::nullopt;
  auto started = backend->start(lane, loaded.image, lane_options(loaded, program, named, kept.get(), memory_limit));
  outputs[lane] = std::move(kept);  // the process that used the old one is gone
  if (!started) return Error{program.path + ": " + started.error().message};
  return {};
}

Output Machine::take_output(unsigned lane) {
  (void)parts_->here();
  const auto found = parts_->outputs.find(lane);
  if (found == parts_->outputs.end() || !found->second) return {};
  LaneOutput& kept = *found->second;
  return {kept.output.give(), kept.errors.give(), std::exchange(kept.output.cut, false),
          std::exchange(kept.errors.cut, false)};
}

Result<void> Machine::run_jobs(const Program& program, std::span<const Job> jobs, const JobCallback& done,
                               const JobLimits& limits) {
  if (auto may = parts_->may_load_program(); !may) return may;
  auto batch = JobBatch::load(program, jobs, done);
  if (!batch) return batch.error();
  const Parts::Timer timer(*parts_);
  RunControl control{parts_->cancel, parts_->progress, {}};
  const JobCallback counted = [&done](JobResult&& result) {
    result.stop.instructions = result.instructions;
    done(std::move(result));
  };
  return parts_->backend->run_jobs(batch->jobs(), limits, counted, control);
}

}  // namespace kvrm
