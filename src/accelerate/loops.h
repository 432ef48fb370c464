// The loops of a machine: what was proposed, and what the prover said. Shared by its lanes.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "accelerate/extract.h"
#include "accelerate/native.h"
#include "accelerate/prover.h"
#include "base/cpu.h"
#include "memory/freestanding/page.h"

namespace kvrm::accelerate {

// Whether a branch from here to there closes a loop that may be proposed: short, and within a page.
constexpr u64 kMostWords = 64;
constexpr bool is_branch_back(u64 from, u64 to) {
  return to <= from && from - to < kMostWords * 4 && (from ^ to) < memory::kPageSize;
}

double now_seconds();

// X0 to X30 and SP.
using LoopRegisters = std::array<std::uint64_t, 32>;
LoopRegisters registers_of(const Cpu& cpu);

// The beginning of one run through a loop.
struct LoopRun {
  LoopRegisters first{};                // at the head, when the branch back was first taken
  std::optional<LoopRegisters> second;  // and an iteration later
  u64 left = 0;                         // times the branch back was taken in the whole run
};

// What is known of a loop.
struct LoopFacts {
  LoopCode code;
  std::shared_ptr<const ProvenLoop> proven;  // null: refused
  std::string refusal;
  u64 samples = 0;       // times its branch back was seen
  u64 steps = 0;         // bulk steps of at least an iteration
  u64 iterations = 0;    // in them
  u64 instructions = 0;  // in them
  u64 left_out = 0;      // lanes that found that its bulk steps do not pay
  u64 entries = 0;       // profiled: runs through it
  std::vector<LoopRun> runs;  // profiled: the first of them
};

// What a lane has seen and done of a loop since it last reported.
struct LaneReport {
  u64 samples = 0, steps = 0, iterations = 0, instructions = 0;
  bool left_out = false;
};

// What a ranking was asked for and said, and the time that took.
struct RankingFacts {
  u64 ranked = 0, guessed = 0, right = 0;
  double ranking_seconds = 0;
};

class Ranking;

// How loops are proved.
struct ProverSettings {
  bool in_background = false;  // in a thread of its own, not on the lane's
  bool abandons = false;  // the destructor does not wait for a proof; the process must not exit()
  double share = 1;  // of the lanes' time that proofs may take
  // What chooses which of a lane's hot loops are proved first; null: those that were hot first.
  std::shared_ptr<const Ranking> ranking = nullptr;
  bool makes_code = true;  // of this host, where a proof allows it
};

// Safe for any number of lanes.
class Loops {
 public:
  // Null, and why, if this build cannot prove loops. The thread of the prover keeps it, until those that create() gave
  // it to have all let it go.
  static std::shared_ptr<Loops> create(std::string& error, const ProverSettings& settings = {});

  // Of loops that are counted and never proved.
  static std::shared_ptr<Loops> of_profiles() { return std::shared_ptr<Loops>(new Loops({})); }

  const Ranking* ranking() const { return settings_.ranking.get(); }
  // The ranking was asked about a loop.
  void add_ranked(double seconds);
  // What it expected of one, and what the prover said.
  void add_guess(bool expected, bool proved);

  // The proven loop for this code; null if it was refused. Each code is proved once.
  std::shared_ptr<const ProvenLoop> prove(const LoopCode& code);
  // The same, but none while that is not known: then a thread proves it.
  std::optional<std::shared_ptr<const ProvenLoop>> ask(const LoopCode& code);
  // Grows with each loop that the thread has settled.
  u64 answers() const { return answers_.load(std::memory_order_acquire); }
  void report(const LoopCode& code, const LaneReport& lane);
  // A loop that was counted; nothing is proved.
  void add_profile(LoopFacts facts);
  // Branches back that lanes saw, and the instructions of their traces.
  void add_found(u64 count, u64 sampled) {
    found_.fetch_add(count, std::memory_order_relaxed);
    sampled_.fetch_add(sampled, std::memory_order_relaxed);
  }
  bool proves_at_once() const { return settings_.share >= 1; }
  // The lanes have run so many more seconds. Whether another loop may be proved now.
  bool grants(double seconds);
  // Of processor time, spent proving.
  double seconds() const { return proving_seconds_.load(std::memory_order_relaxed); }
  u64 sampled() const { return sampled_.load(std::memory_order_relaxed); }
  u64 found() const { return found_.load(std::memory_order_relaxed); }
  // Loops that were proposed, the most frequent first.
  std::vector<LoopFacts> facts() const;
  RankingFacts ranking_facts() const;

 private:
  explicit Loops(const ProverSettings& settings) : settings_(settings) {}

  using Key = std::pair<u64, std::vector<u32>>;
  static constexpr std::size_t kMost = 1024;  // a guest can make any number of loops
  // What a proof and machine code take, roughly: the first one reads the bitcode.
  static constexpr double kFirstProof = 12e-3, kProof = 6e-3;
  struct Entry {
    LoopFacts facts;
    bool settled = false;
  };
  struct Settled {
    std::shared_ptr<const ProvenLoop> proven;
    std::string refusal;
  };
  Settled settle(const LoopCode& code);
  Settled settled(const LoopCode& code);  // with proving_
  void keep(const LoopCode& code, Settled settled);  // with mutex_
  void work();
  void close();

  const ProverSettings settings_;
  std::weak_ptr<Loops> self_;
  std::mutex proving_;  // before mutex_
  std::unique_ptr<Extractor> extractor_;  // made for the first loop; with proving_
  std::unique_ptr<NativeCompiler> compiler_;
  mutable std::mutex mutex_;
  std::map<Key, Entry> loops_;
  std::deque<LoopCode> asked_;
  std::condition_variable changed_;
  std::thread thread_;  // from the first question on
  bool over_ = false;
  RankingFacts ranked_;
  std::atomic<u64> answers_ = 0, found_ = 0, sampled_ = 0;
  std::atomic<double> run_seconds_ = 0, proving_seconds_ = 0, granted_seconds_ = 0;
};

}  // namespace kvrm::accelerate
