// The keyword arguments that Machine and Fleet share.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <limits>
#include <map>

#include "convert.h"

namespace kvrm::python {
namespace {

unsigned lanes_of(const nb::handle& lanes) {
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

void set_common_memory(Options& options, nb::handle value) {
  if (PyErr_WarnEx(PyExc_DeprecationWarning, "common_memory is now shared_memory", 1) != 0) throw nb::python_error();
  options.shared_memory = nb::cast<bool>(value);
}

// Tuples of pc, policy and distance.
std::vector<PrefetchChoice> choices_from(nb::handle value) {
  std::vector<PrefetchChoice> choices;
  using Choice = std::tuple<std::uint64_t, std::string, unsigned>;
  for (const auto& [pc, policy, distance] : nb::cast<std::vector<Choice>>(value))
    choices.push_back({pc, policy, distance});
  return choices;
}

using Setter = std::function<void(Options&, nb::handle)>;

template <auto Member>
void set(Options& options, nb::handle value) {
  options.*Member = nb::cast<std::remove_cvref_t<decltype(options.*Member)>>(value);
}

const std::map<std::string, Setter>& setters() {
  static const std::map<std::string, Setter> all{
      {"device", [](Options& o, nb::handle v) { o.device = device_named(nb::cast<std::string>(v)); }},
      {"engine", [](Options& o, nb::handle v) { o.engine = engine_named(nb::cast<std::string>(v)); }},
      {"lanes", [](Options& o, nb::handle v) { o.lanes = lanes_of(v); }},
      {"memory", set<&Options::memory_limit>},
      {"shared_memory", set<&Options::shared_memory>},
      {"common_memory", set_common_memory},
      {"threads", set<&Options::threads>},
      {"ordinal", set<&Options::device_ordinal>},
      {"spread_jobs", set<&Options::spread_jobs>},
      {"jit_threshold", set<&Options::jit_threshold>},
      {"jit_budget", set<&Options::jit_budget>},
      {"windows", set<&Options::windows>},
      {"accelerate", set<&Options::accelerate>},
      {"proof_share", set<&Options::proof_share>},
      {"loop_ranking",
       [](Options& o, nb::handle v) { o.neural.loop_ranking = loop_ranking_named(nb::cast<std::string>(v)); }},
      {"loop_weights", [](Options& o, nb::handle v) { o.neural.loop_weights = weights_from(v); }},
      {"dispatch", [](Options& o, nb::handle v) { o.neural.dispatch = dispatch_named(nb::cast<std::string>(v)); }},
      {"weights", [](Options& o, nb::handle v) { o.neural.weights = weights_from(v); }},
      {"unverified", [](Options& o, nb::handle v) { o.neural.unverified = nb::cast<bool>(v); }},
      {"prefetch", [](Options& o, nb::handle v) { o.neural.prefetch = prefetch_named(nb::cast<std::string>(v)); }},
      {"prefetch_choices", [](Options& o, nb::handle v) { o.neural.prefetch_choices = choices_from(v); }},
      {"dispatch_every", [](Options& o, nb::handle v) { o.neural.every = nb::cast<bool>(v); }},
  };
  return all;
}

}  // namespace

Options options_from(const nb::kwargs& given) {
  Options options;
  for (const auto& [key, value] : given) {
    const std::string name = nb::cast<std::string>(key);
    const auto found = setters().find(name);
    if (found == setters().end()) throw nb::type_error(("there is no option '" + name + "'").c_str());
    try {
      found->second(options, value);
    } catch (const nb::cast_error&) {
      const std::string shown = nb::cast<std::string>(nb::repr(value));
      throw nb::type_error(("the option " + name + " cannot be " + shown).c_str());
    }
  }
  if (options.neural.dispatch == Dispatch::kTable && options.neural.weights)
    throw nb::value_error("weights need dispatch='neural' or 'hybrid'");
  if (options.neural.loop_ranking != LoopRanking::kNetwork && options.neural.loop_weights)
    throw nb::value_error("loop_weights need loop_ranking='network'");
  return options;
}

}  // namespace kvrm::python
