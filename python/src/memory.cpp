// Memory of kvrm.Machine.
#include <nanobind/stl/optional.h>

#include "convert.h"
#include "guarded.h"

namespace kvrm::python {
namespace {

// As each(), but once for lanes that share one memory.
template <class Work>
void each_memory(Guarded& guarded, LaneIndex lane, Work work) {
  if (lane || !guarded.has_shared_memory()) return each(guarded, lane, work);
  work(guarded.when_stopped().lane(0));
}

nb::object read(Guarded& guarded, std::uint64_t address, std::uint64_t size, std::int64_t lane) {
  const Lane from = guarded.when_stopped(lane);
  // Reads the last byte before it allocates room for them all.
  std::byte last{};
  if (size != 0 && (address + size - 1 < address || !from.read(address + size - 1, {&last, 1}))) {
    throw LibraryError("read: no " + std::to_string(size) + " bytes at " + hex(address));
  }
  const auto object = nb::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size)));
  if (!object.is_valid()) throw nb::python_error();
  unwrap(from.read(address, {reinterpret_cast<std::byte*>(PyBytes_AS_STRING(object.ptr())), size}));
  return object;
}

nb::object read_array(Guarded& guarded, std::uint64_t address, const nb::object& shape, const nb::object& dtype,
                      std::int64_t lane) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  const nb::object type = numpy.attr("dtype")(dtype);
  const auto count = nb::cast<std::uint64_t>(nb::int_(numpy.attr("prod")(shape)));
  const nb::object bytes = read(guarded, address, count * nb::cast<std::uint64_t>(type.attr("itemsize")), lane);
  return numpy.attr("frombuffer")(bytes, type).attr("reshape")(shape);
}

void write(Guarded& guarded, std::uint64_t address, const nb::object& data, LaneIndex lane) {
  const BytesOf bytes(data);
  each_memory(guarded, lane, [&](Lane one) { unwrap(one.write(address, bytes.bytes())); });
}

void load(Guarded& guarded, const nb::object& data, std::uint64_t address, LaneIndex lane) {
  const BytesOf bytes(data);
  each_memory(guarded, lane, [&](Lane one) { unwrap(one.load(bytes.bytes(), address)); });
}

void load_code(Guarded& guarded, const nb::object& data, std::uint64_t address) {
  const BytesOf bytes(data);
  unwrap(guarded.idle().load_code(bytes.bytes(), address));
}

void map(Guarded& guarded, std::uint64_t address, std::uint64_t size, const std::string& protection, LaneIndex lane) {
  const std::uint32_t bits = protection_of(protection);
  each_memory(guarded, lane, [&](Lane one) { unwrap(one.map(address, size, bits)); });
}

void protect(Guarded& guarded, std::uint64_t address, std::uint64_t size, const std::string& protection,
             LaneIndex lane) {
  const std::uint32_t bits = protection_of(protection);
  each_memory(guarded, lane, [&](Lane one) { unwrap(one.protect(address, size, bits)); });
}

void unmap(Guarded& guarded, std::uint64_t address, std::uint64_t size, LaneIndex lane) {
  each_memory(guarded, lane, [&](Lane one) { unwrap(one.unmap(address, size)); });
}

nb::object map_shared(Guarded& guarded, std::uint64_t address, std::uint64_t size, const std::string& protection,
                      std::int64_t lane) {
  auto shared = unwrap(guarded.when_stopped(lane).map_shared(address, size, protection_of(protection)));
  auto* data = reinterpret_cast<std::uint8_t*>(shared.bytes.data());
  return view_of(data, {shared.bytes.size()}, std::move(shared.owner));
}

void bind_copies(nb::class_<Guarded>& type) {
  type.def("load", &load, nb::arg("data"), nb::arg("address"), nb::arg("lane") = nb::none(),
           nb::sig("def load(self, data: typing_extensions.Buffer, address: int, lane: int | None = None) -> None"),
           "Bytes at an address, in one lane or in all; pages that are not mapped become rwx.")
      .def("load_code", &load_code, nb::arg("data"), nb::arg("address"),
           nb::sig("def load_code(self, data: typing_extensions.Buffer, address: int) -> None"),
           "Code for all lanes, stored once, read-only, from a page boundary on. On a GPU lanes run it together.")
      .def("write", &write, nb::arg("address"), nb::arg("data"), nb::arg("lane") = nb::none(),
           nb::sig("def write(self, address: int, data: typing_extensions.Buffer, lane: int | None = None) -> None"),
           "Writes mapped memory as a debugger does, in one lane or in all.")
      .def("read", &read, nb::arg("address"), nb::arg("size"), nb::arg("lane") = 0,
           nb::sig("def read(self, address: int, size: int, lane: int = 0) -> bytes"),
           "A copy of a lane's memory as a debugger sees it.")
      .def("read_array", &read_array, nb::arg("address"), nb::arg("shape"), nb::arg("dtype") = "uint8",
           nb::arg("lane") = 0,
           nb::sig("def read_array(self, address: int, shape: int | tuple[int, ...], "
                   "dtype: numpy.typing.DTypeLike = 'uint8', lane: int = 0) -> numpy.typing.NDArray[typing.Any]"),
           "A copy of a lane's memory as a NumPy array, which is read-only.");
}

void bind_map(nb::class_<Guarded>& type) {
  type.def("map", &map, nb::arg("address"), nb::arg("size"), nb::arg("protection") = "rw", nb::arg("lane") = nb::none(),
           "Maps pages of zeros in one lane or in all; protection is made of r, w and x.")
      .def("protect", &protect, nb::arg("address"), nb::arg("size"), nb::arg("protection"),
           nb::arg("lane") = nb::none(), "Changes the protection of mapped pages.")
      .def("unmap", &unmap, nb::arg("address"), nb::arg("size"), nb::arg("lane") = nb::none(), "Unmaps pages.")
      .def("map_shared", &map_shared, nb::arg("address"), nb::arg("size"), nb::arg("protection") = "rw",
           nb::arg("lane") = 0,
           nb::sig("def map_shared(self, address: int, size: int, protection: str = 'rw', lane: int = 0)"
                   " -> numpy.typing.NDArray[numpy.uint8]"),
           "Maps pages that the lane and the returned array both use, without copies. Not for code; CPU device only.");
}

}  // namespace

void bind_memory(nb::class_<Guarded>& type) {
  bind_copies(type);
  bind_map(type);
}

}  // namespace kvrm::python
