// Between Python's values and the library's.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kvrm/machine.h"

namespace kvrm::python {

namespace nb = nanobind;

// Becomes kvrm.Error in Python, with the library's message.
struct LibraryError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The library writes options as name=value; Python writes name='value'.
std::string in_python(const std::string& message);

template <class T>
T unwrap(Result<T> result) {
  if (!result) throw LibraryError(in_python(result.error().message));
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// Anything with a contiguous buffer: bytes, bytearray, memoryview, NumPy arrays.
class BytesOf {
 public:
  explicit BytesOf(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &buffer_, PyBUF_C_CONTIGUOUS) != 0) throw nb::python_error();
  }
  ~BytesOf() { PyBuffer_Release(&buffer_); }
  BytesOf(const BytesOf&) = delete;
  BytesOf& operator=(const BytesOf&) = delete;

  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(buffer_.buf), static_cast<std::size_t>(buffer_.len)};
  }
  std::string text() const { return {static_cast<const char*>(buffer_.buf), static_cast<std::size_t>(buffer_.len)}; }

 private:
  Py_buffer buffer_{};
};

inline std::string hex(std::uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

inline nb::bytes bytes_of(const std::string& text) { return nb::bytes(text.data(), text.size()); }

// A str or anything with __fspath__.
inline std::string path_of(nb::handle path) {
  return nb::cast<std::string>(nb::module_::import_("os").attr("fsdecode")(path));
}

// A read-only NumPy array of the values: an assignment to an element of a copy would be lost.
template <class T>
nb::object read_only_copy(std::vector<T> values, std::initializer_list<std::size_t> shape) {
  auto kept = std::make_unique<std::vector<T>>(std::move(values));
  const T* data = kept->data();
  nb::capsule owner(kept.release(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, const T>(data, shape, owner));
}

// A NumPy array of bytes or numbers that another object owns; the array keeps the owner alive.
template <class T>
nb::object view_of(T* data, std::initializer_list<std::size_t> shape, std::shared_ptr<const void> owner) {
  auto kept = std::make_unique<std::shared_ptr<const void>>(std::move(owner));
  nb::capsule capsule(kept.release(), [](void* p) noexcept { delete static_cast<std::shared_ptr<const void>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T>(data, shape, capsule));
}

// Any integer, modulo 2^64, as registers hold it: -1 is all ones.
std::uint64_t word_of(nb::handle number);

// A sequence of str or paths; one str alone, whose letters would pass as such, is a TypeError.
std::vector<std::string> strings_of(const char* name, nb::handle strings);

// None means no limit.
inline std::uint64_t limit_of(std::optional<std::uint64_t> limit) { return limit.value_or(Machine::kNoLimit); }

// "rwx" and parts of it; "" for no access.
std::uint32_t protection_of(const std::string& letters);

// The values of named options; another name is a ValueError that lists the valid ones.
Device device_named(const std::string& name);
Engine engine_named(const std::string& name);
Dispatch dispatch_named(const std::string& name);
Prefetch prefetch_named(const std::string& name);
LoopRanking loop_ranking_named(const std::string& name);
Clock clock_named(const std::string& name);

// None, Weights, the path of a file, or numbers.
WeightsPointer weights_from(nb::handle from);

// The keyword arguments of Machine and Fleet, and their part of the signatures.
Options options_from(const nb::kwargs& given);
#define KVRM_OPTIONS                                                                                             \
  "device: str = 'auto', engine: str = 'auto', lanes: int = 1, memory: int = 4294967296, "                       \
  "shared_memory: bool = False, threads: int = 0, ordinal: int = 0, spread_jobs: bool = False, "                 \
  "jit_threshold: int | None = None, jit_budget: float | None = None, windows: bool = True, "                    \
  "accelerate: bool = False, proof_share: float = 0.015, dispatch: str = 'table', "                              \
  "weights: Weights | str | os.PathLike[str] | numpy.typing.ArrayLike | None = None, unverified: bool = False, " \
  "dispatch_every: bool = False"

// The facts of a stop in one line.
std::string facts_of(const Stop& stop);

// The parts of the module.
void bind_values(nb::module_& module);
void bind_jobs(nb::module_& module);
void bind_fleet(nb::module_& module);
void bind_models(nb::module_& module);
void bind_prefetch(nb::module_& module);
void bind_machine(nb::module_& module);

}  // namespace kvrm::python
