#include "accelerate/profile.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/cpu.h"

namespace kvrm::accelerate {
namespace {

constexpr u32 kTraceSteps = u32{1} << 20;
constexpr std::size_t kMostLoops = std::size_t{1} << 14, kMostRuns = 6, kDeepest = 32;

u64 branch_of(const LoopCode& code) { return code.head + (code.words.size() - 1) * 4; }

}  // namespace

LoopProfile::LoopProfile(std::shared_ptr<Loops> loops, interpreter::Interpreter& engine)
    : loops_(std::move(loops)), engine_(engine) {
  engine_.use_regions(this);
}

LoopProfile::~LoopProfile() {
  report();
  engine_.use_regions(nullptr);
}

interpreter::Regions::Pace LoopProfile::between_bursts(const Cpu& cpu, u64) {
  cpu_ = &cpu;
  return {kTraceSteps, kTraceSteps};
}

void LoopProfile::stepped(u64 from, u64 to) {
  while (!inside_.empty()) {
    Counted& loop = *inside_.back();
    if (to >= loop.facts.code.head && to <= branch_of(loop.facts.code)) break;
    leave(loop);
    inside_.pop_back();
  }
  if (is_branch_back(from, to)) took(from, to);
}

void LoopProfile::took(u64 from, u64 to) {
  if (loops_by_branch_.size() >= kMostLoops && !loops_by_branch_.contains(from)) return;
  Counted& loop = loops_by_branch_[from];
  if (loop.facts.code.words.empty()) {
    const memory::Mmu::CodePage page = engine_.mmu().code_page(to);
    if (page.trap != Trap::kNone) return;
    loop.facts.code = {to, std::vector<u32>((from - to) / 4 + 1)};
    std::memcpy(loop.facts.code.words.data(), page.bytes + to % memory::kPageSize,
                loop.facts.code.words.size() * sizeof(u32));
  }
  if (loop.facts.code.head != to) return;  // a register's branch, to somewhere else
  if (inside_.empty() || inside_.back() != &loop) {
    if (std::ranges::find(inside_, &loop) != inside_.end() || inside_.size() >= kDeepest) return;
    inside_.push_back(&loop);
  }
  ++loop.facts.samples;
  ++loop.in_run;
  std::vector<LoopRun>& runs = loop.facts.runs;
  if (loop.in_run == 1 && runs.size() < kMostRuns) {
    loop.is_kept = true;
    runs.emplace_back(LoopRun{registers_of(*cpu_), {}, 0});
  } else if (loop.in_run == 2 && loop.is_kept) {
    runs.back().second = registers_of(*cpu_);
  }
}

void LoopProfile::leave(Counted& loop) {
  ++loop.facts.entries;
  if (loop.is_kept) loop.facts.runs.back().left = loop.in_run;
  loop.in_run = 0;
  loop.is_kept = false;
}

void LoopProfile::report() {
  for (Counted* loop : inside_) leave(*loop);
  inside_.clear();
  for (auto& [branch, loop] : loops_by_branch_) {
    if (loop.facts.samples != 0) loops_->add_profile(std::move(loop.facts));
  }
  loops_by_branch_.clear();
}

}  // namespace kvrm::accelerate
