// Names that other commands show, too.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kvrm/symbols.h"

namespace kvrm::cli {

// `index_file`: empty for the index that comes with kvrm.
Result<std::vector<RoutineName>> guess_names(std::span<const std::uint8_t> elf, const std::string& index_file);

}  // namespace kvrm::cli
