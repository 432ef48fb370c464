// Linux programs on lanes, and jobs.
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
    options.output = [kept](std::span<const u8> bytes) { kept->output.append(bytes); };
    options.errors = [kept](std::span<const u8> bytes) { kept->errors.append(bytes); };
  }
  return options;
}

}  // namespace

Result<void> Machine::Parts::may_load_program() const {
  if (auto checked = origin.check(); !checked) return checked;
  if (!shared_memory) return {};
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

Result<void> Lane::load_program(const Program& program) {
  Machine::Parts& parts = *machine_->parts_;
  if (auto may = parts.may_load_program(); !may) return may;
  auto loaded = load_job_program(program);
  if (!loaded) return loaded.error();
  return parts.start(index_, *loaded, program);
}

Result<void> Machine::Parts::start(unsigned lane, const JobProgram& loaded, const Program& program) {
  std::unique_ptr<LaneOutput> kept;
  if (program.keep_output) {
    kept = std::make_unique<LaneOutput>();
    kept->output.limit = kept->errors.limit = program.max_output;
  }
  const auto named = lanes > 1 ? std::optional<u64>(lane) : std::nullopt;
  auto started = backend->start(lane, loaded.image, lane_options(loaded, program, named, kept.get(), memory_limit));
  outputs[lane] = std::move(kept);  // start() has destroyed the process that used the old one
  if (!started) return Error{program.path + ": " + started.error().message};
  return {};
}

Output Lane::take_output() {
  Machine::Parts& parts = *machine_->parts_;
  (void)parts.here();
  const auto found = parts.outputs.find(index_);
  if (found == parts.outputs.end() || !found->second) return {};
  return take(found->second->output, found->second->errors);
}

Result<void> Machine::run_jobs(const Program& program, std::span<const Job> jobs, const JobCallback& done,
                               const JobLimits& limits) {
  if (auto may = parts_->may_load_program(); !may) return may;
  auto batch = JobBatch::load(program, jobs, done);
  if (!batch) return batch.error();
  const Parts::Timer timer(*parts_);
  RunControl control{parts_->cancel, parts_->progress, {}};
  return parts_->backend->run_jobs(batch->jobs(), limits, done, control);
}

}  // namespace kvrm
