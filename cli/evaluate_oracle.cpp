// kvrm models evaluate oracle: what prefetching would do for programs, by policies, counters and the network.
#include "evaluate_oracle.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "commands.h"
#include "formatted.h"
#include "kvrm/inspect.h"
#include "kvrm/models.h"
#include "kvrm/prefetch.h"
#include "options.h"
#include "streams.h"

namespace kvrm::cli {
namespace {

using Json = nlohmann::ordered_json;

// A program of the corpus (training/oracle_corpus.py).
struct Planned {
  std::string name;
  bool large;  // more memory than the large cache has
  Program program;
  PrefetchLimits limits;
};

Result<std::vector<Planned>> read_plan(const OracleArguments& arguments) try {
  const std::filesystem::path folder = arguments.corpus;
  const std::string plan = (folder / "plan.json").string();
  auto text = read_file(plan);
  if (!text) return Error{text.error().message + "; training/oracle_corpus.py makes a corpus"};
  std::vector<Planned> programs;
  const Json all = Json::parse(text->begin(), text->end());
  for (const Json& one : all.at(arguments.training ? "training" : "evaluated")) {
    Planned planned{one.at("name"), one.value("large", false), {}, {}};
    if (!arguments.only.empty() && arguments.only != planned.name) continue;
    planned.program.path = (folder / std::string(one.at("guest"))).string();
    planned.program.args = one.value("args", std::vector<std::string>{});
    if (one.value("files", false)) planned.program.root = (folder / "files").string();
    planned.limits.skip = one.value("skip", planned.limits.skip);
    planned.limits.accesses = one.value("accesses", planned.limits.accesses);
    planned.limits.warm_up = one.value("warm_up", planned.limits.warm_up);
    programs.push_back(std::move(planned));
  }
  if (programs.empty()) return Error{plan + ": it has no such program"};
  return programs;
} catch (const Json::exception& error) {
  return Error{arguments.corpus + "/plan.json: " + error.what()};
}

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

// How many times as fast; `inferences`: the lane waits for them.
double gain(const PrefetchReport& report, const PrefetchScore& score, bool inferences) {
  const std::uint64_t cycles = score.cycles + (inferences ? score.inference_cycles : 0);
  return cycles == 0 ? 1 : static_cast<double>(report.scores.front().cycles) / static_cast<double>(cycles);
}

void print_report(const Planned& planned, const PrefetchReport& report) {
  const PrefetchScore& none = report.scores.front();
  print("{}: {:.1f} M instructions, {:.1f} M loads; misses {:.2f} M of 32 KB, {:.2f} M of 50 MB\n", planned.name,
        static_cast<double>(report.instructions) / 1e6, static_cast<double>(report.loads) / 1e6,
        static_cast<double>(report.misses) / 1e6, static_cast<double>(none.far_misses) / 1e6);
  for (const PrefetchScore& score : report.scores) {
    if (&score == &none) continue;
    print("  {:<13}{:>7.1f}{:>7.1f}  {:>7.1f}{:>7.1f}{:>7.1f}  {:>8.3f}{:>8.3f}  {:>8.1f}{:>7}\n", score.scheme,
          share(score.covered, report.misses), share(score.covered, score.issued),
          share(score.far_covered, none.far_misses), share(score.far_covered, score.fetched),
          share(score.in_time, score.far_covered), gain(report, score, false), gain(report, score, true),
          share(score.overhead, score.cycles), score.inferences);
  }
}

Json report_json(const Planned& planned, const PrefetchReport& report) {
  Json json = {{"program", planned.name}, {"large", planned.large},  {"instructions", report.instructions},
               {"loads", report.loads},   {"stores", report.stores}, {"misses", report.misses},
               {"schemes", Json::array()}};
  for (const PrefetchScore& score : report.scores) {
    json["schemes"].push_back({{"scheme", score.scheme},
                               {"issued", score.issued},
                               {"covered", score.covered},
                               {"fetched", score.fetched},
                               {"far_covered", score.far_covered},
                               {"in_time", score.in_time},
                               {"far_misses", score.far_misses},
                               {"cycles", score.cycles},
                               {"overhead", score.overhead},
                               {"inferences", score.inferences},
                               {"inference_cycles", score.inference_cycles},
                               {"modelled_gain", gain(report, score, false)},
                               {"modelled_gain_with_inference", gain(report, score, true)}});
  }
  return json;
}

// Geometric means over programs of one kind.
void print_means(const std::vector<std::pair<bool, PrefetchReport>>& reports, bool large) {
  std::vector<std::pair<double, double>> logs;
  std::size_t count = 0;
  const PrefetchReport* any = nullptr;
  for (const auto& [is_large, report] : reports) {
    if (is_large != large) continue;
    any = &report;
    ++count;
    logs.resize(report.scores.size());
    for (std::size_t i = 0; i < logs.size(); ++i) {
      logs[i].first += std::log(gain(report, report.scores[i], false));
      logs[i].second += std::log(gain(report, report.scores[i], true));
    }
  }
  if (!any) return;
  print("{}, {} programs, geometric mean of the modelled gain\n", large ? "Out of cache" : "Ordinary", count);
  const auto mean = [&](double sum) { return std::exp(sum / static_cast<double>(count)); };
  for (std::size_t i = 1; i < logs.size(); ++i) {
    print("  {:<13}{:>39}{:>8.3f}{:>8.3f}\n", any->scores[i].scheme, "", mean(logs[i].first), mean(logs[i].second));
  }
}

Result<void> write_windows(const std::string& folder, const std::vector<Planned>& programs) {
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  for (const Planned& planned : programs) {
    PrefetchLimits limits = planned.limits;
    limits.warm_up = 0;
    auto records = record_misses(planned.program, limits);
    if (!records) return records.error();
    const std::string path = (std::filesystem::path(folder) / (planned.name + ".f32")).string();
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(records->data()),
               static_cast<std::streamsize>(records->size() * sizeof(float)));
    if (!file.flush()) return Error{"models evaluate: cannot write " + path};
  }
  return {};
}

Result<std::vector<WeightsPointer>> networks_of(const OracleArguments& arguments) {
  std::vector<WeightsPointer> networks;
  for (const std::string& file : arguments.weights) {
    if (file == "none") return std::vector<WeightsPointer>{};
    auto weights = load_weights(file);
    if (!weights) return weights.error();
    networks.push_back(std::move(*weights));
  }
  if (!networks.empty()) return networks;
  auto own = built_in_weights("memory-oracle");
  if (!own) return own.error();
  return std::vector<WeightsPointer>{*own};
}

int evaluate_all(const OracleArguments& arguments, const std::vector<Planned>& programs, int level,
                 const std::vector<WeightsPointer>& networks) {
  Json json = {{"model", "oracle"}, {"measured", false}, {"programs", Json::array()}};
  std::vector<std::pair<bool, PrefetchReport>> reports;
  if (!arguments.json) {
    print("Prefetching by a model of caches, not measured. In percent but for gains and counts\n\n");
    print("  {:<13}{:>14}  {:>14}{:>7}  {:>8}{:>8}  {:>8}{:>7}\n", "", "32 KB", "50 MB", "in", "gain", "and", "over-",
          "asked");
    print("  {:<13}{:>7}{:>7}  {:>7}{:>7}{:>7}  {:>8}{:>8}  {:>8}\n", "", "cover", "right", "cover", "right", "time",
          "", "asking", "head");
  }
  for (const Planned& planned : programs) {
    PrefetchLimits limits = planned.limits;
    limits.level = level;
    auto report = evaluate_prefetch(planned.program, limits, networks);
    if (!report) return host_error(report.error().message);
    if (arguments.json) {
      json["programs"].push_back(report_json(planned, report.value()));
    } else {
      print_report(planned, report.value());
    }
    reports.emplace_back(planned.large, std::move(report.value()));
  }
  if (arguments.json) {
    print("{}\n", json.dump());
    return 0;
  }
  print("\n");
  print_means(reports, true);
  print_means(reports, false);
  return 0;
}

}  // namespace

int evaluate_oracle(const OracleArguments& arguments) {
  auto programs = read_plan(arguments);
  if (!programs) return host_error(programs.error().message);
  if (!arguments.windows.empty()) {
    const auto written = write_windows(arguments.windows, programs.value());
    return written ? 0 : host_error(written.error().message);
  }
  int level = -1;
  if (!arguments.level.empty()) {
    const auto given = parse_count(arguments.level);
    if (!given || *given > 7) return host_error("models evaluate: --level takes 0 to 7, not '" + arguments.level + "'");
    level = static_cast<int>(*given);
  }
  const auto networks = networks_of(arguments);
  if (!networks) return host_error(networks.error().message);
  return evaluate_all(arguments, programs.value(), level, networks.value());
}

}  // namespace kvrm::cli
