#include "convert.h"

#include <array>
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

Dispatch dispatch_named(const std::string& name) {
  return named<Dispatch, 3>(
      "dispatch", name, {{{"table", Dispatch::kTable}, {"neural", Dispatch::kNeural}, {"hybrid", Dispatch::kHybrid}}});
}

Clock clock_named(const std::string& name) {
  return named<Clock, 2>("clock", name, {{{"virtual", Clock::kVirtual}, {"host", Clock::kHost}}});
}

}  // namespace kvrm::python
