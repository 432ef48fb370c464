// The embedded bitcode of rows.cpp, for this host, for lanes on it that share one memory, and for GPUs.
#pragma once

#include <string_view>

namespace kvrm::translator {

std::string_view rows_bitcode();
std::string_view shared_rows_bitcode();
std::string_view gpu_rows_bitcode();
// The table of stencils (stencils/format.h).
std::string_view stencils_table();
// Changes with all of them.
std::string_view rows_version();

}  // namespace kvrm::translator
