// Programs and jobs, for Machine and Fleet.
#pragma once

#include "guarded.h"

namespace kvrm::python {

// A path or a kvrm.ProgramFile, with the rest of a program's environment.
Program program_of(nb::handle path, const nb::object& args, const nb::object& env, const nb::object& root,
                   const std::string& clock, std::uint64_t seed);
void set_program(nb::handle from, std::string& path, ProgramFilePointer& file);
// None means no limit.
std::chrono::nanoseconds timeout_of(std::optional<double> seconds);
std::vector<Job> jobs_of(const nb::object& jobs, const Program& program);

// run_jobs() of a machine or a fleet.
template <class Owner>
nb::list run_jobs(Owner& owner, const nb::object& path, const nb::object& jobs, const nb::object& args,
                  const nb::object& callback, std::optional<std::uint64_t> instructions, std::uint64_t max_output,
                  const nb::object& env, const nb::object& root, const std::string& clock, std::uint64_t seed,
                  std::optional<double> timeout) {
  const Program program = program_of(path, args, env, root, clock, seed);
  const std::vector<Job> all = jobs_of(jobs, program);
  JobLimits limits;
  limits.instructions = limit_of(instructions);
  limits.max_output = max_output;
  limits.timeout = timeout_of(timeout);
  std::vector<std::optional<JobResult>> results(all.size());
  auto done = owner.run(false, [&](auto& runner) {
    const auto take = [&](JobResult&& result) {
      auto& kept = results[result.index];
      kept = std::move(result);
      if (callback.is_none()) return;
      if (!owner.call(std::nullopt, [&] { return !callback(*kept).is(nb::bool_(false)); })) runner.cancel();
    };
    return runner.run_jobs(program, all, take, limits);
  });
  unwrap(std::move(done));
  nb::list list;
  for (auto& result : results) list.append(result ? nb::cast(std::move(*result)) : nb::none());
  return list;
}

template <class Owner>
void bind_run_jobs(nb::class_<Owner>& type) {
  type.def("run_jobs", &run_jobs<Owner>, nb::arg("program").none(), nb::arg("jobs"), nb::arg("args") = nb::make_tuple(),
           nb::arg("callback") = nb::none(), nb::arg("instructions") = nb::none(),
           nb::arg("max_output") = JobLimits{}.max_output, nb::arg("env") = nb::none(), nb::arg("root") = nb::none(),
           nb::arg("clock") = "virtual", nb::arg("seed") = 0, nb::arg("timeout") = nb::none(),
           nb::sig("def run_jobs(self, program: str | os.PathLike[str] | ProgramFile | None, "
                   "jobs: collections.abc.Iterable[Job | bytes], args: collections.abc.Sequence[str] = (), "
                   "callback: collections.abc.Callable[[JobResult], object] | None = None, "
                   "instructions: int | None = None, max_output: int = 16777216, "
                   "env: collections.abc.Mapping[str, str] | None = None, root: str | os.PathLike[str] | None = None, "
                   "clock: str = 'virtual', seed: int = 0, timeout: float | None = None) -> list[JobResult | None]"),
           "Streams jobs (Job, or bytes for stdin) through the lanes, each on a fresh lane. Returns the results in the "
           "order of the jobs, None for jobs that a cancel skipped; the callback gets each result when its job ends. A "
           "job that takes longer than `timeout` seconds stops with 'timeout'.");
}

}  // namespace kvrm::python
