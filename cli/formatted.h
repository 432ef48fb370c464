// fmt::format, whose code is in one file only: fmt is used as headers, and each file that calls it compiles it again.
#pragma once

#include <fmt/core.h>

#include <string>
#include <utility>

namespace kvrm::cli {

std::string format_arguments(fmt::string_view format, fmt::format_args arguments);

template <class... Arguments>
std::string formatted(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  return format_arguments(format, fmt::make_format_args(arguments...));
}

}  // namespace kvrm::cli
