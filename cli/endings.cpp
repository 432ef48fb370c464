#include "endings.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "formatted.h"

namespace kvrm::cli {

std::string ending_of(const JobResult& result) {
  if (!result.error.empty()) return "not started";
  switch (result.stop.reason) {
    case StopReason::kExit: return formatted("exit {}", result.stop.exit_status);
    case StopReason::kSignal: return formatted("signal {} ({})", result.stop.signal, strsignal(result.stop.signal));
    default: return to_string(result.stop.reason);
  }
}

std::string Endings::text() const {
  std::vector<std::pair<std::string, std::uint64_t>> sorted(counts_.begin(), counts_.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  std::string text;
  for (const auto& [ending, count] : sorted) text += formatted("{}{} {}", text.empty() ? "" : ", ", count, ending);
  return text;
}

}  // namespace kvrm::cli
