// The loops of a machine: what was proposed, and what the prover said. Shared by its lanes.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "accelerate/extract.h"
#include "accelerate/prover.h"

namespace kvrm::accelerate {

// What is known of a loop.
struct LoopFacts {
  LoopCode code;
  std::shared_ptr<const ProvenLoop> proven;  // null: refused
  std::string refusal;
  u64 samples = 0;       // times its branch back was seen
  u64 steps = 0;         // bulk steps of at least an iteration
  u64 iterations = 0;    // in them
  u64 left_out = 0;      // lanes that found its bulk steps too short to pay
  u64 instructions() const { return iterations * code.words.size(); }
};

// Safe for any number of lanes.
class Loops {
 public:
  // Null, and why, if this build cannot prove loops.
  static std::shared_ptr<Loops> create(std::string& error);

  // The proven loop for this code; null if it was refused. Each code is proved once.
  std::shared_ptr<const ProvenLoop> prove(const LoopCode& code);
  // What a lane has seen and done since it last reported.
  void report(const LoopCode& code, u64 samples, u64 steps, u64 iterations, bool left_out);
  // Branches back that lanes saw, and the instructions of their traces.
  void add_found(u64 count, u64 sampled) {
    found_.fetch_add(count, std::memory_order_relaxed);
    sampled_.fetch_add(sampled, std::memory_order_relaxed);
  }
  u64 sampled() const { return sampled_.load(std::memory_order_relaxed); }
  u64 found() const { return found_.load(std::memory_order_relaxed); }
  // Loops that were proposed, the most frequent first.
  std::vector<LoopFacts> facts() const;

 private:
  Loops() = default;

  using Key = std::pair<u64, std::vector<u32>>;
  static constexpr std::size_t kMost = 1024;  // a guest can make any number of loops
  mutable std::mutex mutex_;
  std::unique_ptr<Extractor> extractor_;  // made for the first loop
  std::map<Key, LoopFacts> loops_;
  std::atomic<u64> found_ = 0, sampled_ = 0;
};

}  // namespace kvrm::accelerate
