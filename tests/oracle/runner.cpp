#include "runner.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <thread>

#include "corpus.h"

namespace kvrm::oracle {
namespace {

// Mismatches of one kind that are worth reading; the rest are counted.
constexpr uint64_t kMismatchesPerKind = 3;

// The first difference without its numbers: "x1: QEMU 0x1, kvrm 0x2" and "x7: ..." are one kind.
std::string kind_of(const std::vector<std::string>& lines) {
  const std::string& line = lines[0];
  const bool in_words = line.starts_with("ends with") || line.starts_with("allocation");
  std::string kind;
  for (const char letter : in_words ? line : line.substr(0, line.find(": QEMU"))) {
    const bool digit = letter >= '0' && letter <= '9';
    if (!digit)
      kind += letter;
    else if (kind.empty() || kind.back() != '#')
      kind += '#';
  }
  return kind.starts_with("memory at") ? "memory" : kind;
}

struct UnitReport {
  Summary summary;
  std::string packed;
};

std::string label(const Table& table, const Group& group) {
  if (group.row != kNoRow) return table.row(group.row).name;
  return group.words.size() == 1 ? "(no row)" : "(sequence)";
}

class Worker {
 public:
  Worker(const Table& table, const Memory& memory, const RunOptions& options)
      : table_(table), memory_(memory), options_(options) {
    if (!options.against_itself) subject_ = Subject::create(options.machine, memory, error_);
    if (!options.against_cpu || !error_.empty()) return;
    Options cpu;
    cpu.device = Device::kCpu;
    cpu_ = Subject::create(cpu, memory, error_);
  }

  UnitReport check(Unit unit) {
    UnitReport report;
    if (!error_.empty()) {
      report.summary.errors.push_back(error_);
      return report;
    }
    std::vector<Subject::Ran> expected;
    if (cpu_) {
      expected = cpu_->run(unit.groups);
    } else if (unit.outcomes.empty()) {
      Qemu::Batch batch = options_.qemu.run(unit.groups, memory_);
      if (!batch.error.empty()) {
        report.summary.errors.push_back(batch.error + name_of_case(unit, batch.finished));
        return report;
      }
      unit.outcomes = std::move(batch.outcomes);
    }
    if (!cpu_) expected = from_qemu(unit.outcomes);
    std::vector<Subject::Ran> rans =
        subject_ ? subject_->run(unit.groups) : from_qemu(options_.qemu.run(unit.groups, memory_).outcomes);
    std::size_t next = 0;
    for (const Group& group : unit.groups) {
      for (const Input& input : group.inputs) {
        judge(group, input, expected[next], std::move(rans.at(next)), report.summary);
        ++next;
      }
    }
    if (subject_) {
      report.summary.regions = subject_->regions() - regions_;
      regions_ += report.summary.regions;
    }
    if (!options_.corpus_out.empty()) report.packed = pack(table_, unit);
    return report;
  }

 private:
  static std::vector<Subject::Ran> from_qemu(const std::vector<Outcome>& outcomes) {
    std::vector<Subject::Ran> rans;
    for (const Outcome& outcome : outcomes) rans.push_back({outcome, 0, {}});
    return rans;
  }

  // The case a QEMU that gave up was running, as a replay string.
  std::string name_of_case(const Unit& unit, uint64_t finished) const {
    for (const Group& group : unit.groups) {
      if (finished < group.inputs.size()) {
        return "\n  in " + encode({options_.memory_seed, group.words, group.inputs[finished]});
      }
      finished -= group.inputs.size();
    }
    return "";
  }

  void judge(const Group& group, const Input& input, const Subject::Ran& expected, Subject::Ran&& ran,
             Summary& summary) const {
    const bool strict = cpu_ || !subject_;
    auto lines = strict ? differences(expected, ran) : differences(table_, group, expand(input), expected.outcome, ran);
    Count& row = summary.rows[label(table_, group)];
    if (lines.empty()) {
      ++row.passed;
      ++summary.total.passed;
      return;
    }
    ++row.failed;
    ++summary.total.failed;
    if (++summary.kinds[kind_of(lines)] > kMismatchesPerKind) return;
    Mismatch mismatch = {group, expected.outcome, std::move(ran), std::move(lines)};
    mismatch.group.inputs = {input};
    summary.mismatches.push_back(std::move(mismatch));
  }

  const Table& table_;
  const Memory& memory_;
  const RunOptions& options_;
  std::unique_ptr<Subject> subject_;
  std::unique_ptr<Subject> cpu_;  // instead of QEMU
  uint64_t regions_ = 0;          // of the subject, so far
  std::string error_;
};

void merge(Summary& into, Summary&& from) {
  into.total.passed += from.total.passed;
  into.total.failed += from.total.failed;
  into.regions += from.regions;
  for (const auto& [row, count] : from.rows) {
    into.rows[row].passed += count.passed;
    into.rows[row].failed += count.failed;
  }
  for (Mismatch& mismatch : from.mismatches) {
    const bool seen_enough = into.kinds[kind_of(mismatch.differences)] >= kMismatchesPerKind;
    if (!seen_enough && into.mismatches.size() < kMismatchesKept) into.mismatches.push_back(std::move(mismatch));
  }
  for (const auto& [kind, count] : from.kinds) into.kinds[kind] += count;
  for (std::string& error : from.errors) {
    if (into.errors.size() < kMismatchesKept) into.errors.push_back(std::move(error));
  }
}

}  // namespace

Summary run(const Table& table, const Memory& memory, const Source& source, const RunOptions& options) {
  const std::size_t count = source.units();
  std::vector<UnitReport> reports(count);
  std::atomic<std::size_t> next = 0, done = 0;
  const auto work = [&] {
    Worker worker(table, memory, options);
    for (std::size_t at = next++; at < count; at = next++) {
      reports[at] = worker.check(source.unit(at));
      const std::size_t finished = ++done;
      if (options.progress) std::fprintf(stderr, "\r%zu of %zu units", finished, count);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, options.jobs); ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  if (options.progress) std::fprintf(stderr, "\r\033[K");

  Summary summary;
  std::vector<std::string> packed;
  for (UnitReport& report : reports) {
    merge(summary, std::move(report.summary));
    packed.push_back(std::move(report.packed));
  }
  if (!options.corpus_out.empty()) {
    const std::string error = write_corpus(options.corpus_out, options.memory_seed, packed);
    if (!error.empty()) summary.errors.push_back(error);
  }
  return summary;
}

}  // namespace kvrm::oracle
