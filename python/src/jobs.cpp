#include "jobs.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "kvrm/program_file.h"

namespace kvrm::python {
namespace {

// nanobind holds pointers to non-const objects; nothing changes a ProgramFile.
using HeldFile = std::shared_ptr<ProgramFile>;
HeldFile held(const ProgramFilePointer& file) { return std::const_pointer_cast<ProgramFile>(file); }

nb::bytes input_of(const Job& job) { return bytes_of(job.input ? *job.input : std::string()); }
nb::bytes output_of(const JobResult& result) { return bytes_of(result.output); }
nb::bytes errors_of(const JobResult& result) { return bytes_of(result.errors); }

std::string describe(const JobResult& result) {
  const std::string name = "<kvrm.JobResult " + std::to_string(result.index) + ": ";
  if (!result.error.empty()) return name + result.error + ">";
  const auto size = [](const std::string& bytes, bool cut) {
    return std::to_string(bytes.size()) + (cut ? " bytes (cut) of " : " bytes of ");
  };
  return name + facts_of(result.stop) + ", " + size(result.output, result.output_cut) + "output, " +
         size(result.errors, result.errors_cut) + "errors>";
}

void bind_program_file(nb::module_& module) {
  nb::class_<ProgramFile>(module, "ProgramFile",
                          "A program's ELF file, opened and read once, or an ELF image from memory. Use it instead of "
                          "a path.")
      .def_static(
          "open", [](const nb::object& path) { return held(unwrap(ProgramFile::open(path_of(path)))); },
          nb::arg("path"), nb::sig("def open(path: str | os.PathLike[str]) -> ProgramFile"),
          "Reads a file of the host.")
      .def_static(
          "from_bytes",
          [](const nb::object& elf, const std::string& name) {
            return held(unwrap(ProgramFile::from_bytes(BytesOf(elf).bytes(), name)));
          },
          nb::arg("elf"), nb::arg("name") = "program",
          nb::sig("def from_bytes(elf: typing_extensions.Buffer, name: str = 'program') -> ProgramFile"),
          "An ELF image in memory; it is copied. The program sees `name` as its path.")
      .def_prop_ro("path", &ProgramFile::path)
      .def("__len__", [](const ProgramFile& file) { return file.bytes().size(); })
      .def("__repr__", [](const ProgramFile& file) {
        return "<kvrm.ProgramFile " + file.path() + ", " + std::to_string(file.bytes().size()) + " bytes>";
      });
}

void create_job(Job* job, const nb::object& args, const nb::object& input, const nb::object& program) {
  Job made;
  made.args = strings_of("args", args);
  if (!input.is_none()) made.input = std::make_shared<const std::string>(BytesOf(input).text());
  if (!program.is_none()) set_program(program, made.program, made.file);
  new (job) Job(std::move(made));
}

}  // namespace

void set_program(nb::handle from, std::string& path, ProgramFilePointer& file) {
  if (nb::isinstance<ProgramFile>(from)) {
    file = nb::cast<HeldFile>(from);
    path = file->path();
  } else {
    path = path_of(from);
  }
}

Program program_of(nb::handle path, const nb::object& args, const nb::object& env, const nb::object& root,
                   const std::string& clock, std::uint64_t seed) {
  Program program;
  if (!path.is_none()) set_program(path, program.path, program.file);
  program.args = strings_of("args", args);
  if (!env.is_none()) {
    const auto pairs = nb::cast<nb::dict>(nb::module_::import_("builtins").attr("dict")(env));
    for (const auto& [key, value] : pairs) program.env.push_back(path_of(key) + "=" + path_of(value));
  }
  if (!root.is_none()) program.root = path_of(root);
  program.clock = clock_named(clock);
  program.seed = seed;
  return program;
}

std::vector<Job> jobs_of(const nb::object& jobs, const Program& program) {
  if (nb::isinstance<nb::str>(jobs) || nb::isinstance<nb::bytes>(jobs)) {
    throw nb::type_error("jobs is a sequence, of bytes or kvrm.Job; for one job write jobs=[...]");
  }
  std::vector<Job> result;
  for (const nb::handle one : jobs) {
    Job job;
    if (nb::isinstance<Job>(one)) {
      job = nb::cast<Job>(one);
    } else {
      job.input = std::make_shared<const std::string>(BytesOf(one).text());
    }
    job.index = result.size();
    if (job.program.empty()) job.args.insert(job.args.begin(), program.args.begin(), program.args.end());
    result.push_back(std::move(job));
  }
  return result;
}

std::chrono::nanoseconds timeout_of(std::optional<double> seconds) {
  if (!seconds) return std::chrono::nanoseconds::max();
  if (!(*seconds >= 0)) throw nb::value_error("a timeout is a number of seconds, at least 0");
  constexpr double kLongest = 9e9;  // the range of nanoseconds
  return std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(*seconds, kLongest) * 1e9));
}

void bind_jobs(nb::module_& module) {
  bind_program_file(module);
  nb::class_<Job>(module, "Job", "One input of a batch: arguments, stdin, and perhaps its own program.")
      .def("__init__", &create_job, nb::arg("args") = nb::make_tuple(), nb::arg("input") = nb::none(),
           nb::arg("program") = nb::none(),
           nb::sig("def __init__(self, args: collections.abc.Sequence[str] = (), input: bytes | None = None, "
                   "program: str | os.PathLike[str] | ProgramFile | None = None) -> None"))
      .def_ro("args", &Job::args)
      .def_prop_ro("input", &input_of, "All of its stdin.")
      .def_prop_ro("stdin", &input_of, "Another name of input.")
      .def_ro("program", &Job::program, "Empty: the batch's program.");
  nb::class_<JobResult>(module, "JobResult", "How one job ended and what it wrote.")
      .def_ro("index", &JobResult::index, "Its position among the jobs.")
      .def_ro("stop", &JobResult::stop)
      .def_prop_ro("instructions", [](const JobResult& result) { return result.stop.instructions; })
      .def_prop_ro("output", &output_of, "What it wrote to stdout.")
      .def_prop_ro("errors", &errors_of, "What it wrote to stderr.")
      .def_prop_ro("stdout", &output_of, "Another name of output.")
      .def_prop_ro("stderr", &errors_of, "Another name of errors.")
      .def_prop_ro("output_cut", [](const JobResult& result) { return result.output_cut; })
      .def_prop_ro("errors_cut", [](const JobResult& result) { return result.errors_cut; })
      .def_ro("registers", &JobResult::registers)
      .def_ro("dispatch", &JobResult::dispatch)
      .def_ro("error", &JobResult::error, "Why it could not start; empty if it did.")
      .def("__repr__", &describe);
}

void bind_fleet(nb::module_& module) {
  nb::class_<GuardedFleet> type(module, "Fleet", "One machine per device, for jobs on all of them.");
  type.def(
          "__init__",
          [](GuardedFleet* fleet, const nb::object& ordinals, const nb::kwargs& options) {
            std::vector<unsigned> devices;
            for (const nb::handle one : ordinals) devices.push_back(nb::cast<unsigned>(one));
            new (fleet) GuardedFleet(options_from(options), devices);
          },
          nb::arg("ordinals") = nb::make_tuple(0), nb::arg("options"),
          nb::sig("def __init__(self, ordinals: collections.abc.Iterable[int] = (0,), *, " KVRM_OPTIONS ") -> None"),
          "A machine with these options for each device number. A number may occur more than once; on the CPU device "
          "the machines divide the host's threads.")
      .def_prop_ro("machines", &GuardedFleet::machines)
      .def("__len__", &GuardedFleet::machines)
      .def("poll", &GuardedFleet::poll, "The progress of all machines; at any time, from any thread.")
      .def("cancel", &GuardedFleet::cancel, "Ends run_jobs() permanently; from any thread.")
      .def("statistics", &GuardedFleet::statistics, "The sum over all machines.")
      .def("__repr__", [](const GuardedFleet& fleet) {
        return "<kvrm.Fleet of " + std::to_string(fleet.machines()) + " machines>";
      });
  bind_run_jobs(type);
}

}  // namespace kvrm::python
