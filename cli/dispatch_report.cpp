#include "dispatch_report.h"

#include <nlohmann/json.hpp>

#include "formatted.h"
#include "kvrm/models.h"
#include "units.h"

namespace kvrm::cli {
namespace {

constexpr unsigned kClasses = 7;

std::uint64_t agreed(const DispatchStatistics& statistics, std::uint64_t& asked) {
  std::uint64_t right = 0;
  for (unsigned i = 0; i < kClasses; ++i) {
    right += statistics.confusion[i][i];
    for (unsigned j = 0; j < kClasses; ++j) asked += statistics.confusion[i][j];
  }
  return right;
}

}  // namespace

std::string confusion_text(const std::array<std::array<std::uint64_t, 7>, 7>& confusion) {
  std::string text = formatted("  {:<17}", "table \\ network");
  for (unsigned j = 0; j < kClasses; ++j) text += formatted("{:>16}", class_name(j));
  text += '\n';
  for (unsigned i = 0; i < kClasses; ++i) {
    text += formatted("  {:<17}", class_name(i));
    for (unsigned j = 0; j < kClasses; ++j) text += formatted("{:>16}", confusion[i][j]);
    text += '\n';
  }
  return text;
}

std::string dispatch_text(const DispatchStatistics& statistics, const std::string& title) {
  std::string text = formatted("{:<{}}{}{}", title, kStatisticsColumn, to_string(statistics.mode),
                               statistics.every ? ", decided for every instruction that runs" : "");
  if (!statistics.weights.empty()) text += formatted(", {}", statistics.weights);
  if (statistics.mode == Dispatch::kNeural && !statistics.verified) text += ", UNVERIFIED";
  text += '\n';
  for (unsigned i = 0; i < kClasses; ++i) {
    if (statistics.routed[i] == 0) continue;
    text += formatted("  {:<{}}{}\n", class_name(i), kStatisticsColumn - 2, whole_number(statistics.routed[i]));
  }
  if (statistics.mode != Dispatch::kHybrid) return text;
  std::uint64_t asked = 0;
  const std::uint64_t right = agreed(statistics, asked);
  text += formatted("  the network agreed on {} of {} words\n", right, asked);
  return text + confusion_text(statistics.confusion);
}

nlohmann::ordered_json dispatch_json(const DispatchStatistics& statistics) {
  nlohmann::ordered_json json = {{"mode", to_string(statistics.mode)}, {"every", statistics.every}};
  if (!statistics.weights.empty()) {
    json["weights"] = statistics.weights;
    json["verified"] = statistics.verified;
  }
  for (unsigned i = 0; i < kClasses; ++i) json["routed"][std::string(class_name(i))] = statistics.routed[i];
  if (statistics.mode != Dispatch::kHybrid) return json;
  std::uint64_t asked = 0;
  json["agreed"] = agreed(statistics, asked);
  json["asked"] = asked;
  json["confusion"] = statistics.confusion;
  return json;
}

}  // namespace kvrm::cli
