#include "convert.h"

#include <array>
#include <regex>
#include <string_view>

namespace kvrm::python {
namespace {

template <class T, std::size_t N>
T named(const char* what, const std::string& name, const std::array<std::pair<std::string_view, T>, N>& names) {
  std::string all;
  for (const auto& [known, value] : names) {
    if (name == known) return value;
    all += all.empty() ? "" : ", ";
    all += known;
  }
  throw nb::value_error((std::string("no ") + what + " '" + name + "'; there are: " + all).c_str());
}

}  // namespace

std::string in_python(const std::string& message) {
  static const std::regex names(R"(\b(device|dispatch|engine)=([a-z]+)\b)"), truths(R"(\b([a-z_]+)=true\b)");
  return std::regex_replace(std::regex_replace(message, names, "$1='$2'"), truths, "$1=True");
}

std::uint64_t word_of(nb::handle number) {
  const auto integer = nb::steal(PyNumber_Index(number.ptr()));
  if (!integer.is_valid()) throw nb::python_error();
  return PyLong_AsUnsignedLongLongMask(integer.ptr());
}

std::vector<std::string> strings_of(const char* name, nb::handle strings) {
  if (nb::isinstance<nb::str>(strings) || nb::isinstance<nb::bytes>(strings)) {
    const std::string shown = nb::cast<std::string>(nb::repr(strings));
    throw nb::type_error(
        (std::string(name) + " is a sequence of strings; for one string write " + name + "=[" + shown + "]").c_str());
  }
  std::vector<std::string> result;
  for (const nb::handle one : strings) result.push_back(path_of(one));
  return result;
}

std::uint32_t protection_of(const std::string& letters) {
  std::uint32_t result = kProtectNone;
  for (const char letter : letters) {
    switch (letter) {
      case 'r': result |= kProtectRead; break;
      case 'w': result |= kProtectWrite; break;
      case 'x': result |= kProtectExecute; break;
      default: throw nb::value_error(("a protection is made of r, w and x, not '" + letters + "'").c_str());
    }
  }
  return result;
}

Device device_named(const std::string& name) {
  return named<Device, 3>("device", name, {{{"auto", Device::kAuto}, {"cpu", Device::kCpu}, {"cuda", Device::kCuda}}});
}

Engine engine_named(const std::string& name) {
  return named<Engine, 3>("engine", name,
                          {{{"auto", Engine::kAuto}, {"interp", Engine::kInterpreter}, {"jit", Engine::kJit}}});
}

LoopRanking loop_ranking_named(const std::string& name) {
  return named<LoopRanking, 3>(
      "loop_ranking", name,
      {{{"hot", LoopRanking::kHottest}, {"tree", LoopRanking::kTree}, {"network", LoopRanking::kNetwork}}});
}

Dispatch dispatch_named(const std::string& name) {
  return named<Dispatch, 3>(
      "dispatch", name, {{{"table", Dispatch::kTable}, {"neural", Dispatch::kNeural}, {"hybrid", Dispatch::kHybrid}}});
}

Prefetch prefetch_named(const std::string& name) {
  return named<Prefetch, 3>(
      "prefetch", name,
      {{{"off", Prefetch::kOff}, {"counters", Prefetch::kCounters}, {"network", Prefetch::kNetwork}}});
}

Clock clock_named(const std::string& name) {
  return named<Clock, 2>("clock", name, {{{"virtual", Clock::kVirtual}, {"host", Clock::kHost}}});
}

}  // namespace kvrm::python
