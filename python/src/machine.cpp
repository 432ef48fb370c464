// kvrm.Machine.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "convert.h"
#include "guarded.h"

namespace kvrm::python {
namespace {

// The same for memories, where lanes may have one in common.
template <class Work>
void each_memory(Guarded& guarded, Lane lane, Work work) {
  if (lane || !guarded.has_common_memory()) return each(guarded, lane, work);
  work(guarded.at_rest(), 0);
}

// --- making it ---------------------------------------------------------------------------------------------------

unsigned lanes_of(const nb::object& lanes) {
  const auto integer = nb::steal(PyNumber_Index(lanes.ptr()));
  if (!integer.is_valid()) throw nb::python_error();
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(integer.ptr(), &overflow);
  if (overflow != 0 || number < 0 || number > std::numeric_limits<unsigned>::max()) {
    throw LibraryError("a machine has 1 to " + std::to_string(Machine::kMostLanes) + " lanes, not " +
                       nb::cast<std::string>(nb::str(integer)));
  }
  return static_cast<unsigned>(number);
}

void create(Guarded* place, const std::string& device, const std::string& engine, const nb::object& lanes,
            std::uint64_t memory, bool common_memory, unsigned threads, unsigned ordinal, const std::string& dispatch,
            const nb::object& weights, bool unverified, bool dispatch_every) {
  Options options;
  options.device = device_named(device);
  options.engine = engine_named(engine);
  options.lanes = lanes_of(lanes);
  options.memory_limit = memory;
  options.common_memory = common_memory;
  options.threads = threads;
  options.device_ordinal = ordinal;
  options.dispatch = dispatch_named(dispatch);
  options.weights = weights_from(weights);
  options.unverified = unverified;
  options.dispatch_every = dispatch_every;
  if (options.dispatch == Dispatch::kTable && options.weights) {
    throw nb::value_error("weights need dispatch='neural' or 'hybrid'");
  }
  new (place) Guarded(options);
}

std::string describe(Guarded& guarded) {
  const std::string lanes = std::to_string(guarded.lanes()) + (guarded.lanes() == 1 ? " lane" : " lanes");
  if (guarded.is_inherited()) return "<kvrm.Machine of another process, " + lanes + ">";
  if (guarded.is_running()) {
    return "<kvrm.Machine " + lanes + ", running, " + std::to_string(guarded.poll().instructions) + " instructions>";
  }
  const Statistics statistics = guarded.at_rest().statistics();
  return "<kvrm.Machine on " + statistics.device + ", " + lanes + ", dispatch " + to_string(statistics.dispatch.mode) +
         ", " + std::to_string(statistics.instructions) + " instructions>";
}

// --- programs ----------------------------------------------------------------------------------------------------

Program program_of(const nb::object& path, const nb::object& args, const nb::object& env, const nb::object& root,
                   const std::string& clock, std::uint64_t seed) {
  Program program;
  program.path = path_of(path);
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

void load_program(Guarded& guarded, const nb::object& path, const nb::object& args, const nb::object& input,
                  const nb::object& env, const nb::object& root, const std::string& clock, std::uint64_t seed,
                  bool inherit, std::uint64_t max_output, Lane lane) {
  Machine& machine = guarded.idle();
  Program program = program_of(path, args, env, root, clock, seed);
  if (!inherit) {
    program.input = input.is_none() ? std::string() : BytesOf(input).text();
    program.keep_output = true;
    program.max_output = max_output;
  } else if (!input.is_none()) {
    throw nb::value_error("input and inherit=True exclude each other");
  }
  if (lane) (void)guarded.at_rest(*lane);
  unwrap(lane ? machine.load_program(program, *lane) : machine.load_program(program));
}

std::vector<Job> jobs_of(const nb::object& jobs) {
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
    result.push_back(std::move(job));
  }
  return result;
}

std::chrono::nanoseconds timeout_of(std::optional<double> seconds) {
  if (!seconds) return std::chrono::nanoseconds::max();
  if (!(*seconds >= 0)) throw nb::value_error("a timeout is a number of seconds, at least 0");
  constexpr double kLongest = 9e9;  // what nanoseconds can hold
  return std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(*seconds, kLongest) * 1e9));
}

nb::list run_jobs(Guarded& guarded, const nb::object& path, const nb::object& jobs, const nb::object& args,
                  const nb::object& callback, std::optional<std::uint64_t> instructions, std::uint64_t max_output,
                  const nb::object& env, const nb::object& root, const std::string& clock, std::uint64_t seed,
                  std::optional<double> timeout) {
  const Program program = program_of(path.is_none() ? nb::str("") : path, args, env, root, clock, seed);
  std::vector<Job> all = jobs_of(jobs);
  for (Job& job : all) {
    if (job.program.empty()) job.args.insert(job.args.begin(), program.args.begin(), program.args.end());
  }
  JobLimits limits;
  limits.instructions = limit_of(instructions);
  limits.max_output = max_output;
  limits.timeout = timeout_of(timeout);
  std::vector<std::optional<JobResult>> results(all.size());
  auto done = guarded.run(false, [&](Machine& machine) {
    return machine.run_jobs(
        program, all,
        [&](JobResult&& result) {
          auto& place = results[result.index];
          place = std::move(result);
          if (callback.is_none()) return;
          const bool go_on = guarded.call(std::nullopt, [&] { return !callback(*place).is(nb::bool_(false)); });
          if (!go_on) machine.cancel();
        },
        limits);
  });
  unwrap(std::move(done));
  nb::list list;
  for (auto& result : results) list.append(result ? nb::cast(std::move(*result)) : nb::none());
  return list;
}

// --- memory ------------------------------------------------------------------------------------------------------

nb::object read(Guarded& guarded, std::uint64_t address, std::uint64_t size, unsigned lane) {
  Machine& machine = guarded.at_rest(lane);
  // Asks for the last byte before making room for them all.
  std::byte last{};
  if (size != 0 && (address + size - 1 < address || !machine.read(address + size - 1, {&last, 1}, lane))) {
    throw LibraryError("read: no " + std::to_string(size) + " bytes at " + hex(address));
  }
  const auto object = nb::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size)));
  if (!object.is_valid()) throw nb::python_error();
  unwrap(machine.read(address, {reinterpret_cast<std::byte*>(PyBytes_AS_STRING(object.ptr())), size}, lane));
  return object;
}

nb::object read_array(Guarded& guarded, std::uint64_t address, const nb::object& shape, const nb::object& dtype,
                      unsigned lane) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  const nb::object type = numpy.attr("dtype")(dtype);
  const auto count = nb::cast<std::uint64_t>(nb::int_(numpy.attr("prod")(shape)));
  const nb::object bytes = read(guarded, address, count * nb::cast<std::uint64_t>(type.attr("itemsize")), lane);
  return numpy.attr("frombuffer")(bytes, type).attr("reshape")(shape);
}

void bind_memory(nb::class_<Guarded>& type) {
  type.def(
          "load",
          [](Guarded& g, const nb::object& data, std::uint64_t address, Lane lane) {
            const BytesOf bytes(data);
            each_memory(g, lane, [&](Machine& m, unsigned l) { unwrap(m.load(bytes.bytes(), address, l)); });
          },
          nb::arg("data"), nb::arg("address"), nb::arg("lane") = nb::none(),
          nb::sig("def load(self, data: typing_extensions.Buffer, address: int, lane: int | None = None) -> None"),
          "Bytes at an address, in one lane or in all; pages that are not there are mapped rwx.")
      .def(
          "load_code",
          [](Guarded& g, const nb::object& data, std::uint64_t address) {
            const BytesOf bytes(data);
            unwrap(g.idle().load_code(bytes.bytes(), address));
          },
          nb::arg("data"), nb::arg("address"),
          nb::sig("def load_code(self, data: typing_extensions.Buffer, address: int) -> None"),
          "Code for all lanes, kept once, read-only, from a page boundary on. On a GPU lanes run it together.")
      .def(
          "write",
          [](Guarded& g, std::uint64_t address, const nb::object& data, Lane lane) {
            const BytesOf bytes(data);
            each_memory(g, lane, [&](Machine& m, unsigned l) { unwrap(m.write(address, bytes.bytes(), l)); });
          },
          nb::arg("address"), nb::arg("data"), nb::arg("lane") = nb::none(),
          nb::sig("def write(self, address: int, data: typing_extensions.Buffer, lane: int | None = None) -> None"),
          "Writes mapped memory as a debugger does, in one lane or in all.")
      .def("read", &read, nb::arg("address"), nb::arg("size"), nb::arg("lane") = 0,
           nb::sig("def read(self, address: int, size: int, lane: int = 0) -> bytes"),
           "A copy of a lane's memory as a debugger sees it.")
      .def("read_array", &read_array, nb::arg("address"), nb::arg("shape"), nb::arg("dtype") = "uint8",
           nb::arg("lane") = 0,
           nb::sig("def read_array(self, address: int, shape: int | tuple[int, ...], "
                   "dtype: numpy.typing.DTypeLike = 'uint8', lane: int = 0) -> numpy.typing.NDArray[typing.Any]"),
           "A copy of a lane's memory as a NumPy array, which is read-only.")
      .def(
          "map",
          [](Guarded& g, std::uint64_t address, std::uint64_t size, const std::string& protection, Lane lane) {
            each_memory(g, lane,
                        [&](Machine& m, unsigned l) { unwrap(m.map(address, size, protection_of(protection), l)); });
          },
          nb::arg("address"), nb::arg("size"), nb::arg("protection") = "rw", nb::arg("lane") = nb::none(),
          "Maps pages of zeros in one lane or in all; protection is made of r, w and x.")
      .def(
          "protect",
          [](Guarded& g, std::uint64_t address, std::uint64_t size, const std::string& protection, Lane lane) {
            each_memory(g, lane, [&](Machine& m, unsigned l) {
              unwrap(m.protect(address, size, protection_of(protection), l));
            });
          },
          nb::arg("address"), nb::arg("size"), nb::arg("protection"), nb::arg("lane") = nb::none(),
          "Changes what may be done with mapped pages.")
      .def(
          "unmap",
          [](Guarded& g, std::uint64_t address, std::uint64_t size, Lane lane) {
            each_memory(g, lane, [&](Machine& m, unsigned l) { unwrap(m.unmap(address, size, l)); });
          },
          nb::arg("address"), nb::arg("size"), nb::arg("lane") = nb::none(), "Takes pages away.")
      .def(
          "map_shared",
          [](Guarded& g, std::uint64_t address, std::uint64_t size, const std::string& protection, unsigned lane) {
            auto shared = unwrap(g.at_rest(lane).map_shared(address, size, protection_of(protection), lane));
            auto* data = reinterpret_cast<std::uint8_t*>(shared.bytes.data());
            return view_of(data, {shared.bytes.size()}, std::move(shared.owner));
          },
          nb::arg("address"), nb::arg("size"), nb::arg("protection") = "rw", nb::arg("lane") = 0,
          nb::sig("def map_shared(self, address: int, size: int, protection: str = 'rw', lane: int = 0)"
                  " -> numpy.typing.NDArray[numpy.uint8]"),
          "Maps pages that the lane and the returned array both use, without copies. Not for code; CPU device only.");
}

// --- running -----------------------------------------------------------------------------------------------------

Batch run_continuous(Guarded& guarded, std::uint64_t batch, std::optional<std::uint64_t> max_batches,
                     std::optional<double> timeout, const nb::object& callback) {
  BatchCallback each_batch;
  if (!callback.is_none()) {
    each_batch = [&](const Batch& one) {
      return guarded.call(std::nullopt, [&] { return !callback(one).is(nb::bool_(false)); });
    };
  }
  const auto longest = timeout_of(timeout);
  return guarded.run(false, [&](Machine& machine) {
    return machine.run_continuous(batch, limit_of(max_batches), longest, each_batch);
  });
}

using Budget = std::optional<std::uint64_t>;

void bind_running(nb::class_<Guarded>& type) {
  type.def(
          "run",
          [](Guarded& g, Budget budget, unsigned lane) {
            (void)g.at_rest(lane);
            const std::uint64_t limit = limit_of(budget);
            return g.run(g.is_brief(limit), [&](Machine& m) { return m.run(limit, lane); });
          },
          nb::arg("budget") = nb::none(), nb::arg("lane") = 0,
          "Runs one lane until something stops it, or for so many instructions.")
      .def(
          "run_all",
          [](Guarded& g, Budget budget) {
            const std::uint64_t limit = limit_of(budget);
            return g.run(g.is_brief(limit), [&](Machine& m) { return m.run_all(limit); });
          },
          nb::arg("budget") = nb::none(), "Runs all lanes, each until something stops it.")
      .def("run_continuous", &run_continuous, nb::arg("batch"), nb::arg("max_batches") = nb::none(),
           nb::arg("timeout") = nb::none(), nb::arg("callback") = nb::none(),
           nb::sig("def run_continuous(self, batch: int, max_batches: int | None = None, timeout: float | None = None, "
                   "callback: collections.abc.Callable[[Batch], object] | None = None) -> Batch"),
           "Runs all lanes in batches of so many instructions a lane. After each the callback gets a Batch while all "
           "lanes are at rest; if it returns False the run ends. Gives the last batch.")
      .def(
          "run_mega",
          [](Guarded& g, std::uint64_t total) {
            return g.run(g.is_brief(total), [&](Machine& m) { return m.run_mega(total); });
          },
          nb::arg("total"), "The same as one single batch: one call of the device.")
      .def(
          "start", [](Guarded& g, Budget budget) { g.start(limit_of(budget)); }, nb::arg("budget") = nb::none(),
          "run_all() in the background: returns at once. Then poll(), is_running(), cancel(), and wait() at the end.")
      .def("wait", &Guarded::wait, "Waits for what start() began and gives every lane's stop; empty if nothing was.")
      .def("is_running", &Guarded::is_running, "Whether what start() began is still under way.")
      .def("poll", &Guarded::poll, "How far the machine has come; at any time, from any thread.")
      .def("cancel", &Guarded::cancel, "Ends whatever runs, or what runs next, within milliseconds; from any thread.")
      .def(
          "run_jobs", &run_jobs, nb::arg("program").none(), nb::arg("jobs"), nb::arg("args") = nb::make_tuple(),
          nb::arg("callback") = nb::none(), nb::arg("instructions") = nb::none(),
          nb::arg("max_output") = JobLimits{}.max_output, nb::arg("env") = nb::none(), nb::arg("root") = nb::none(),
          nb::arg("clock") = "virtual", nb::arg("seed") = 0, nb::arg("timeout") = nb::none(),
          nb::sig("def run_jobs(self, program: str | os.PathLike[str] | None, "
                  "jobs: collections.abc.Iterable[Job | bytes], args: collections.abc.Sequence[str] = (), "
                  "callback: collections.abc.Callable[[JobResult], object] | None = None, "
                  "instructions: int | None = None, max_output: int = 16777216, "
                  "env: collections.abc.Mapping[str, str] | None = None, root: str | os.PathLike[str] | None = None, "
                  "clock: str = 'virtual', seed: int = 0, timeout: float | None = None) -> list[JobResult | None]"),
          "Streams jobs (Job, or bytes for stdin) through the lanes, each on a fresh machine. Gives the results in the "
          "jobs' order, None for those a cancel left out; the callback gets each as soon as it is there. One that "
          "takes longer than `timeout` seconds stops with "
          "'timeout'.");
}

// --- the cycle collector -----------------------------------------------------------------------------------------

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  PyObject* const hook = nb::inst_ptr<Guarded>(self)->hook().ptr();
  Py_VISIT(hook);
  return 0;
}

int clear(PyObject* self) {
  nb::inst_ptr<Guarded>(self)->hook() = nb::object();
  return 0;
}

const PyType_Slot kSlots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {Py_tp_clear, reinterpret_cast<void*>(clear)}, {0, nullptr}};

}  // namespace

void bind_machine(nb::module_& module) {
  nb::class_<Guarded> type(module, "Machine", nb::type_slots(kSlots), nb::is_weak_referenceable(),
                           "An ARM64 machine with one lane or many, on the CPU or on a GPU.\n\n"
                           "What goes in (load, write, map, set_x) goes to every lane unless one is named; what comes "
                           "out (read, get_x, run) is lane 0's unless one is named. Runs release Python's lock.");
  type.def("__init__", &create, nb::kw_only(), nb::arg("device") = "auto", nb::arg("engine") = "auto",
           nb::arg("lanes") = 1, nb::arg("memory") = Options{}.memory_limit, nb::arg("common_memory") = false,
           nb::arg("threads") = 0, nb::arg("ordinal") = 0, nb::arg("dispatch") = "table",
           nb::arg("weights") = nb::none(), nb::arg("unverified") = false, nb::arg("dispatch_every") = false,
           nb::sig("def __init__(self, *, device: str = 'auto', engine: str = 'auto', lanes: int = 1, "
                   "memory: int = 4294967296, common_memory: bool = False, threads: int = 0, ordinal: int = 0, "
                   "dispatch: str = 'table', "
                   "weights: Weights | str | os.PathLike[str] | numpy.typing.ArrayLike | None = None, "
                   "unverified: bool = False, dispatch_every: bool = False) -> None"),
           "device: auto, cpu or cuda. memory: bytes a lane may use; common_memory: one memory for all "
           "lanes. dispatch: table, neural or hybrid, with weights "
           "from a file, numbers, Weights, or those of the package.")
      .def("__repr__", &describe)
      .def("__len__", &Guarded::lanes)
      .def_prop_ro("lanes", &Guarded::lanes)
      .def("load_program", &load_program, nb::arg("path"), nb::arg("args") = nb::make_tuple(),
           nb::arg("input") = nb::none(), nb::arg("env") = nb::none(), nb::arg("root") = nb::none(),
           nb::arg("clock") = "virtual", nb::arg("seed") = 0, nb::arg("inherit") = false,
           nb::arg("max_output") = Program{}.max_output, nb::arg("lane") = nb::none(),
           nb::sig("def load_program(self, path: str | os.PathLike[str], args: collections.abc.Sequence[str] = (), "
                   "input: bytes | None = None, env: collections.abc.Mapping[str, str] | None = None, "
                   "root: str | os.PathLike[str] | None = None, clock: str = 'virtual', seed: int = 0, "
                   "inherit: bool = False, max_output: int = 16777216, lane: int | None = None) -> None"),
           "A Linux program, in one lane or in all. Its stdin is `input` and what it writes is kept for take_output(); "
           "with inherit=True it uses this process's descriptors.")
      .def(
          "take_output",
          [](Guarded& g, unsigned lane) {
            Output output = g.at_rest(lane).take_output(lane);
            return nb::make_tuple(bytes_of(output.output), bytes_of(output.errors));
          },
          nb::arg("lane") = 0, nb::sig("def take_output(self, lane: int = 0) -> tuple[bytes, bytes]"),
          "What the lane's program wrote to stdout and stderr since this was last asked.")
      .def(
          "on_system_call", &Guarded::set_hook, nb::arg("hook").none(),
          nb::sig("def on_system_call(self, hook: collections.abc.Callable[[Machine, int, int], bool] | None) -> None"),
          "Called as hook(machine, lane, immediate) for SVC on a raw lane; only that lane may be touched meanwhile. "
          "False stops it with 'system call'.")
      .def(
          "statistics", [](Guarded& g) { return g.at_rest().statistics(); }, "What the machine has done so far.")
      .def(
          "dispatch_statistics",
          [](Guarded& g, Lane lane) {
            if (lane) return unwrap(g.at_rest(*lane).dispatch_statistics(*lane));
            return g.at_rest().statistics().dispatch;
          },
          nb::arg("lane") = nb::none(), "How words got their classes, in one lane or in all.");
  bind_registers(type);
  bind_memory(type);
  bind_running(type);
}

}  // namespace kvrm::python
