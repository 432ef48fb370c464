// kvrm models evaluate: how good a model is beside simpler ones, on programs that it has not seen.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "commands.h"
#include "evaluate_loops.h"
#include "evaluate_oracle.h"
#include "formatted.h"
#include "kvrm/inspect.h"
#include "kvrm/symbols.h"
#include "options.h"
#include "streams.h"
#include "symbols.h"

namespace kvrm::cli {
namespace {

using Json = nlohmann::ordered_json;

struct EvaluateArguments {
  std::string model;
  std::string corpus;
  OracleArguments oracle;
  std::string cases;
  std::string shortest = "1";
  std::string threshold;
  bool calibration = false;
  bool json = false;
};

// The libraries of a corpus (training/symbols_corpus.py), by release and role.
struct Corpus {
  std::vector<std::string> releases, titles;
  std::map<std::pair<std::string, std::string>, std::vector<StaticLibrary>> libraries;

  std::vector<StaticLibrary> of(std::size_t release, const std::vector<std::string>& roles) const {
    std::vector<StaticLibrary> result;
    for (const std::string& role : roles) {
      const auto found = libraries.find({releases[release], role});
      if (found != libraries.end()) result.insert(result.end(), found->second.begin(), found->second.end());
    }
    return result;
  }
};

StaticLibrary library_in(const std::filesystem::path& folder, const std::string& name) {
  StaticLibrary library{name, {}, {}};
  std::error_code ignored;
  for (const auto& file : std::filesystem::directory_iterator(folder, ignored)) {
    if (file.path().extension() == ".a") library.files.push_back(file.path().string());
  }
  std::ranges::sort(library.files);
  std::ifstream(folder / "version") >> library.version;
  return library;
}

Result<Corpus> read_corpus(const std::string& folder) try {
  const std::string plan = (std::filesystem::path(folder) / "plan.json").string();
  auto text = read_file(plan);
  if (!text) return Error{text.error().message + "; training/symbols_corpus.py makes a corpus"};
  const auto json = Json::parse(text->begin(), text->end());
  Corpus corpus;
  for (const auto& [release, title] : json.at("releases").items()) {
    corpus.releases.push_back(release);
    corpus.titles.push_back(title);
    for (const auto& [name, facts] : json.at("libraries").items()) {
      StaticLibrary library = library_in(std::filesystem::path(folder) / release / name, name);
      if (!library.files.empty()) corpus.libraries[{release, facts.at("role")}].push_back(std::move(library));
    }
  }
  if (corpus.releases.size() != 2) return Error{plan + ": it needs two releases"};
  return corpus;
} catch (const Json::exception& error) {
  return Error{folder + "/plan.json: " + error.what()};
}

// One comparison: an index of some libraries is asked about others.
struct Part {
  std::string title;
  NamingReport report;
};

Result<std::vector<Part>> evaluate_parts(const Corpus& corpus, bool calibration, double threshold, unsigned shortest) {
  const std::string builds = corpus.titles[0] + " to " + corpus.titles[1];
  const auto known = corpus.of(0, {"index", "evaluated"});
  using Libraries = std::vector<StaticLibrary>;
  std::vector<std::tuple<std::string, Libraries, Libraries>> plan;
  if (calibration) {
    const auto asked = corpus.of(1, {"calibration"});
    plan = {{"calibration, " + builds, corpus.of(0, {"calibration"}), asked},
            {"calibration, libraries that the index does not have", known, asked}};
  } else {
    plan = {{builds, known, corpus.of(1, {"index", "evaluated"})},
            {"libraries that the index does not have", known, corpus.of(1, {"absent"})},
            {"glibc to musl", known, corpus.of(1, {"other libc"})}};
  }
  std::vector<Part> parts;
  for (const auto& [title, index, asked] : plan) {
    auto report = evaluate_naming(index, asked, threshold, shortest);
    if (!report) return report.error();
    parts.push_back({title, std::move(*report)});
  }
  return parts;
}

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

NamingScore total(const std::vector<NamingScore>& scores) {
  NamingScore sum;
  sum.library = "all";
  for (const NamingScore& one : scores) {
    for (const auto member : {&NamingScore::routines, &NamingScore::top1, &NamingScore::exact, &NamingScore::exact_top1,
                              &NamingScore::unlike, &NamingScore::unlike_top1, &NamingScore::by_exact,
                              &NamingScore::by_head, &NamingScore::by_rows, &NamingScore::named,
                              &NamingScore::named_right, &NamingScore::absent, &NamingScore::absent_named}) {
      sum.*member += one.*member;
    }
  }
  return sum;
}

void print_part(const Part& part) {
  print("{}\n{:<11}{:>9}{:>8}{:>9}{:>10}{:>8}  {:>8}{:>8}{:>8}{:>8}  {:>7}{:>7}  {:>7}{:>7}\n", part.title, "library",
        "routines", "top-1", "3-grams", "16 words", "exact", "same", "right", "others", "unlike", "named", "right",
        "absent", "named");
  auto scores = part.report.scores;
  scores.push_back(total(scores));
  for (const NamingScore& one : scores) {
    print(
        "{:<11}{:>9}{:>8.1f}{:>9.1f}{:>10.1f}{:>8.1f}  {:>8}{:>8.1f}{:>8.1f}{:>8.1f}  {:>7.1f}{:>7.1f}  "
        "{:>7}{:>7.1f}\n",
        one.library, one.routines, share(one.top1, one.routines), share(one.by_rows, one.routines),
        share(one.by_head, one.routines), share(one.by_exact, one.routines), one.exact,
        share(one.exact_top1, one.exact), share(one.top1 - one.exact_top1, one.routines - one.exact),
        share(one.unlike_top1, one.unlike), share(one.named, one.routines), share(one.named_right, one.named),
        one.absent, share(one.absent_named, one.absent));
  }
  print("\n");
}

Json part_json(const Part& part) {
  Json json = {{"title", part.title}, {"libraries", Json::array()}};
  for (const NamingScore& one : part.report.scores) {
    json["libraries"].push_back({{"library", one.library},
                                 {"routines", one.routines},
                                 {"top1", one.top1},
                                 {"by_rows", one.by_rows},
                                 {"by_head", one.by_head},
                                 {"by_exact", one.by_exact},
                                 {"exact", one.exact},
                                 {"exact_top1", one.exact_top1},
                                 {"unlike", one.unlike},
                                 {"unlike_top1", one.unlike_top1},
                                 {"named", one.named},
                                 {"named_right", one.named_right},
                                 {"absent", one.absent},
                                 {"absent_named", one.absent_named}});
  }
  return json;
}

// Every routine, a JSON object in a line.
bool write_cases(const std::string& path, const std::vector<Part>& parts) {
  std::ofstream file(path);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (const NamingCase& one : parts[i].report.cases) {
      const Json json = {{"part", i},
                         {"library", one.library},
                         {"name", one.name},
                         {"guess", one.guess},
                         {"absent", one.absent},
                         {"right", one.right},
                         {"exact", one.exact},
                         {"content", one.content},
                         {"score", one.score},
                         {"margin", one.margin},
                         {"length", one.length},
                         {"confidence", one.confidence}};
      file << json.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
    }
  }
  return static_cast<bool>(file.flush());
}

int evaluate(const EvaluateArguments& arguments) {
  if (arguments.model == "oracle") {
    OracleArguments oracle = arguments.oracle;
    oracle.corpus = arguments.corpus.empty() ? "build/oracle" : arguments.corpus;
    oracle.json = arguments.json;
    return evaluate_oracle(oracle);
  }
  if (arguments.model == "loops") {
    const auto& weights = arguments.oracle.weights;
    if (weights.size() > 1) return host_error("models evaluate loops: one --weights, not several");
    return evaluate_loops(arguments.corpus.empty() ? "build/loops" : arguments.corpus,
                          weights.empty() ? "" : weights.front(), arguments.json);
  }
  if (arguments.model != "patterns") {
    return host_error("models evaluate: there are 'loops', 'oracle' and 'patterns', not '" + arguments.model + "'");
  }
  const auto corpus = read_corpus(arguments.corpus.empty() ? "build/symbols" : arguments.corpus);
  if (!corpus) return host_error(corpus.error().message);
  const auto shortest = parse_count(arguments.shortest);
  if (!shortest || *shortest > 0xffffffff) {
    return host_error("models evaluate: --shortest takes a number, not '" + arguments.shortest + "'");
  }
  const auto threshold = parse_threshold("models evaluate", arguments.threshold);
  if (!threshold) return host_error(threshold.error().message);
  const auto parts =
      evaluate_parts(corpus.value(), arguments.calibration, threshold.value(), static_cast<unsigned>(*shortest));
  if (!parts) return host_error(parts.error().message);
  if (!arguments.cases.empty() && !write_cases(arguments.cases, parts.value())) {
    return host_error("models evaluate: cannot write " + arguments.cases);
  }
  if (arguments.json) {
    Json json = {{"model", "patterns"}, {"threshold", threshold.value()}, {"parts", Json::array()}};
    for (const Part& part : parts.value()) json["parts"].push_back(part_json(part));
    print("{}\n", json.dump());
    return 0;
  }
  print("Names of routines, in percent but for counts; named: confidence {:.2f} at least\n\n", threshold.value());
  for (const Part& part : parts.value()) print_part(part);
  return 0;
}

}  // namespace

void add_evaluate(CommandSpec models, Command& chosen) {
  auto arguments = std::make_shared<EvaluateArguments>();
  const CommandSpec command = models.add_command("evaluate", "Measure a model beside simpler ones, on unseen programs");
  command
      .option("MODEL", arguments->model,
              "What to evaluate: loops (the loop detector), oracle (prefetching), patterns (names of routines)")
      .required();
  command.option("--corpus", arguments->corpus,
                 "The folder that training/loops_corpus.py, oracle_corpus.py or symbols_corpus.py made (default: "
                 "build/loops, build/oracle, build/symbols)");
  command.flag("--calibration", arguments->calibration, "patterns: the libraries that the confidence is calibrated on");
  command.option("--threshold", arguments->threshold, "patterns: the least confidence of a name, 0 to 1")
      .show_default(formatted("{}", kNameConfidence));
  command.option("--shortest", arguments->shortest, "patterns: do not count routines of fewer instructions")
      .show_default();
  command.option("--cases", arguments->cases,
                 "patterns: write every routine and its guess to a file, as lines of JSON");
  command.repeated(
      "--weights", arguments->oracle.weights,
      "loops, oracle: weights of the network, a .npy file; may be repeated with oracle (default: those that "
      "come with kvrm)");
  command.option("--level", arguments->oracle.level,
                 "oracle: log2 of the distance of policies that have a fixed one (default: their own)");
  command.option("--only", arguments->oracle.only, "oracle: one program of the corpus");
  command.flag("--training", arguments->oracle.training, "oracle: the programs that the network learned from");
  command.option("--windows", arguments->oracle.windows,
                 "oracle: write what the network learns from into a folder, and evaluate nothing");
  command.flag("--json", arguments->json, "As one JSON object");
  command.footer(
      "patterns: an index of one release is asked about the next one. top-1: the first guess is right. Baselines: "
      "nearest by\n"
      "3-grams of opcodes, the first 16 words, exact code. same: routines whose code is the same in both; others: the\n"
      "top-1 of those whose code is not; unlike: of those whose sequence of opcodes no known routine has. absent:\n"
      "routines whose names the index does not have.\n"
      "oracle: a model, not a measurement. Covered misses and right prefetches of a cache of 32 KB, then of 50 MB and\n"
      "those that arrived in time; how many times as fast, without and with waiting for the network; the share of "
      "time\n"
      "that prefetching takes; how often the network was asked.\n"
      "loops: how right the network and the tree are about type, counter and trips, and how long it takes, in each\n"
      "order of proofs, to prove 90 % of what can be proved. Takes a minute or more; an idle host gives better times.");
  command.on_parsed([arguments, &chosen] { chosen = [arguments] { return evaluate(*arguments); }; });
}

}  // namespace kvrm::cli
