// Statistics as text and as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "kvrm/machine.h"

namespace kvrm::cli {

// As one JSON object on the last line of stderr, or as text; `more` is added to the object, or printed line by line.
void print_statistics(const Statistics& statistics, std::uint64_t lanes, bool as_json,
                      const nlohmann::ordered_json& more);

}  // namespace kvrm::cli
