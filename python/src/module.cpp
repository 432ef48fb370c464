// The extension behind the package kvrm.
#include "convert.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "kvrm/inspect.h"

namespace kvrm::python {
namespace {

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
    gpus.append(one);
  }
  nb::dict result;
  result["hwcap"] = facts.hwcap;
  result["rows"] = facts.rows;
  result["implemented_rows"] = facts.implemented_rows;
  result["host_threads"] = facts.host_threads;
  result["gpus"] = gpus;
  result["gpu_driver"] = facts.gpu_driver;
  result["gpu_problem"] = facts.gpu_problem;
  return result;
}

}  // namespace
}  // namespace kvrm::python

NB_MODULE(_kvrm, module) {
  using namespace kvrm::python;
  module.doc() = "An exact ARM64 machine.";
  nb::exception<LibraryError>(module, "Error", PyExc_RuntimeError);
  bind_values(module);
  bind_models(module);
  bind_machine(module);
  module.def("disassemble", &kvrm::disassemble, nb::arg("word"), nb::arg("address") = 0,
             "The text of one instruction word; '.inst 0x...' if it is none.");
  module.def("information", &information_dict, nb::sig("def information() -> dict[str, typing.Any]"),
             "What this build and this computer have: rows, threads, GPUs.");
  module.attr("version") = nb::cast(kvrm::version());
}
