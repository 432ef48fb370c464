// How words were routed, as people and programs read it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "kvrm/types.h"

namespace kvrm::cli {

// Rows are the table's classes, columns the network's.
std::string confusion_text(const std::array<std::array<std::uint64_t, 7>, 7>& confusion);
// Names have `width` columns.
std::string dispatch_text(const DispatchStatistics& statistics, std::size_t width);
nlohmann::ordered_json dispatch_json(const DispatchStatistics& statistics);

}  // namespace kvrm::cli
