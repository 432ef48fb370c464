// The embedded bitcode of rows.cpp.
#pragma once

#include <string_view>

namespace kvrm::translator {

std::string_view rows_bitcode();
// Changes with it.
std::string_view rows_version();

}  // namespace kvrm::translator
