// The loops of a machine: what was proposed, and what the prover said. Shared by its lanes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "accelerate/extract.h"
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
double processor_seconds();  // of this thread

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
  u64 left_out = 0;      // lanes that found its bulk steps too short to pay
  u64 entries = 0;       // profiled: runs through it
  std::vector<LoopRun> runs;  // profiled: the first of them
  u64 instructions() const { return iterations * code.words.size(); }
};

// What a ranking was asked for and said, and the time for it and for the prover.
struct RankingFacts {
  u64 ranked = 0, guessed = 0, right = 0;
  double ranking_seconds = 0, proof_seconds = 0;
};

class Ranking;

// Safe for any number of lanes.
class Loops {
 public:
  Loops() = default;
  // Null, and why, if this build cannot prove loops. `ranking`: what chooses which of a lane's hot loops are proved
  // first; null: those that were seen most often.
  static std::shared_ptr<Loops> create(std::string& error, std::shared_ptr<const Ranking> ranking = nullptr);

  const Ranking* ranking() const { return ranking_.get(); }
  // The ranking was asked about a loop.
  void add_ranked(double seconds);
  // What it expected of one, and what the prover said.
  void add_guess(bool expected, bool proved);

  // The proven loop for this code; null if it was refused. Each code is proved once.
  std::shared_ptr<const ProvenLoop> prove(const LoopCode& code);
  // What a lane has seen and done since it last reported.
  void report(const LoopCode& code, u64 samples, u64 steps, u64 iterations, bool left_out);
  // A loop that was counted; nothing is proved.
  void add_profile(LoopFacts facts);
  // Branches back that lanes saw, and the instructions of their traces.
  void add_found(u64 count, u64 sampled) {
    found_.fetch_add(count, std::memory_order_relaxed);
    sampled_.fetch_add(sampled, std::memory_order_relaxed);
  }
  u64 sampled() const { return sampled_.load(std::memory_order_relaxed); }
  u64 found() const { return found_.load(std::memory_order_relaxed); }
  // Loops that were proposed, the most frequent first.
  std::vector<LoopFacts> facts() const;
  RankingFacts ranking_facts() const;

 private:
  void settle(LoopFacts& facts);

  using Key = std::pair<u64, std::vector<u32>>;
  static constexpr std::size_t kMost = 1024;  // a guest can make any number of loops
  mutable std::mutex mutex_;
  std::unique_ptr<Extractor> extractor_;  // made for the first loop
  std::map<Key, LoopFacts> loops_;
  std::shared_ptr<const Ranking> ranking_;
  RankingFacts ranked_;
  std::atomic<u64> found_ = 0, sampled_ = 0;
};

}  // namespace kvrm::accelerate
