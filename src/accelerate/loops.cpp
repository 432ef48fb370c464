#include "accelerate/loops.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "translator/host/thread_clock.h"

namespace kvrm::accelerate {

double now_seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Owners hold a handle whose end closes the prover; its thread holds the object itself.
std::shared_ptr<Loops> Loops::create(std::string& error, const ProverSettings& settings) {
  if (!Extractor::is_there(error)) return nullptr;
  const std::shared_ptr<Loops> loops(new Loops(settings));
  loops->self_ = loops;
  return {loops.get(), [loops](Loops*) { loops->close(); }};
}

void Loops::close() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }
  if (!thread_.joinable()) return;
  if (settings_.abandons) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

bool Loops::grants(double seconds) {
  if (proves_at_once()) return true;
  const double run = run_seconds_.fetch_add(seconds) + seconds;
  // What was granted may not have been spent yet, or not as much.
  const double granted = granted_seconds_.load();
  const double next = std::max(granted, proving_seconds_.load()) + (granted == 0 ? kFirstProof : kProof);
  if (next > settings_.share * run) return false;
  granted_seconds_.store(next);
  return true;
}

Loops::Settled Loops::settle(const LoopCode& code) {
  const std::lock_guard lock(proving_);
  const double begin = translator::thread_seconds();
  Settled result = settled(code);
  proving_seconds_.fetch_add(translator::thread_seconds() - begin);
  return result;
}

Loops::Settled Loops::settled(const LoopCode& code) {
  Settled result;
  if (!extractor_) extractor_ = Extractor::create(result.refusal);
  if (!extractor_) return result;
  std::optional<Iteration> iteration = extractor_->extract(code, result.refusal);
  if (!iteration) return result;
  std::optional<Proof> proof = accelerate::prove(*iteration, result.refusal);
  if (!proof) return result;
  std::string error;
  // Tables help machine code alone; without them there is a proof all the same.
  if (!check(*iteration, *proof, error)) proof->tables.clear();
  if (check(*iteration, *proof, error)) {
    auto proven = std::make_shared<ProvenLoop>(std::move(*iteration), std::move(*proof));
    if (!compiler_ && settings_.makes_code) compiler_ = NativeCompiler::create(error);
    if (compiler_) {
      if (auto native = compiler_->compile(*proven)) proven->use(native, native->function());
    }
    result.proven = std::move(proven);
  } else {
    result.refusal = "the checker: " + error;
  }
  return result;
}

void Loops::keep(const LoopCode& code, Settled settled) {
  Entry& entry = loops_[{code.head, code.words}];
  if (entry.settled) return;
  entry.facts.proven = std::move(settled.proven);
  entry.facts.refusal = std::move(settled.refusal);
  entry.settled = true;
}

std::shared_ptr<const ProvenLoop> Loops::prove(const LoopCode& code) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = loops_.find({code.head, code.words});
    if (found != loops_.end() && found->second.settled) return found->second.facts.proven;
    if (found == loops_.end() && loops_.size() >= kMost) return nullptr;
    loops_[{code.head, code.words}].facts.code = code;
  }
  Settled settled = settle(code);
  const std::lock_guard lock(mutex_);
  keep(code, std::move(settled));
  return loops_[{code.head, code.words}].facts.proven;
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

std::optional<std::shared_ptr<const ProvenLoop>> Loops::ask(const LoopCode& code) {
  if (!settings_.in_background) return prove(code);
  const std::lock_guard lock(mutex_);
  const auto found = loops_.find({code.head, code.words});
  if (found != loops_.end()) {
    if (!found->second.settled) return std::nullopt;
    return found->second.facts.proven;
  }
  if (loops_.size() >= kMost) return nullptr;
  loops_[{code.head, code.words}].facts.code = code;
  asked_.push_back(code);
  if (!thread_.joinable()) thread_ = std::thread([self = self_.lock()] { self->work(); });
  changed_.notify_all();
  return std::nullopt;
}

void Loops::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return over_ || !asked_.empty(); });
    if (over_) return;
    const LoopCode code = std::move(asked_.front());
    asked_.pop_front();
    lock.unlock();
    Settled settled = settle(code);
    lock.lock();
    keep(code, std::move(settled));
    answers_.fetch_add(1, std::memory_order_release);
  }
}

void Loops::report(const LoopCode& code, const LaneReport& lane) {
  const std::lock_guard lock(mutex_);
  const auto found = loops_.find({code.head, code.words});
  if (found == loops_.end()) return;
  LoopFacts& facts = found->second.facts;
  facts.samples += lane.samples;
  facts.steps += lane.steps;
  facts.iterations += lane.iterations;
  facts.instructions += lane.instructions;
  facts.left_out += lane.left_out;
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
  const Key key{facts.code.head, facts.code.words};
  const u64 samples = facts.samples, entries = facts.entries;
  const auto [at, is_new] = loops_.try_emplace(key, Entry{std::move(facts), true});
  if (is_new) return;
  at->second.facts.samples += samples;
  at->second.facts.entries += entries;
}

std::vector<LoopFacts> Loops::facts() const {
  const std::lock_guard lock(mutex_);
  std::vector<LoopFacts> all;
  for (const auto& [key, entry] : loops_) {
    all.push_back(entry.facts);
    if (!entry.settled) all.back().refusal = "not proved yet";
  }
  std::ranges::sort(all, [](const LoopFacts& a, const LoopFacts& b) {
    return a.samples != b.samples ? a.samples > b.samples : a.code.head < b.code.head;
  });
  return all;
}

}  // namespace kvrm::accelerate
