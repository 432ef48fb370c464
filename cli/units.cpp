#include "units.h"

#include "formatted.h"

namespace kvrm::cli {

std::string short_number(double value) {
  for (const char* unit : {"", " k", " M", " G", " T"}) {
    if (value < 999.5) return *unit ? formatted("{:.3g}{}", value, unit) : formatted("{:.0f}", value);
    value /= 1000;
  }
  return formatted("{:.3g} P", value);
}

std::string rate_text(double count, double seconds) {
  if (seconds <= 0) return {};
  const std::string number = short_number(count / seconds);
  return number + (number.find(' ') == std::string::npos ? " /s" : "/s");
}

std::string seconds_text(double seconds) {
  if (seconds >= 100) {
    const auto whole = static_cast<std::uint64_t>(seconds + 0.5);
    return formatted("{} min {} s", whole / 60, whole % 60);
  }
  for (const char* unit : {" s", " ms"}) {
    if (seconds >= 0.9995) return formatted("{:.3g}{}", seconds, unit);
    seconds *= 1000;
  }
  return formatted("{:.3g} us", seconds);
}

std::string bytes_text(std::uint64_t bytes) {
  auto value = static_cast<double>(bytes);
  if (value < 1024) return formatted("{} B", bytes);
  const char* unit = " KiB";
  for (const char* next : {" KiB", " MiB", " GiB", " TiB"}) {
    unit = next;
    value /= 1024;
    if (value < 1024) break;
  }
  return formatted("{:.1f}{}", value, unit);
}

std::string whole_number(std::uint64_t value) {
  std::string text = std::to_string(value);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

}  // namespace kvrm::cli
