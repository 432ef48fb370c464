#include "accelerate/loops.h"

#include <algorithm>

namespace kvrm::accelerate {

std::shared_ptr<Loops> Loops::create(std::string& error) {
  return Extractor::is_there(error) ? std::shared_ptr<Loops>(new Loops) : nullptr;
}

std::shared_ptr<const ProvenLoop> Loops::prove(const LoopCode& code) {
  const std::lock_guard lock(mutex_);
  const auto found = loops_.find({code.head, code.words});
  if (found != loops_.end()) return found->second.proven;
  if (loops_.size() >= kMost) return nullptr;
  LoopFacts& facts = loops_[{code.head, code.words}];
  facts.code = code;
  if (!extractor_) extractor_ = Extractor::create(facts.refusal);
  if (!extractor_) return nullptr;
  std::optional<Iteration> iteration = extractor_->extract(code, facts.refusal);
  if (!iteration) return nullptr;
  std::optional<Proof> proof = accelerate::prove(*iteration, facts.refusal);
  if (!proof) return nullptr;
  std::string error;
  if (!check(*iteration, *proof, error)) {
    facts.refusal = "the checker: " + error;
    return nullptr;
  }
  facts.proven = std::make_shared<const ProvenLoop>(std::move(*iteration), std::move(*proof));
  return facts.proven;
}

void Loops::report(const LoopCode& code, u64 samples, u64 steps, u64 iterations, bool left_out) {
  const std::lock_guard lock(mutex_);
  const auto found = loops_.find({code.head, code.words});
  if (found == loops_.end()) return;
  found->second.samples += samples;
  found->second.steps += steps;
  found->second.iterations += iterations;
  found->second.left_out += left_out;
}

std::vector<LoopFacts> Loops::facts() const {
  const std::lock_guard lock(mutex_);
  std::vector<LoopFacts> all;
  for (const auto& [key, facts] : loops_) all.push_back(facts);
  std::ranges::sort(all, [](const LoopFacts& a, const LoopFacts& b) {
    return a.samples != b.samples ? a.samples > b.samples : a.code.head < b.code.head;
  });
  return all;
}

}  // namespace kvrm::accelerate
