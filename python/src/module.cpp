// The extension module of the package kvrm.
#include "convert.h"

#include <nanobind/stl/string_view.h>

#include "kvrm/inspect.h"

namespace kvrm::python {
namespace {

// Whether an engine can be used, and why not.
nb::dict engine_dict(const std::string& problem) {
  nb::dict engine;
  engine["available"] = problem.empty();
  engine["reason"] = in_python(problem);
  return engine;
}

nb::dict engines_dict(const std::string& problem, const std::string& translator_problem) {
  nb::dict engines;
  engines["interp"] = engine_dict(problem);
  engines["jit"] = engine_dict(problem.empty() ? translator_problem : problem);
  return engines;
}

nb::dict information_dict() {
  Information facts;
  {
    const nb::gil_scoped_release release;
    facts = information();
  }
  nb::list gpus;
  for (const GpuInformation& gpu : facts.gpus) {
    nb::dict one;
    one["name"] = gpu.name;
    one["compute_capability"] = nb::make_tuple(gpu.compute_major, gpu.compute_minor);
    one["memory"] = gpu.memory;
    one["multiprocessors"] = gpu.multiprocessors;
    one["clock_mhz"] = gpu.clock_mhz;
    one["has_code"] = gpu.has_code;
    one["problem"] = gpu.problem;
    one["engines"] = engines_dict(gpu.problem, gpu.translator_problem);
    gpus.append(one);
  }
  nb::dict result;
  result["hwcap"] = facts.hwcap;
  result["rows"] = facts.rows;
  result["implemented_rows"] = facts.implemented_rows;
  result["host_threads"] = facts.host_threads;
  result["gpus"] = gpus;
  result["gpu_driver"] = facts.gpu_driver;
  result["gpu_problem"] = in_python(facts.gpu_problem);
  result["engines"] = engines_dict({}, facts.translator_problem);
  return result;
}

}  // namespace
}  // namespace kvrm::python

NB_MODULE(_kvrm, module) {
  using namespace kvrm::python;
  module.doc() = "An exact ARM64 machine.";
  nb::exception<LibraryError>(module, "Error", PyExc_RuntimeError);
  bind_values(module);
  bind_jobs(module);
  bind_models(module);
  bind_prefetch(module);
  bind_machine(module);
  bind_fleet(module);
  module.def("disassemble", &kvrm::disassemble, nb::arg("word"), nb::arg("address") = 0,
             "The text of one instruction word; '.inst 0x...' if it is none.");
  module.def(
      "information", &information_dict, nb::sig("def information() -> dict[str, typing.Any]"),
      "What this build and this computer have: rows, threads, GPUs, and the engines of each with the reason where "
      "one cannot be used.");
  module.def("info", &information_dict, nb::sig("def info() -> dict[str, typing.Any]"),
             "Another name of information().");
  module.attr("version") = nb::cast(kvrm::version());
}
