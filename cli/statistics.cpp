#include "statistics.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

#include "dispatch_report.h"
#include "formatted.h"
#include "streams.h"
#include "units.h"

namespace kvrm::cli {
namespace {

using Json = nlohmann::ordered_json;

// Instructions that the device executed: those that ran once for several jobs count once.
double executed(const Statistics& statistics) {
  return static_cast<double>(statistics.instructions - statistics.shared_instructions);
}

void add_tiers(const Statistics& statistics, Json& json) {
  for (const Tier& tier : statistics.tiers) {
    Json& one = json["tiers"][tier.name];
    one = {{"instructions", tier.instructions}, {"seconds", tier.seconds}};
    if (tier.name == "interp") continue;
    one["regions"] = tier.regions;
    one["words"] = tier.words;
    one["distinct_words"] = tier.distinct_words;
    one["overlap"] = tier.overlap();
    one["translation_seconds"] = tier.translation_seconds;
  }
}

void add_loops(const LoopStatistics& loops, Json& json) {
  if (loops == LoopStatistics{}) return;
  json["loops"] = {{"found", loops.found},
                   {"proposed", loops.proposed},
                   {"proved", loops.proved},
                   {"left_out", loops.left_out},
                   {"refused", loops.refused},
                   {"instructions", loops.instructions},
                   {"proof_seconds", loops.proof_seconds}};
  if (loops.ranked == 0) return;
  json["loops"].update({{"ranked", loops.ranked},
                        {"guessed", loops.guessed},
                        {"guessed_right", loops.guessed_right},
                        {"ranking_seconds", loops.ranking_seconds}});
}

void add_facts(const RunFacts& facts, Json& json) {
  if (facts.stop) {
    json["stop_reason"] = to_string(facts.stop->reason);
    json["exit_status"] = facts.stop->exit_status;
    json["signal"] = facts.stop->signal;
    json["pc"] = facts.stop->pc;
  }
  if (facts.fleet) {
    json["inputs"] = facts.fleet->inputs;
    json["inputs_before"] = facts.fleet->inputs_before;
    json["devices"] = facts.fleet->devices;
    json["ranks"] = facts.fleet->ranks;
  }
  if (facts.endings) json["endings"] = facts.endings->counts();
  if (!facts.lane_dispatch) return;
  Json& lanes = json["lane_dispatch"] = Json::object();
  for (const auto& [lane, dispatch] : *facts.lane_dispatch) lanes[std::to_string(lane)] = dispatch_json(dispatch);
}

Json as_json(const Statistics& statistics, const RunFacts& facts) {
  Json json = {
      {"instructions", statistics.instructions},
      {"shared_instructions", statistics.shared_instructions},
      {"warp_instructions", statistics.warp_instructions},
      {"seconds", statistics.seconds},
      {"ips", statistics.seconds > 0 ? executed(statistics) / statistics.seconds : 0},
      {"device", statistics.device},
      {"engine", statistics.engine},
      {"lanes", facts.lanes},
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
  add_tiers(statistics, json);
  add_loops(statistics.loops, json);
  if (!statistics.windows_given_up.empty()) json["windows_given_up"] = statistics.windows_given_up;
  if (!statistics.launches_reason.empty()) json["launches_reason"] = statistics.launches_reason;
  if (statistics.floats) {
    json["fp_fast"] = statistics.floats->fast;
    json["fp_slow"] = statistics.floats->slow;
  }
  if (statistics.warp_instructions != 0) json["active_lanes"] = statistics.active_lanes();
  add_facts(facts, json);
  json["dispatch"] = dispatch_json(statistics.dispatch);
  return json;
}

// Lines of a name and a value below a title. A group without lines prints nothing.
class Group {
 public:
  explicit Group(std::string_view title) : title_(title) {}
  void line(std::string_view name, std::string_view value) {
    text_ += formatted("  {:<{}}{}\n", name, kStatisticsColumn - 2, value);
  }
  void count(std::string_view name, std::uint64_t value) {
    if (value != 0) line(name, whole_number(value));
  }
  std::string text() const { return text_.empty() ? "" : title_ + "\n" + text_; }

 private:
  std::string title_, text_;
};

std::string counted(std::uint64_t count, const char* one, const char* many) {
  return formatted("{} {}", whole_number(count), count == 1 ? one : many);
}

std::string calls_text(const Statistics& statistics) {
  std::string text = whole_number(statistics.system_calls);
  if (statistics.in_kernel_calls != 0)
    text += formatted(", {} in the kernel", whole_number(statistics.in_kernel_calls));
  if (statistics.mailbox_calls != 0) text += formatted(", {} by mailbox", whole_number(statistics.mailbox_calls));
  return text;
}

std::string stop_text(const Stop& stop) {
  switch (stop.reason) {
    case StopReason::kExit: return formatted("exit {}", stop.exit_status);
    case StopReason::kSignal:
      return formatted("signal {} ({}) at pc {:#x}", stop.signal, strsignal(stop.signal), stop.pc);
    default: return formatted("{} at pc {:#x}", to_string(stop.reason), stop.pc);
  }
}

std::string fleet_text(const RunFacts::Fleet& fleet) {
  std::string text = whole_number(fleet.inputs);
  if (fleet.inputs_before != 0) text += formatted(", {} of them before", whole_number(fleet.inputs_before));
  if (fleet.devices > 1) text += formatted(", on {} devices", fleet.devices);
  if (fleet.ranks > 1) text += formatted(", from {} ranks", fleet.ranks);
  return text;
}

std::string run_text(const Statistics& statistics, const RunFacts& facts) {
  Group group("run");
  if (facts.stop) group.line("ended", stop_text(*facts.stop));
  if (facts.fleet) group.line("inputs", fleet_text(*facts.fleet));
  if (facts.endings && !facts.endings->counts().empty()) group.line("ended", facts.endings->text());
  group.line("machine",
             formatted("{}, {}, {}", statistics.device, statistics.engine, counted(facts.lanes, "lane", "lanes")));
  group.line("instructions", whole_number(statistics.instructions));
  if (statistics.shared_instructions != 0) {
    group.line("shared",
               formatted("{} of them ran once for several lanes", whole_number(statistics.shared_instructions)));
  }
  if (facts.lanes > 1 && statistics.warp_instructions != 0)
    group.line("active lanes", formatted("{:.1f} an instruction", statistics.active_lanes()));
  group.line("time", seconds_text(statistics.seconds));
  if (statistics.seconds > 0) group.line("rate", rate_text(executed(statistics), statistics.seconds));
  if (statistics.launches > 1) {
    const std::string& reason = statistics.launches_reason;
    group.line("launches", whole_number(statistics.launches) + (reason.empty() ? "" : ": " + reason));
  }
  if (statistics.system_calls != 0) group.line("system calls", calls_text(statistics));
  if (statistics.private_bytes != 0) group.line("memory", bytes_text(statistics.private_bytes));
  for (const auto& [reason, count] : statistics.windows_given_up) {
    group.line("no window", formatted("{}: {}", counted(count, "guest", "guests"), reason));
  }
  return group.text();
}

std::string code_text(const Statistics& statistics) {
  Group group("code");
  group.count("words decoded", statistics.decoded_words);
  group.count("pages dropped", statistics.code_invalidations);
  if (statistics.floats && statistics.floats->fast + statistics.floats->slow != 0) {
    group.line("floating point", formatted("{} fast, {} slow", whole_number(statistics.floats->fast),
                                           whole_number(statistics.floats->slow)));
  }
  return group.text();
}

std::string translator_text(const Statistics& statistics) {
  Group group("translator");
  const bool has_translated = std::ranges::any_of(statistics.tiers, [](const Tier& tier) { return tier.regions != 0; });
  if (statistics.regions != 0) {
    std::string regions = whole_number(statistics.regions);
    if (statistics.cached_regions != 0)
      regions += formatted(", {} from the cache", whole_number(statistics.cached_regions));
    group.line("regions", regions);
  }
  group.count("words", statistics.region_words);
  if (statistics.translation_seconds > 0) {
    std::string time = seconds_text(statistics.translation_seconds);
    if (statistics.link_seconds > 0) time += formatted(", {} of it linking", seconds_text(statistics.link_seconds));
    group.line("time", time);
  }
  for (const Tier& tier : statistics.tiers) {
    if (!has_translated || tier.instructions == 0) continue;
    const auto instructions = static_cast<double>(tier.instructions);
    std::string value = formatted("about {} instructions in {}, {}", short_number(instructions),
                                  seconds_text(tier.seconds), rate_text(instructions, tier.seconds));
    if (tier.name == "quick") {
      value +=
          formatted("; {} pages translated in {}", whole_number(tier.regions), seconds_text(tier.translation_seconds));
    } else if (tier.overlap() > 0) {
      value += formatted("; a word is in {:.2f} regions", tier.overlap());
    }
    group.line("in " + tier.name, value);
  }
  return group.text();
}

std::string loops_text(const Statistics& statistics) {
  const LoopStatistics& loops = statistics.loops;
  Group group("loops");
  if (loops == LoopStatistics{}) return {};
  group.line("found",
             formatted("{}, {} proposed, {} proved, {} left out", whole_number(loops.found),
                       whole_number(loops.proposed), whole_number(loops.proved), whole_number(loops.left_out)));
  for (const auto& [reason, count] : loops.refused) group.line("refused", formatted("{}: {}", count, reason));
  const auto all = static_cast<double>(std::max<std::uint64_t>(statistics.instructions, 1));
  group.line("in bulk steps", formatted("{} instructions, {:.1f} %", whole_number(loops.instructions),
                                        100 * static_cast<double>(loops.instructions) / all));
  if (loops.ranked != 0) {
    group.line("ranked", formatted("{} loops in {:.1f} ms; right about {} of {} that were proved or refused",
                                   whole_number(loops.ranked), 1e3 * loops.ranking_seconds,
                                   whole_number(loops.guessed_right), whole_number(loops.guessed)));
  }
  return group.text();
}

}  // namespace

void print_statistics(const Statistics& statistics, const RunFacts& facts, bool as_json_object) {
  if (as_json_object) {
    say("{}\n", as_json(statistics, facts).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return;
  }
  std::string text = run_text(statistics, facts) + code_text(statistics) + translator_text(statistics) +
                     loops_text(statistics) + dispatch_text(statistics.dispatch, "dispatch");
  if (facts.lane_dispatch) {
    for (const auto& [lane, dispatch] : *facts.lane_dispatch)
      text += dispatch_text(dispatch, formatted("lane {}", lane));
  }
  say_text(text);
}

}  // namespace kvrm::cli
