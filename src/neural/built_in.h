// The weights that are part of the library.
#pragma once

#include <string_view>

namespace kvrm::neural {

// The description of the built-in weights whose file has this checksum; empty if there are none.
std::string_view built_in_description(std::string_view checksum);
// The text of the decision trees over loops (loop_tree.h).
std::string_view built_in_loop_tree();

}  // namespace kvrm::neural
