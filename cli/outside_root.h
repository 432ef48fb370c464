// Files that kvrm opens by itself must not lie where a guest can make their names mean something else.
#pragma once

#include <string>

#include "kvrm/result.h"

namespace kvrm::cli {

// The full path, without links, of what an option's path names or will name. An error says what to do: it lies below
// the root (an empty one is none).
Result<std::string> file_outside_root(const std::string& option, const std::string& path, const std::string& root);
// The same for a folder, which must not hold the root either.
Result<std::string> folder_outside_root(const std::string& option, const std::string& path, const std::string& root);

}  // namespace kvrm::cli
