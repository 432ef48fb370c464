// Values on the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace kvrm::cli {

// "512M", "4GiB", "65536": bytes, with K, M, G or T as powers of 1024.
std::optional<std::uint64_t> parse_size(const std::string& text);
// "1000000", "1e9" or "0x10".
std::optional<std::uint64_t> parse_count(const std::string& text);
// "2" or "0.5"; not negative.
std::optional<double> parse_seconds(const std::string& text);

}  // namespace kvrm::cli
