// Registers of kvrm.Machine.
#include <nanobind/stl/optional.h>

#include <limits>

#include "convert.h"
#include "guarded.h"

namespace kvrm::python {
namespace {

// One value of every lane, or `width` of them.
template <class Get>
nb::object gather(Guarded& guarded, std::size_t width, Get get) {
  Machine& machine = guarded.at_rest();
  std::vector<std::uint64_t> values;
  values.reserve(machine.lanes() * width);
  for (unsigned lane = 0; lane < machine.lanes(); ++lane) get(machine, lane, values);
  if (width == 1) return read_only_copy(std::move(values), {machine.lanes()});
  if (width == 64) return read_only_copy(std::move(values), {machine.lanes(), 32, 2});
  return read_only_copy(std::move(values), {machine.lanes(), width});
}

// Numbers as registers hold them: modulo 2^64.
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

// Gives each lane its `width` values of something that NumPy can stretch to all lanes.
template <class Set>
void scatter(Guarded& guarded, const nb::object& values, std::size_t width, Set set) {
  Machine& machine = guarded.at_rest();
  const nb::module_ numpy = nb::module_::import_("numpy");
  const nb::object lanes = nb::int_(machine.lanes());
  const nb::object shape = width == 1    ? nb::make_tuple(lanes)
                           : width == 64 ? nb::make_tuple(lanes, 32, 2)
                                         : nb::make_tuple(lanes, width);
  const nb::object whole = numpy.attr("ascontiguousarray")(numpy.attr("broadcast_to")(words_of(values), shape));
  const auto array = nb::cast<nb::ndarray<const std::uint64_t, nb::c_contig, nb::device::cpu>>(whole);
  for (unsigned lane = 0; lane < machine.lanes(); ++lane) set(machine, lane, array.data() + lane * width);
}

void check_index(unsigned index, unsigned count) {
  if (index >= count) throw nb::index_error(("there is no register " + std::to_string(index)).c_str());
}

}  // namespace

void bind_registers(nb::class_<Guarded>& type) {
#define KVRM_ARRAY(name)                                                                  \
  nb::for_getter(nb::sig("def " name "(self, /) -> numpy.typing.NDArray[numpy.uint64]")), \
      nb::for_setter(nb::sig("def " name "(self, value: numpy.typing.ArrayLike, /) -> None"))
  type.def_prop_rw(
          "x",
          [](Guarded& g) {
            return gather(g, 31, [](Machine& m, unsigned lane, auto& to) {
              for (unsigned i = 0; i < 31; ++i) to.push_back(m.x(i, lane));
            });
          },
          [](Guarded& g, const nb::object& values) {
            scatter(g, values, 31, [](Machine& m, unsigned lane, const std::uint64_t* from) {
              for (unsigned i = 0; i < 31; ++i) m.set_x(i, from[i], lane);
            });
          },
          KVRM_ARRAY("x"), "X0 to X30 of every lane: lanes x 31. Reading copies; assign to the whole to change it.")
      .def_prop_rw(
          "v",
          [](Guarded& g) {
            return gather(g, 64, [](Machine& m, unsigned lane, auto& to) {
              for (unsigned i = 0; i < 32; ++i) {
                const Vector vector = m.v(i, lane);
                to.insert(to.end(), {vector.lo, vector.hi});
              }
            });
          },
          [](Guarded& g, const nb::object& values) {
            scatter(g, values, 64, [](Machine& m, unsigned lane, const std::uint64_t* from) {
              for (unsigned i = 0; i < 32; ++i) m.set_v(i, {from[2 * i], from[2 * i + 1]}, lane);
            });
          },
          KVRM_ARRAY("v"), "V0 to V31 of every lane as (low, high) halves: lanes x 32 x 2. A copy, as x.");
  // Registers of one word a lane.
#define KVRM_WORD(name, what)                                                                                     \
  def_prop_rw(                                                                                                    \
      #name,                                                                                                      \
      [](Guarded& g) { return gather(g, 1, [](Machine& m, unsigned l, auto& to) { to.push_back(m.name(l)); }); }, \
      [](Guarded& g, const nb::object& values) {                                                                  \
        scatter(g, values, 1, [](Machine& m, unsigned lane, const std::uint64_t* from) {                          \
          m.set_##name(static_cast<decltype(m.name(lane))>(*from), lane);                                         \
        });                                                                                                       \
      },                                                                                                          \
      KVRM_ARRAY(#name), what " A copy, as x.")
  type.KVRM_WORD(sp, "The stack pointer of every lane.")
      .KVRM_WORD(pc, "The program counter of every lane.")
      .KVRM_WORD(nzcv, "The flags of every lane, in bits 31 to 28.");
#undef KVRM_WORD
#undef KVRM_ARRAY
  type.def(
          "get_x",
          [](Guarded& g, unsigned index, unsigned lane) {
            check_index(index, 31);
            return g.at_rest(lane).x(index, lane);
          },
          nb::arg("index"), nb::arg("lane") = 0, "One general register of one lane.")
      .def(
          "set_x",
          [](Guarded& g, unsigned index, const nb::object& value, Lane lane) {
            check_index(index, 31);
            each(g, lane, [&, word = word_of(value)](Machine& m, unsigned l) { m.set_x(index, word, l); });
          },
          nb::arg("index"), nb::arg("value"), nb::arg("lane") = nb::none(),
          nb::sig("def set_x(self, index: int, value: int, lane: int | None = None) -> None"),
          "Sets a general register, of one lane or of all; modulo 2^64, so that -1 is all ones.")
      .def(
          "set_pc",
          [](Guarded& g, const nb::object& value, Lane lane) {
            each(g, lane, [word = word_of(value)](Machine& m, unsigned l) { m.set_pc(word, l); });
          },
          nb::arg("value"), nb::arg("lane") = nb::none(),
          nb::sig("def set_pc(self, value: int, lane: int | None = None) -> None"),
          "Sets the program counter, of one lane or of all.")
      .def(
          "set_sp",
          [](Guarded& g, const nb::object& value, Lane lane) {
            each(g, lane, [word = word_of(value)](Machine& m, unsigned l) { m.set_sp(word, l); });
          },
          nb::arg("value"), nb::arg("lane") = nb::none(),
          nb::sig("def set_sp(self, value: int, lane: int | None = None) -> None"),
          "Sets the stack pointer, of one lane or of all.")
      .def(
          "registers", [](Guarded& g, unsigned lane) { return g.at_rest(lane).registers(lane); }, nb::arg("lane") = 0,
          "A copy of all registers of one lane.")
      .def(
          "set_registers",
          [](Guarded& g, const Registers& registers, Lane lane) {
            each(g, lane, [&](Machine& m, unsigned l) { m.set_registers(registers, l); });
          },
          nb::arg("registers"), nb::arg("lane") = nb::none(), "Sets all registers, of one lane or of all.")
      .def(
          "x_view",
          [](Guarded& g, unsigned lane) {
            auto view = unwrap(g.at_rest(lane).view_registers(lane));
            return view_of(view.x.data(), {31}, std::move(view.owner));
          },
          nb::arg("lane") = 0, nb::sig("def x_view(self, lane: int = 0) -> numpy.typing.NDArray[numpy.uint64]"),
          "X0 to X30 of one lane where they are, to read and write without copies. CPU device only.")
      .def(
          "v_view",
          [](Guarded& g, unsigned lane) {
            auto view = unwrap(g.at_rest(lane).view_registers(lane));
            return view_of(view.v.data(), {32, 2}, std::move(view.owner));
          },
          nb::arg("lane") = 0, nb::sig("def v_view(self, lane: int = 0) -> numpy.typing.NDArray[numpy.uint64]"),
          "V0 to V31 of one lane where they are, as (low, high) halves. CPU device only.");
}

}  // namespace kvrm::python
