#include "accelerate/loops.h"

#include <algorithm>
#include <ctime>
#include <utility>

namespace kvrm::accelerate {

namespace {

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

double now_seconds() { return seconds_of(CLOCK_MONOTONIC); }
double processor_seconds() { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }

std::shared_ptr<Loops> Loops::create(std::string& error, std::shared_ptr<const Ranking> ranking) {
  if (!Extractor::is_there(error)) return nullptr;
  auto loops = std::make_shared<Loops>();
  loops->ranking_ = std::move(ranking);
  return loops;
}

std::shared_ptr<const ProvenLoop> Loops::prove(const LoopCode& code) {
  const std::lock_guard lock(mutex_);
  const auto found = loops_.find({code.head, code.words});
  if (found != loops_.end()) return found->second.proven;
  if (loops_.size() >= kMost) return nullptr;
  LoopFacts& facts = loops_[{code.head, code.words}];
  facts.code = code;
  const double begin = now_seconds();
  settle(facts);
  ranked_.proof_seconds += now_seconds() - begin;
  return facts.proven;
}

void Loops::settle(LoopFacts& facts) {
  if (!extractor_) extractor_ = Extractor::create(facts.refusal);
  if (!extractor_) return;
  std::optional<Iteration> iteration = extractor_->extract(facts.code, facts.refusal);
  if (!iteration) return;
  std::optional<Proof> proof = accelerate::prove(*iteration, facts.refusal);
  if (!proof) return;
  std::string error;
  if (!check(*iteration, *proof, error)) {
    facts.refusal = "the checker: " + error;
    return;
  }
  facts.proven = std::make_shared<const ProvenLoop>(std::move(*iteration), std::move(*proof));
}

void Loops::add_ranked(double seconds) {
  const std::lock_guard lock(mutex_);
  ++ranked_.ranked;
  ranked_.ranking_seconds += seconds;
}

void Loops::add_guess(bool expected, bool proved) {
  const std::lock_guard lock(mutex_);
  ++ranked_.guessed;
  ranked_.right += expected == proved;
}

RankingFacts Loops::ranking_facts() const {
  const std::lock_guard lock(mutex_);
  return ranked_;
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

LoopRegisters registers_of(const Cpu& cpu) {
  LoopRegisters registers;
  std::copy_n(cpu.x, 31, registers.begin());
  registers[31] = cpu.x[kSpSlot];
  return registers;
}

void Loops::add_profile(LoopFacts facts) {
  const std::lock_guard lock(mutex_);
  found_.fetch_add(1, std::memory_order_relaxed);
  const auto [at, is_new] = loops_.try_emplace({facts.code.head, facts.code.words}, facts);
  if (is_new) return;
  at->second.samples += facts.samples;
  at->second.entries += facts.entries;
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
