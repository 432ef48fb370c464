#include "statistics.h"

#include <algorithm>

#include "dispatch_report.h"
#include "streams.h"

namespace kvrm::cli {
namespace {

std::string as_text(const nlohmann::ordered_json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{:.6f}", value.get<double>());
  return value.dump();
}

// A line has one value: {"interp": {"seconds": 1}} becomes tier_interp_seconds.
void flatten_tiers(nlohmann::ordered_json& json) {
  const nlohmann::ordered_json tiers = json.value("tiers", nlohmann::ordered_json::object());
  json.erase("tiers");
  for (const auto& [tier, values] : tiers.items()) {
    for (const auto& [name, value] : values.items()) json[fmt::format("tier_{}_{}", tier, name)] = value;
  }
}

}  // namespace

void print_statistics(const Statistics& statistics, std::uint64_t lanes, bool as_json,
                      const nlohmann::ordered_json& more) {
  // What ran once for several jobs counts once.
  const auto ran = static_cast<double>(statistics.instructions - statistics.shared_instructions);
  const double ips = statistics.seconds > 0 ? ran / statistics.seconds : 0;
  nlohmann::ordered_json json = {
      {"instructions", statistics.instructions},
      {"shared_instructions", statistics.shared_instructions},
      {"seconds", statistics.seconds},
      {"ips", ips},
      {"device", statistics.device},
      {"engine", statistics.engine},
      {"lanes", lanes},
      {"launches", statistics.launches},
      {"system_calls", statistics.system_calls},
      {"in_kernel_calls", statistics.in_kernel_calls},
      {"mailbox_calls", statistics.mailbox_calls},
      {"decoded_words", statistics.decoded_words},
      {"code_invalidations", statistics.code_invalidations},
      {"regions", statistics.regions},
      {"cached_regions", statistics.cached_regions},
      {"region_words", statistics.region_words},
      {"translation_seconds", statistics.translation_seconds},
      {"link_seconds", statistics.link_seconds},
      {"private_bytes", statistics.private_bytes},
  };
  for (const Tier& tier : statistics.tiers) {
    nlohmann::ordered_json& one = json["tiers"][tier.name];
    one = {{"instructions", tier.instructions}, {"seconds", tier.seconds}};
    if (tier.name == "interp") continue;
    one["regions"] = tier.regions;
    one["words"] = tier.words;
    one["distinct_words"] = tier.distinct_words;
    one["overlap"] = tier.overlap();
    one["translation_seconds"] = tier.translation_seconds;
  }
  if (!statistics.launches_reason.empty()) json["launches_reason"] = statistics.launches_reason;
  if (statistics.floats) {
    json["fp_fast"] = statistics.floats->fast;
    json["fp_slow"] = statistics.floats->slow;
  }
  json.update(more);
  if (as_json) {
    json["dispatch"] = dispatch_json(statistics.dispatch);
    say("{}\n", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return;
  }
  flatten_tiers(json);
  std::size_t width = 0;
  for (const auto& [name, value] : json.items()) width = std::max(width, name.size() + 2);
  std::string text;
  for (const auto& [name, value] : json.items()) text += fmt::format("{:<{}}{}\n", name, width, as_text(value));
  say_text(text + dispatch_text(statistics.dispatch, width));
}

}  // namespace kvrm::cli
