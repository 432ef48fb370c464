// kvrm.Machine.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "jobs.h"

namespace kvrm::python {
namespace {

std::string describe(Guarded& guarded) {
  const std::string lanes = std::to_string(guarded.lanes()) + (guarded.lanes() == 1 ? " lane" : " lanes");
  if (guarded.is_inherited()) return "<kvrm.Machine of another process, " + lanes + ">";
  if (guarded.is_running()) {
    return "<kvrm.Machine " + lanes + ", running, " + std::to_string(guarded.poll().instructions) + " instructions>";
  }
  const Statistics statistics = guarded.when_stopped().statistics();
  return "<kvrm.Machine on " + statistics.device + ", " + lanes + ", dispatch " + to_string(statistics.dispatch.mode) +
         ", " + std::to_string(statistics.instructions) + " instructions>";
}

// --- programs ----------------------------------------------------------------------------------------------------

void load_program(Guarded& guarded, const nb::object& path, const nb::object& args, const nb::object& input,
                  const nb::object& env, const nb::object& root, const std::string& clock, std::uint64_t seed,
                  bool inherit, std::uint64_t max_output, LaneIndex lane) {
  Machine& machine = guarded.idle();
  if (path.is_none()) throw nb::type_error("path is a str, a path or a kvrm.ProgramFile, not None");
  Program program = program_of(path, args, env, root, clock, seed);
  if (!inherit) {
    program.input = input.is_none() ? std::string() : BytesOf(input).text();
    program.keep_output = true;
    program.max_output = max_output;
  } else if (!input.is_none()) {
    throw nb::value_error("input and inherit=True exclude each other");
  }
  unwrap(lane ? guarded.when_stopped(*lane).load_program(program) : machine.load_program(program));
}

void bind_programs(nb::class_<Guarded>& type) {
  type.def("load_program", &load_program, nb::arg("path"), nb::arg("args") = nb::make_tuple(),
           nb::arg("input") = nb::none(), nb::arg("env") = nb::none(), nb::arg("root") = nb::none(),
           nb::arg("clock") = "virtual", nb::arg("seed") = 0, nb::arg("inherit") = false,
           nb::arg("max_output") = Program{}.max_output, nb::arg("lane") = nb::none(),
           nb::sig("def load_program(self, path: str | os.PathLike[str] | ProgramFile, args: "
                   "collections.abc.Sequence[str] = (), "
                   "input: bytes | None = None, env: collections.abc.Mapping[str, str] | None = None, "
                   "root: str | os.PathLike[str] | None = None, clock: str = 'virtual', seed: int = 0, "
                   "inherit: bool = False, max_output: int = 16777216, lane: int | None = None) -> None"),
           "A Linux program, in one lane or in all. Its stdin is `input`, and take_output() returns what it writes; "
           "with inherit=True it uses the descriptors of this process.")
      .def(
          "take_output",
          [](Guarded& g, std::int64_t lane) {
            Output output = g.when_stopped(lane).take_output();
            return nb::make_tuple(bytes_of(output.output), bytes_of(output.errors));
          },
          nb::arg("lane") = 0, nb::sig("def take_output(self, lane: int = 0) -> tuple[bytes, bytes]"),
          "What the lane's program wrote to stdout and stderr since the last call.");
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
          [](Guarded& g, Budget budget, std::int64_t lane) {
            Lane one = g.when_stopped(lane);
            const std::uint64_t limit = limit_of(budget);
            return g.run(g.is_brief(limit), [&](Machine&) { return one.run(limit); });
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
           "lanes are stopped; if it returns False the run ends. Returns the last batch.")
      .def(
          "run_mega",
          [](Guarded& g, std::uint64_t total) {
            return g.run(g.is_brief(total), [&](Machine& m) { return m.run_mega(total); });
          },
          nb::arg("total"), "The same as one single batch: one launch of the device.")
      .def(
          "start", [](Guarded& g, Budget budget) { g.start(limit_of(budget)); }, nb::arg("budget") = nb::none(),
          "run_all() in the background: returns at once. Then poll(), is_running(), cancel(), and wait() at the end.")
      .def("wait", &Guarded::wait,
           "Waits for the run of start() and returns every lane's stop; empty if nothing was started.")
      .def("is_running", &Guarded::is_running, "Whether the run of start() is still active.")
      .def("poll", &Guarded::poll, "The progress of the machine; at any time, from any thread.")
      .def("cancel", &Guarded::cancel,
           "Ends the current run, or else the next one, within milliseconds; from any thread.");
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
  nb::class_<Guarded> type(
      module, "Machine", nb::type_slots(kSlots), nb::is_weak_referenceable(),
      "An ARM64 machine with one lane or many, on the CPU or on a GPU.\n\n"
      "Changes (load, write, map, set_x) apply to every lane unless `lane` names one; reads and run "
      "(read, get_x, run) use lane 0 unless `lane` names another. Runs release Python's lock.");
  type.def(
          "__init__", [](Guarded* machine, const nb::kwargs& options) { new (machine) Guarded(options_from(options)); },
          nb::arg("options"), nb::sig("def __init__(self, *, " KVRM_OPTIONS ") -> None"),
          "device: auto, cpu or cuda. engine: auto, interp or jit. memory: bytes a lane may use; shared_memory: one "
          "memory for all lanes. jit_threshold: samples before code is translated (0: all code at once); jit_budget: "
          "seconds for compiling. windows: False installs no handler for SIGSEGV. accelerate: True for bulk steps of "
          "loops. spread_jobs: jobs on a GPU do not "
          "share a warp. dispatch: table, neural or hybrid, "
          "with weights from a file, numbers, Weights, or the built-in ones.")
      .def("__repr__", &describe)
      .def("__len__", &Guarded::lanes)
      .def_prop_ro("lanes", &Guarded::lanes)
      .def(
          "on_system_call", &Guarded::set_hook, nb::arg("hook").none(),
          nb::sig("def on_system_call(self, hook: collections.abc.Callable[[Machine, int, int], bool] | None) -> None"),
          "Called as hook(machine, lane, immediate) for SVC on a raw lane; it may use only that lane. "
          "False stops it with 'system call'.")
      .def(
          "statistics", [](Guarded& g) { return g.when_stopped().statistics(); }, "What the machine has done so far.")
      .def(
          "dispatch_statistics",
          [](Guarded& g, LaneIndex lane) {
            if (lane) return unwrap(g.when_stopped(*lane).dispatch_statistics());
            return g.when_stopped().statistics().dispatch;
          },
          nb::arg("lane") = nb::none(), "How words got their classes, in one lane or in all.");
  bind_programs(type);
  bind_registers(type);
  bind_memory(type);
  bind_running(type);
  bind_run_jobs(type);
}

}  // namespace kvrm::python
