// Registers of kvrm.Machine.
#include <nanobind/stl/optional.h>

#include <limits>

#include "convert.h"
#include "guarded.h"

namespace kvrm::python {
namespace {

constexpr std::size_t kGeneral = 31, kVectorHalves = 64;

// The shape of `width` values per lane.
nb::tuple shape_of(unsigned lanes, std::size_t width) {
  if (width == 1) return nb::make_tuple(lanes);
  if (width == kVectorHalves) return nb::make_tuple(lanes, 32, 2);
  return nb::make_tuple(lanes, width);
}

// `width` values of every lane, as a read-only NumPy array.
template <class Get>
nb::object gather(Guarded& guarded, std::size_t width, Get get) {
  Machine& machine = guarded.when_stopped();
  std::vector<std::uint64_t> values;
  values.reserve(machine.lanes() * width);
  for (unsigned lane = 0; lane < machine.lanes(); ++lane) get(machine.lane(lane), values);
  const std::size_t count = values.size();
  return read_only_copy(std::move(values), {count}).attr("reshape")(shape_of(machine.lanes(), width));
}

// Numbers modulo 2^64, as registers hold them.
nb::object words_of(const nb::object& values) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  try {
    return numpy.attr("asarray")(values, nb::arg("dtype") = "uint64");
  } catch (const nb::python_error& error) {
    if (!error.matches(PyExc_OverflowError)) throw;
  }
  const nb::object mask = nb::int_(std::numeric_limits<std::uint64_t>::max());
  return numpy.attr("bitwise_and")(numpy.attr("asarray")(values, nb::arg("dtype") = "object"), mask)
      .attr("astype")("uint64");
}

// Gives each lane its `width` values of something that NumPy can broadcast to all lanes.
template <class Set>
void scatter(Guarded& guarded, const nb::object& values, std::size_t width, Set set) {
  Machine& machine = guarded.when_stopped();
  const nb::module_ numpy = nb::module_::import_("numpy");
  const nb::object whole =
      numpy.attr("ascontiguousarray")(numpy.attr("broadcast_to")(words_of(values), shape_of(machine.lanes(), width)));
  const auto array = nb::cast<nb::ndarray<const std::uint64_t, nb::c_contig, nb::device::cpu>>(whole);
  for (unsigned lane = 0; lane < machine.lanes(); ++lane) set(machine.lane(lane), array.data() + lane * width);
}

unsigned register_index(std::int64_t index, std::size_t count) {
  if (index >= 0 && static_cast<std::uint64_t>(index) < count) return static_cast<unsigned>(index);
  throw nb::index_error(("there is no register " + std::to_string(index)).c_str());
}

nb::object get_general(Guarded& guarded) {
  return gather(guarded, kGeneral, [](Lane lane, auto& to) {
    for (unsigned i = 0; i < kGeneral; ++i) to.push_back(lane.x(i));
  });
}
void set_general(Guarded& guarded, const nb::object& values) {
  scatter(guarded, values, kGeneral, [](Lane lane, const std::uint64_t* from) {
    for (unsigned i = 0; i < kGeneral; ++i) lane.set_x(i, from[i]);
  });
}

nb::object get_vectors(Guarded& guarded) {
  return gather(guarded, kVectorHalves, [](Lane lane, auto& to) {
    for (unsigned i = 0; i < 32; ++i) {
      const Vector vector = lane.v(i);
      to.insert(to.end(), {vector.lo, vector.hi});
    }
  });
}
void set_vectors(Guarded& guarded, const nb::object& values) {
  scatter(guarded, values, kVectorHalves, [](Lane lane, const std::uint64_t* from) {
    for (unsigned i = 0; i < 32; ++i) lane.set_v(i, {from[2 * i], from[2 * i + 1]});
  });
}

// A register of one word per lane, as an array over all lanes.
template <auto Get, auto Set>
void bind_word(nb::class_<Guarded>& type, const char* name, const char* getter, const char* setter, const char* what) {
  type.def_prop_rw(
      name, [](Guarded& g) { return gather(g, 1, [](Lane lane, auto& to) { to.push_back((lane.*Get)()); }); },
      [](Guarded& g, const nb::object& values) {
        scatter(g, values, 1,
                [](Lane lane, const std::uint64_t* from) { (lane.*Set)(static_cast<decltype((lane.*Get)())>(*from)); });
      },
      nb::for_getter(nb::sig(getter)), nb::for_setter(nb::sig(setter)), what);
}

#define KVRM_GETTER(name) "def " name "(self, /) -> numpy.typing.NDArray[numpy.uint64]"
#define KVRM_SETTER(name) "def " name "(self, value: numpy.typing.ArrayLike, /) -> None"

void bind_arrays(nb::class_<Guarded>& type) {
  type.def_prop_rw("x", &get_general, &set_general, nb::for_getter(nb::sig(KVRM_GETTER("x"))),
                   nb::for_setter(nb::sig(KVRM_SETTER("x"))),
                   "X0 to X30 of every lane: lanes x 31. Reading copies; assign the whole array to change it.");
  type.def_prop_rw("v", &get_vectors, &set_vectors, nb::for_getter(nb::sig(KVRM_GETTER("v"))),
                   nb::for_setter(nb::sig(KVRM_SETTER("v"))),
                   "V0 to V31 of every lane as (low, high) halves: lanes x 32 x 2. A copy, as x.");
  bind_word<&Lane::sp, &Lane::set_sp>(type, "sp", KVRM_GETTER("sp"), KVRM_SETTER("sp"),
                                      "The stack pointer of every lane. A copy, as x.");
  bind_word<&Lane::pc, &Lane::set_pc>(type, "pc", KVRM_GETTER("pc"), KVRM_SETTER("pc"),
                                      "The program counter of every lane. A copy, as x.");
  bind_word<&Lane::nzcv, &Lane::set_nzcv>(type, "nzcv", KVRM_GETTER("nzcv"), KVRM_SETTER("nzcv"),
                                          "The flags of every lane, in bits 31 to 28. A copy, as x.");
}
#undef KVRM_GETTER
#undef KVRM_SETTER

std::uint64_t get_x(Guarded& guarded, std::int64_t index, std::int64_t lane) {
  return guarded.when_stopped(lane).x(register_index(index, kGeneral));
}
void set_x(Guarded& guarded, std::int64_t index, const nb::object& value, LaneIndex lane) {
  const unsigned checked = register_index(index, kGeneral);
  each(guarded, lane, [checked, word = word_of(value)](Lane one) { one.set_x(checked, word); });
}
void set_pc(Guarded& guarded, const nb::object& value, LaneIndex lane) {
  each(guarded, lane, [word = word_of(value)](Lane one) { one.set_pc(word); });
}
void set_sp(Guarded& guarded, const nb::object& value, LaneIndex lane) {
  each(guarded, lane, [word = word_of(value)](Lane one) { one.set_sp(word); });
}

void bind_single(nb::class_<Guarded>& type) {
  type.def("get_x", &get_x, nb::arg("index"), nb::arg("lane") = 0, "One general register of one lane.")
      .def("set_x", &set_x, nb::arg("index"), nb::arg("value"), nb::arg("lane") = nb::none(),
           nb::sig("def set_x(self, index: int, value: int, lane: int | None = None) -> None"),
           "Sets a general register, of one lane or of all; modulo 2^64, so that -1 is all ones.")
      .def("set_pc", &set_pc, nb::arg("value"), nb::arg("lane") = nb::none(),
           nb::sig("def set_pc(self, value: int, lane: int | None = None) -> None"),
           "Sets the program counter, of one lane or of all.")
      .def("set_sp", &set_sp, nb::arg("value"), nb::arg("lane") = nb::none(),
           nb::sig("def set_sp(self, value: int, lane: int | None = None) -> None"),
           "Sets the stack pointer, of one lane or of all.");
}

void bind_whole(nb::class_<Guarded>& type) {
  type.def(
          "registers", [](Guarded& g, std::int64_t lane) { return g.when_stopped(lane).registers(); },
          nb::arg("lane") = 0, "A copy of all registers of one lane.")
      .def(
          "set_registers",
          [](Guarded& g, const Registers& registers, LaneIndex lane) {
            each(g, lane, [&](Lane one) { one.set_registers(registers); });
          },
          nb::arg("registers"), nb::arg("lane") = nb::none(), "Sets all registers, of one lane or of all.")
      .def(
          "x_view",
          [](Guarded& g, std::int64_t lane) {
            auto view = unwrap(g.when_stopped(lane).view_registers());
            return view_of(view.x.data(), {kGeneral}, std::move(view.owner));
          },
          nb::arg("lane") = 0, nb::sig("def x_view(self, lane: int = 0) -> numpy.typing.NDArray[numpy.uint64]"),
          "X0 to X30 of one lane in place, to read and write without copies. CPU device only.")
      .def(
          "v_view",
          [](Guarded& g, std::int64_t lane) {
            auto view = unwrap(g.when_stopped(lane).view_registers());
            return view_of(view.v.data(), {32, 2}, std::move(view.owner));
          },
          nb::arg("lane") = 0, nb::sig("def v_view(self, lane: int = 0) -> numpy.typing.NDArray[numpy.uint64]"),
          "V0 to V31 of one lane in place, as (low, high) halves. CPU device only.");
}

}  // namespace

void bind_registers(nb::class_<Guarded>& type) {
  bind_arrays(type);
  bind_single(type);
  bind_whole(type);
}

}  // namespace kvrm::python
