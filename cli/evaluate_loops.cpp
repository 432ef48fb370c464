#include "evaluate_loops.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "commands.h"
#include "formatted.h"
#include "kvrm/inspect.h"
#include "kvrm/loops.h"
#include "kvrm/models.h"
#include "streams.h"

namespace kvrm::cli {
namespace {

using Json = nlohmann::ordered_json;

// As the proposer beside the interpreter: how often a branch back is seen, and how often for each time the loop ends.
constexpr std::uint64_t kLeastSamples = 24, kLeastTrips = 8;
constexpr std::size_t kLongest = 24;  // words that the filters let pass
constexpr double kGoal = 0.9;  // of the provable weight
constexpr int kTimes = 3;  // that a candidate is proved and guessed; the fastest counts
constexpr std::size_t kMostOfLibrary = 400;  // loops of a library that are asked about, evenly spread

struct Candidate {
  Loop loop;
  LoopProof proof;
  LoopGuess network, tree;
  bool passes = false;  // the filters
  double weight = 0;  // instructions in the loop
};

// Whether the proposer would propose it.
bool is_hot(const Loop& loop) { return loop.samples >= kLeastSamples && loop.samples >= kLeastTrips * loop.entries; }

struct GuestProgram {
  std::string name;
  std::vector<Candidate> loops = {};  // all that ran
  double instructions = 0;

  std::vector<const Candidate*> candidates() const {
    std::vector<const Candidate*> hot;
    for (const Candidate& one : loops) {
      if (is_hot(one.loop)) hot.push_back(&one);
    }
    return hot;
  }
};

class Models {
 public:
  static Result<Models> create(WeightsPointer weights) {
    auto prover = LoopProver::create();
    if (!prover) return prover.error();
    auto network = LoopGuesser::create(LoopRanking::kNetwork, std::move(weights));
    if (!network) return network.error();
    auto tree = LoopGuesser::create(LoopRanking::kTree);
    if (!tree) return tree.error();
    return Models(std::move(*prover), std::move(*network), std::move(*tree));
  }
  LoopProver prover;
  LoopGuesser network, tree;

 private:
  Models(LoopProver a, LoopGuesser b, LoopGuesser c)
      : prover(std::move(a)), network(std::move(b)), tree(std::move(c)) {}
};

// Without a call, a return, a branch to a register or a system call, and not too long.
bool passes_filters(const std::vector<std::uint32_t>& words) {
  return words.size() <= kLongest && std::ranges::none_of(words, [](std::uint32_t word) {
           return word >> 26 == 0x25 || word >> 25 == 0x6b || word >> 24 == 0xd4;
         });
}

Loop loop_of(const Json& json) {
  Loop loop;
  loop.address = json.at("address");
  loop.words = json.at("words").get<std::vector<std::uint32_t>>();
  loop.samples = json.value("iterations", std::uint64_t{0});
  loop.entries = json.value("entries", std::uint64_t{0});
  for (const Json& one : json.value("runs", Json::array())) {
    LoopRun& run = loop.runs.emplace_back();
    run.first = one.at("first");
    if (one.contains("second")) run.second = one.at("second").get<decltype(run.first)>();
    run.left = one.at("left");
  }
  return loop;
}

Candidate settled(Models& models, const Json& json) {
  Candidate one;
  one.loop = loop_of(json);
  one.weight = static_cast<double>(one.loop.samples * one.loop.words.size());
  one.proof = models.prover.prove(one.loop);
  one.network = models.network.guess(one.loop);
  one.tree = models.tree.guess(one.loop);
  for (int i = 1; i < kTimes && is_hot(one.loop); ++i) {
    one.proof.seconds = std::min(one.proof.seconds, models.prover.prove(one.loop).seconds);
    one.network.seconds = std::min(one.network.seconds, models.network.guess(one.loop).seconds);
    one.tree.seconds = std::min(one.tree.seconds, models.tree.guess(one.loop).seconds);
  }
  one.passes = passes_filters(one.loop.words);
  return one;
}

// The loops of a file; none if it is not there.
std::vector<Json> read_lines(const std::filesystem::path& path) {
  std::vector<Json> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(Json::parse(line));
  return lines;
}

// --- how right they are --------------------------------------------------------------------------------------------

struct Accuracy {
  std::uint64_t loops = 0, type = 0, provable = 0, none = 0, counters = 0, counter = 0, runs = 0, within = 0;
  double error = 0;

  void add(const Candidate& one, const LoopGuess& guess) {
    const auto best = static_cast<unsigned>(std::ranges::max_element(guess.types) - guess.types.begin());
    ++loops;
    type += best == one.proof.type;
    provable += (best != 0) == one.proof.proved;
    none += !one.proof.proved;
    counters += one.proof.proved;
    counter += one.proof.proved && guess.counter == one.proof.counter;
  }
  void add_trips(const LoopRun& run, const LoopGuess& guess) {
    const double off = std::abs(guess.trips_log2 - std::log2(1.0 + static_cast<double>(run.left)));
    ++runs;
    within += off <= 1;
    error += off;
  }
};

struct Scores {
  std::string title;
  Accuracy network = {}, tree = {};

  void add(const Candidate& one) {
    network.add(one, one.network);
    tree.add(one, one.tree);
    if (one.loop.runs.empty()) return;
    network.add_trips(one.loop.runs[0], one.network);
    tree.add_trips(one.loop.runs[0], one.tree);
  }
};

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

Json accuracy_json(const Accuracy& one) {
  return {{"loops", one.loops},
          {"type", percent(one.type, one.loops)},
          {"provable", percent(one.provable, one.loops)},
          {"counter", percent(one.counter, one.counters)},
          {"runs", one.runs},
          {"trips_within_2x", percent(one.within, one.runs)},
          {"trips_error_log2", one.runs == 0 ? 0 : one.error / static_cast<double>(one.runs)}};
}

void print_accuracy(const std::vector<Scores>& all) {
  print("How right they are, in percent; trips: within a factor of 2, and the mean error in powers of 2\n\n");
  print("{:<22}{:<9}{:>7}{:>8}{:>10}{:>9}{:>8}{:>7}\n", "", "", "loops", "type", "provable", "counter", "trips",
        "error");
  for (const Scores& scores : all) {
    const std::pair<const char*, const Accuracy*> rows[] = {{"network", &scores.network}, {"tree", &scores.tree}};
    for (const auto& [name, one] : rows) {
      print("{:<22}{:<9}{:>7}{:>8.1f}{:>10.1f}{:>9.1f}", scores.title, name, one->loops, percent(one->type, one->loops),
            percent(one->provable, one->loops), percent(one->counter, one->counters));
      if (one->runs != 0)
        print("{:>8.1f}{:>7.2f}", percent(one->within, one->runs), one->error / static_cast<double>(one->runs));
      print("\n");
    }
    const double none = percent(scores.network.none, scores.network.loops);
    print("{:<22}{:<9}{:>7}{:>8.1f}{:>10.1f}\n", scores.title, "\"none\"", scores.network.loops, none, none);
  }
  print("\n");
}

// --- what they cost ------------------------------------------------------------------------------------------------

// An order of proofs, and what it takes to find it.
struct Order {
  const char* name;
  std::function<double(const Candidate&)> gain;  // the greatest first
  std::function<double(const Candidate&)> seconds;  // of asking
};

const std::vector<Order>& all_orders() {
  const auto nothing = [](const Candidate&) { return 0.0; };
  static const std::vector<Order> kOrders = {
      {"hottest", [](const Candidate& one) { return one.weight; }, nothing},
      {"filters", [](const Candidate& one) { return one.weight * (one.passes ? 1 : 1e-9); }, nothing},
      {"tree", [](const Candidate& one) { return one.weight * one.tree.chance(); },
       [](const Candidate& one) { return one.tree.seconds; }},
      {"network", [](const Candidate& one) { return one.weight * one.network.chance(); },
       [](const Candidate& one) { return one.network.seconds; }},
      {"network, free", [](const Candidate& one) { return one.weight * one.network.chance(); }, nothing},
      {"known", [](const Candidate& one) { return one.weight * (one.proof.proved ? 1 : 0); }, nothing},
  };
  return kOrders;
}

// Seconds until so much of the provable weight is proved, and the number of proofs.
std::pair<double, std::size_t> time_to_goal(std::vector<const Candidate*> loops, const Order& order, double goal) {
  double seconds = 0, weight = 0;
  for (const Candidate* one : loops) seconds += order.seconds(*one);
  std::ranges::sort(loops, [&](const Candidate* a, const Candidate* b) {
    const double one = order.gain(*a), other = order.gain(*b);
    return one != other ? one > other : a->loop.address < b->loop.address;
  });
  std::size_t proofs = 0;
  for (const Candidate* one : loops) {
    if (weight >= goal) break;
    seconds += one->proof.seconds;
    weight += one->proof.proved ? one->weight : 0;
    ++proofs;
  }
  return {seconds, proofs};
}

struct Costs {
  std::string name;
  std::size_t candidates = 0, provable = 0;
  double share = 0;  // of the program's instructions, provable
  std::vector<double> seconds = {};  // of each order
  std::vector<std::size_t> proofs = {};
  double everything = 0;
};

Costs costs_of(const GuestProgram& program) {
  Costs costs{.name = program.name};
  const auto loops = program.candidates();
  double weight = 0;
  for (const Candidate* one : loops) {
    costs.everything += one->proof.seconds;
    costs.provable += one->proof.proved;
    weight += one->proof.proved ? one->weight : 0;
  }
  costs.candidates = loops.size();
  costs.share = program.instructions == 0 ? 0 : weight / program.instructions;
  for (const Order& order : all_orders()) {
    const auto [seconds, proofs] = time_to_goal(loops, order, kGoal * weight);
    costs.seconds.push_back(weight == 0 ? 0 : seconds);
    costs.proofs.push_back(weight == 0 ? 0 : proofs);
  }
  return costs;
}

void print_costs(const std::vector<Costs>& all) {
  print(
      "Milliseconds until 90 % of the provable weight is proved, inference included. everything: to prove or refuse\n"
      "all candidates; network, free: as if inference took no time; known: as if one knew. share: provable, of all\n"
      "instructions. Programs without a provable candidate count for 'everything' only.\n\n");
  print("{:<20}{:>6}{:>9}{:>8}{:>11}", "program", "loops", "provable", "share", "everything");
  for (const Order& order : all_orders()) print("{:>14}", order.name);
  print("\n");
  Costs sum{.name = "all", .seconds = std::vector<double>(all_orders().size()), .proofs = {}};
  for (const Costs& one : all) {
    print("{:<20}{:>6}{:>9}{:>7.1f}%{:>11.2f}", one.name, one.candidates, one.provable, 100 * one.share,
          1e3 * one.everything);
    for (const double seconds : one.seconds) print("{:>14}", one.provable ? formatted("{:.2f}", 1e3 * seconds) : "");
    print("\n");
    sum.candidates += one.candidates;
    sum.provable += one.provable;
    sum.everything += one.everything;
    for (std::size_t i = 0; i < one.seconds.size(); ++i) sum.seconds[i] += one.seconds[i];
  }
  print("{:<20}{:>6}{:>9}{:>8}{:>11.2f}", sum.name, sum.candidates, sum.provable, "", 1e3 * sum.everything);
  for (const double seconds : sum.seconds) print("{:>14.2f}", 1e3 * seconds);
  print("\n\n");
}

Json costs_json(const Costs& one) {
  Json json = {{"program", one.name},
               {"candidates", one.candidates},
               {"provable", one.provable},
               {"share", one.share},
               {"everything", one.everything}};
  for (std::size_t i = 0; i < all_orders().size(); ++i) {
    json[all_orders()[i].name] = {{"seconds", one.seconds[i]}, {"proofs", one.proofs[i]}};
  }
  return json;
}

// --- the whole -----------------------------------------------------------------------------------------------------

struct Evaluation {
  std::vector<Scores> scores;
  std::vector<Costs> costs;
  double network = 0, tree = 0, proof = 0, refusal = 0;  // seconds, on average, of programs' loops

  void add_times(const std::vector<GuestProgram>& programs) {
    double loops = 0, proved = 0;
    for (const GuestProgram& program : programs) {
      for (const Candidate& one : program.loops) {
        ++loops;
        proved += one.proof.proved;
        network += one.network.seconds;
        tree += one.tree.seconds;
        (one.proof.proved ? proof : refusal) += one.proof.seconds;
      }
    }
    network /= std::max(1.0, loops), tree /= std::max(1.0, loops);
    proof /= std::max(1.0, proved), refusal /= std::max(1.0, loops - proved);
  }
};

Result<Evaluation> evaluate_corpus(Models& models, const std::filesystem::path& corpus) {
  const std::string plan_path = (corpus / "plan.json").string();
  auto text = read_file(plan_path);
  if (!text) return Error{text.error().message + "; training/loops_corpus.py makes a corpus"};
  const Json plan = Json::parse(text->begin(), text->end());
  Evaluation result;
  Scores every{.title = "programs"}, hot{.title = "hot in programs"};
  std::vector<GuestProgram> programs;
  for (const std::string name : plan.at("programs").at("evaluated")) {
    GuestProgram program{.name = name};
    for (const Json& json : read_lines(corpus / "runs" / (name + ".jsonl"))) {
      program.loops.push_back(settled(models, json));
      program.instructions = json.at("instructions");
    }
    if (program.loops.empty()) continue;
    for (const Candidate& one : program.loops) every.add(one);
    for (const Candidate* one : program.candidates()) hot.add(*one);
    result.costs.push_back(costs_of(program));
    programs.push_back(std::move(program));
  }
  if (programs.empty()) return Error{corpus.string() + ": it has no runs of the evaluated programs"};
  result.scores = {std::move(every), std::move(hot)};
  result.add_times(programs);
  for (const std::string library : plan.at("libraries").at("evaluated")) {
    Scores scores{.title = library};
    for (const std::string release : plan.at("releases")) {
      const std::vector<Json> lines = read_lines(corpus / "static" / (release + "-" + library + ".jsonl"));
      const std::size_t each = lines.size() / kMostOfLibrary + 1;
      for (std::size_t i = 0; i < lines.size(); i += each) {
        const Candidate one = settled(models, lines[i]);
        if (one.loop.words.size() > 1) scores.add(one);  // others are branches that the linker fills in
      }
    }
    if (scores.network.loops != 0) result.scores.push_back(std::move(scores));
  }
  return result;
}

Json evaluation_json(const Evaluation& found) {
  Json json = {{"model", "loops"}, {"accuracy", Json::array()}, {"programs", Json::array()}};
  for (const Scores& one : found.scores) {
    json["accuracy"].push_back({{"on", one.title},
                                {"network", accuracy_json(one.network)},
                                {"tree", accuracy_json(one.tree)},
                                {"none", percent(one.network.none, one.network.loops)}});
  }
  for (const Costs& one : found.costs) json["programs"].push_back(costs_json(one));
  json["seconds"] = {
      {"network", found.network}, {"tree", found.tree}, {"proof", found.proof}, {"refusal", found.refusal}};
  return json;
}

}  // namespace

int evaluate_loops(const std::string& corpus, const std::string& weights, bool as_json) try {
  WeightsPointer loaded;
  if (!weights.empty()) {
    auto found = load_weights(weights);
    if (!found) return host_error(found.error().message);
    loaded = std::move(*found);
  }
  auto models = Models::create(std::move(loaded));
  if (!models) return host_error("models evaluate: " + models.error().message);
  auto found = evaluate_corpus(models.value(), corpus);
  if (!found) return host_error(found.error().message);
  if (as_json) {
    print("{}\n", evaluation_json(found.value()).dump());
    return 0;
  }
  print_accuracy(found->scores);
  print_costs(found->costs);
  print("On average: a proof {:.0f} microseconds, a refusal {:.0f}, the network {:.0f}, the tree {:.1f}\n",
        1e6 * found->proof, 1e6 * found->refusal, 1e6 * found->network, 1e6 * found->tree);
  return 0;
} catch (const Json::exception& error) {
  return host_error(corpus + ": " + error.what());
}

}  // namespace kvrm::cli
