// Numbers for people.
#pragma once

#include <cstdint>
#include <string>

namespace kvrm::cli {

std::string short_number(double value);         // "12.3 M", "4.56 G", "950"
std::string rate_text(double count, double seconds);  // "1.36 G/s"; nothing for no time
std::string seconds_text(double seconds);       // "12.3 ms", "4.56 s", "2 min 5 s"
std::string bytes_text(std::uint64_t bytes);    // "4.0 MiB"
std::string whole_number(std::uint64_t value);  // "1,048,576"

}  // namespace kvrm::cli
