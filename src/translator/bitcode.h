// The embedded bitcode of rows.cpp, for this host, for lanes on it that share one memory or
// have a window, for the prover of loops, and for GPUs.
#pragma once

#include <string_view>

namespace kvrm::translator {

std::string_view rows_bitcode();
std::string_view shared_rows_bitcode();
std::string_view window_rows_bitcode();
std::string_view loop_rows_bitcode();
std::string_view gpu_rows_bitcode();
// The tables of stencils (stencils/format.h), for lanes without and with a window.
std::string_view stencils_table();
std::string_view window_stencils_table();
// Changes with all of them.
std::string_view rows_version();

}  // namespace kvrm::translator
