// How words were routed, as people and programs read it.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "kvrm/types.h"

namespace kvrm::cli {

// Rows are the table's classes, columns the network's.
std::string confusion_text(const std::array<std::array<std::uint64_t, 7>, 7>& confusion);
// Values of printed statistics begin in this column.
inline constexpr std::size_t kStatisticsColumn = 18;
// Classes without words are left out.
std::string dispatch_text(const DispatchStatistics& statistics, const std::string& title);
nlohmann::ordered_json dispatch_json(const DispatchStatistics& statistics);

}  // namespace kvrm::cli
