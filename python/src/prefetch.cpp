// What the memory oracle chooses for a program.
#include "kvrm/prefetch.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "convert.h"

namespace kvrm::python {
namespace {

using Choice = std::tuple<std::uint64_t, std::string, unsigned>;

std::vector<Choice> choose(const std::string& program, const std::vector<std::string>& arguments,
                           std::uint64_t accesses, const nb::object& weights) {
  Program started;
  started.path = program;
  started.args = arguments;
  PrefetchLimits limits;
  limits.accesses = accesses;
  const WeightsPointer network = weights.is_none() ? unwrap(built_in_weights("memory-oracle")) : weights_from(weights);
  std::vector<Choice> result;
  const nb::gil_scoped_release released;
  for (const PrefetchChoice& one : unwrap(choose_prefetches(started, limits, *network)))
    result.emplace_back(one.pc, one.policy, one.distance);
  return result;
}

}  // namespace

void bind_prefetch(nb::module_& module) {
  module.def(
      "choose_prefetches", &choose, nb::arg("program"), nb::arg("arguments") = std::vector<std::string>{},
      nb::arg("accesses") = 8'000'000, nb::arg("weights") = nb::none(),
      nb::sig("def choose_prefetches(program: str, arguments: list[str] = [], accesses: int = 8000000, "
              "weights: Weights | None = None) -> list[tuple[int, str, int]]"),
      "Runs a Linux program on the interpreter, its output dropped; for each load that misses often, (pc, policy, "
      "distance) as the memory oracle chooses.");
}

}  // namespace kvrm::python
