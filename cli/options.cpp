#include "options.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace kvrm::cli {
namespace {

// The number at the start of text; rest receives what follows it.
std::optional<std::uint64_t> leading_number(const std::string& text, std::string& rest) {
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  const bool is_hex = text.size() > 1 && (text[1] == 'x' || text[1] == 'X');
  char* end = nullptr;
  errno = 0;
  const unsigned long long value = std::strtoull(text.c_str(), &end, is_hex ? 16 : 10);
  if (errno != 0) return std::nullopt;
  rest = end;
  return value;
}

}  // namespace

std::optional<std::uint64_t> parse_size(const std::string& text) {
  std::string suffix;
  const auto number = leading_number(text, suffix);
  if (!number) return std::nullopt;
  if (suffix.size() > 1 && (suffix.ends_with("iB") || suffix.ends_with("ib")))
    suffix.resize(suffix.size() - 2);
  else if (suffix.size() > 1 && (suffix.back() == 'B' || suffix.back() == 'b'))
    suffix.pop_back();
  unsigned shift = 0;
  if (suffix.empty() || suffix == "B" || suffix == "b")
    shift = 0;
  else if (suffix == "K" || suffix == "k")
    shift = 10;
  else if (suffix == "M" || suffix == "m")
    shift = 20;
  else if (suffix == "G" || suffix == "g")
    shift = 30;
  else if (suffix == "T" || suffix == "t")
    shift = 40;
  else
    return std::nullopt;
  if (*number > std::numeric_limits<std::uint64_t>::max() >> shift) return std::nullopt;
  return *number << shift;
}

std::optional<std::uint64_t> parse_count(const std::string& text) {
  std::string rest;
  const auto number = leading_number(text, rest);
  if (!number) return std::nullopt;
  if (rest.empty()) return number;
  if (rest[0] != 'e' && rest[0] != 'E') return std::nullopt;
  std::string after;
  const auto exponent = leading_number(rest.substr(1), after);
  if (!exponent || !after.empty() || *exponent > 19) return std::nullopt;
  std::uint64_t value = *number;
  for (std::uint64_t i = 0; i < *exponent; ++i) {
    if (value > std::numeric_limits<std::uint64_t>::max() / 10) return std::nullopt;
    value *= 10;
  }
  return value;
}

std::optional<double> parse_seconds(const std::string& text) {
  if (text.empty() || (text[0] != '.' && (text[0] < '0' || text[0] > '9'))) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (*end != '\0' || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace kvrm::cli
