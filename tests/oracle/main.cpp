// oracle: runs generated cases under QEMU and on our engines and compares everything bit for bit.
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

#include "corpus.h"
#include "runner.h"
#include "unpredictable.h"

namespace kvrm::oracle {
namespace {

struct Arguments {
  std::string mode = "rows";
  std::string table = KVRM_ORACLE_TABLE;
  std::string engine = "interp", device = "cpu", dispatch = "table", against = "qemu", tiers = "all";
  std::string replay, corpus_in;
  bool allocation = false, list_rules = false, json = false;
  Plan plan;
  RunOptions options;
};

void declare(CLI::App& app, Arguments& a) {
  app.add_option("mode", a.mode, "rows, sequences or sigill")->check(CLI::IsMember({"rows", "sequences", "sigill"}));
  app.add_option("--row", a.plan.rows, "only this row (may be repeated)");
  app.add_option("--words", a.plan.words, "words a row")->capture_default_str();
  app.add_option("--states", a.plan.states, "input states a word")->capture_default_str();
  app.add_option("--sequences", a.plan.sequences, "random sequences")->capture_default_str();
  app.add_option("--samples", a.plan.samples, "words for sigill")->capture_default_str();
  app.add_option("--seed", a.plan.seed, "of words, states and memory")->capture_default_str();
  app.add_option("--jobs", a.options.jobs, "threads")->capture_default_str();
  app.add_option("--tiers", a.tiers, "of the jit: all, quick or regions")
      ->check(CLI::IsMember({"all", "quick", "regions"}))
      ->capture_default_str();
  app.add_option("--engine", a.engine, "interp or jit")->check(CLI::IsMember({"interp", "jit"}))->capture_default_str();
  app.add_option("--device", a.device, "cpu or cuda")->check(CLI::IsMember({"cpu", "cuda"}))->capture_default_str();
  app.add_option("--dispatch", a.dispatch, "table, neural or hybrid")
      ->check(CLI::IsMember({"table", "neural", "hybrid"}))
      ->capture_default_str();
  app.add_option("--lanes", a.options.machine.lanes, "cases at a time, each on a lane of one machine")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--against", a.against, "qemu, or cpu: our own CPU device, which is compared in everything")
      ->check(CLI::IsMember({"qemu", "cpu"}))
      ->capture_default_str();
  app.add_option("--replay", a.replay, "one case, as a mismatch prints it");
  app.add_flag("--allocation", a.allocation, "with --replay: compare only whether the word is an instruction");
  app.add_option("--dump-corpus", a.options.corpus_out, "write cases and QEMU's outcomes to a file");
  app.add_option("--corpus", a.corpus_in, "take cases and outcomes from such a file; no QEMU needed");
  app.add_flag("--json", a.json, "counts as JSON on standard output");
  app.add_flag("--list-rules", a.list_rules, "print what is not compared, and why");
  app.add_flag("--self", a.options.against_itself, "compare QEMU with QEMU: a test of the harness");
  app.add_option("--qemu", a.options.qemu.program, "the QEMU program")->capture_default_str();
  app.add_option("--guest", a.options.qemu.guest, "the guest program")->capture_default_str();
  app.add_option("--table", a.table, "a64.json")->capture_default_str();
}

// One case from a replay string.
class ReplaySource : public Source {
 public:
  explicit ReplaySource(Group group) : group_(std::move(group)) {}
  std::size_t units() const override { return 1; }
  Unit unit(std::size_t) const override { return {{group_}, {}}; }

 private:
  Group group_;
};

std::unique_ptr<Source> make_source(Arguments& a, const Table& table, const Memory& memory) {
  if (a.mode == "sequences") return sequence_source(table, a.plan);
  if (a.mode == "sigill") return sigill_source(table, a.plan);
  return row_source(table, memory, a.plan);
}

void print_json(const Summary& summary) {
  nlohmann::json rows = nlohmann::json::object();
  for (const auto& [row, count] : summary.rows) rows[row] = {{"passed", count.passed}, {"failed", count.failed}};
  const nlohmann::json all = {{"passed", summary.total.passed},
                              {"failed", summary.total.failed},
                              {"errors", summary.errors},
                              {"regions", summary.regions},
                              {"rows", rows}};
  std::cout << all.dump(1) << "\n";
}

void print_text(const Table& table, const Summary& summary, const RunOptions& options, const std::string& command) {
  for (const Mismatch& mismatch : summary.mismatches) {
    std::cout << describe(table, mismatch, options.memory_seed, command) << "\n";
  }
  for (const auto& [row, count] : summary.rows) {
    if (count.failed) std::cout << row << ": " << count.failed << " of " << count.passed + count.failed << " failed\n";
  }
  for (const auto& [kind, count] : summary.kinds) std::cout << count << " times: " << kind << "\n";
  for (const std::string& error : summary.errors) std::cout << "ERROR " << error << "\n";
  std::cout << summary.total.passed << " passed, " << summary.total.failed << " failed";
  if (summary.regions != 0) std::cout << ", " << summary.regions << " regions";
  std::cout << "\n";
}

int fail(const std::string& message) {
  std::cerr << "oracle: " << message << "\n";
  return 2;
}

int run_all(Arguments& a, const std::string& command) {
  Table table;
  if (const std::string error = Table::load(a.table, table); !error.empty()) return fail(error);
  for (const std::string& row : a.plan.rows) {
    if (table.find(row) == kNoRow) return fail("no row " + row);
    if (!table.row(table.find(row)).implemented) return fail(row + " is not implemented");
  }
  a.options.memory_seed = a.plan.seed;
  a.options.machine.device = a.device == "cuda" ? Device::kCuda : Device::kCpu;
  // A lane needs two dozen pages; on a GPU the limit decides how much memory the lanes take, and others may run beside.
  a.options.machine.memory_limit = uint64_t{512} << 10;
  a.options.against_cpu = a.against == "cpu";
  a.options.machine.engine = a.engine == "jit" ? Engine::kJit : Engine::kInterpreter;
  a.options.machine.neural.dispatch = a.dispatch == "neural"   ? Dispatch::kNeural
                                      : a.dispatch == "hybrid" ? Dispatch::kHybrid
                                                               : Dispatch::kTable;
  a.options.machine.jit_threshold = 0;  // what is not translated is not tested
  a.options.machine.jit_tiers = a.tiers == "quick"     ? JitTiers::kQuick
                                : a.tiers == "regions" ? JitTiers::kRegions
                                                       : JitTiers::kAll;
  a.options.progress = isatty(2) != 0;

  std::unique_ptr<Source> source;
  Memory memory = {};
  if (!a.replay.empty()) {
    const auto replay = decode_replay(a.replay);
    if (!replay) return fail("not a case: " + a.replay);
    a.options.memory_seed = replay->memory_seed;
    Group group{kNoRow, a.allocation, replay->words, {replay->input}};
    if (group.words.size() == 1) group.row = table.decode(group.words[0]);
    source = std::make_unique<ReplaySource>(std::move(group));
    std::cout << describe_words(table, replay->words);
  } else if (!a.corpus_in.empty()) {
    std::string error;
    source = read_corpus(a.corpus_in, table, a.options.memory_seed, error);
    if (!source) return fail(error);
  }
  memory = make_memory(a.options.memory_seed);
  if (!source) source = make_source(a, table, memory);

  // Lanes are filled; one machine has them all.
  std::unique_ptr<Source> merged;
  const bool many = a.options.machine.lanes > 1;
  if (many) merged = merged_source(*source, a.options.machine.lanes);
  if (many || a.device == "cuda") a.options.jobs = 1;

  const Summary summary = run(table, memory, many ? *merged : *source, a.options);
  if (a.json) {
    print_json(summary);
  } else {
    print_text(table, summary, a.options, command);
  }
  const bool nothing_ran = summary.total.passed + summary.total.failed == 0;
  return summary.total.failed != 0 || !summary.errors.empty() || nothing_ran ? 1 : 0;
}

}  // namespace
}  // namespace kvrm::oracle

int main(int argc, char** argv) {
  kvrm::oracle::Arguments arguments;
  arguments.options.qemu.guest = KVRM_ORACLE_GUEST;
  CLI::App app("Compares the machine with qemu-aarch64, bit for bit.", "oracle");
  declare(app, arguments);
  CLI11_PARSE(app, argc, argv);
  if (arguments.list_rules) {
    std::cout << kvrm::oracle::list_rules();
    return 0;
  }
  // QEMU aborts on some words; its core dumps are of no use.
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  return kvrm::oracle::run_all(arguments, argv[0]);
}
