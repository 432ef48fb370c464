#include "translator/host/sampler.h"

#include <algorithm>

#include "translator/host/thread_clock.h"

namespace kvrm::translator {
namespace {

// The time between traces, less in the first milliseconds of a program, and more where its profile is known.
constexpr double kInterval = 250e-6, kFirstInterval = 50e-6, kLaterInterval = 1e-3;
constexpr double kShortRun = 50e-3;
// A burst of so many instructions ended for its length, not because the host had something to do.
constexpr u64 kFullBurst = (u64{1} << 20) - (u64{1} << 12);
constexpr u64 kShortestPeriod = u64{1} << 13, kLongestPeriod = u64{1} << 22;

}  // namespace

void Sampler::restart_clock() {
  clock_ = thread_seconds();
  thread_ = std::this_thread::get_id();
}

void Sampler::ran(u64 instructions) {
  in_one_go_ &= since_trace_ == 0 || instructions == 0 || was_full_burst_;
  since_trace_ += instructions;
  was_full_burst_ = instructions >= kFullBurst;
}

u64 Sampler::random() {
  random_ = random_ * 6364136223846793005 + 1442695040888963407;
  return random_ >> 40;
}

u32 Sampler::begin_trace(const Region* inside) {
  tracing_ = true;
  to_pass_ = eager_ ? 0 : static_cast<u32>(random() % kSteps);
  trace_begin_ = steps_.size();
  translated_ = 0;
  inside_ = inside;
  return to_pass_ + kSteps;
}

// Random, so that traces do not keep step with the program.
u64 Sampler::next_period(double seconds, double instructions) {
  if (eager_) return kShortestPeriod;
  const double interval = run_seconds_ < kShortRun ? kFirstInterval : is_known_ ? kLaterInterval : kInterval;
  const double jitter = 0.75 + 0.5 * static_cast<double>(random()) / static_cast<double>(1 << 24);
  const double period = instructions * interval / std::max(seconds, 1e-7) * jitter;
  return std::clamp(static_cast<u64>(period), kShortestPeriod, kLongestPeriod);
}

void Sampler::measure(double seconds_an_instruction, std::size_t interpreted, u32 quick) {
  const double measured = std::clamp(seconds_an_instruction, 1e-10, 2e-8);
  has_quick_ |= quick != 0;
  if (interpreted + quick == 0) {
    translated_cost_.add(measured);
  } else if (translated_ == 0 && (interpreted == 0 || quick == 0)) {
    (quick == 0 ? interpreted_ : quick_).add(measured);
  }
}

Translator::Run Sampler::end_trace(u32 quick) {
  tracing_ = false;
  const std::size_t recorded = steps_.size() - trace_begin_, steps = recorded + translated_;
  if (steps == 0 && !eager_) return {};  // a system call came first; the next trace tells what ran
  const double now = thread_seconds(), seconds = std::max(0.0, now - clock_);
  clock_ = now;
  run_seconds_ += seconds;
  const auto instructions = static_cast<double>(since_trace_);
  if (recorded != 0) traces_.push_back({trace_begin_, steps_.size(), since_trace_ / steps});
  if (in_one_go_ && since_trace_ != 0 && steps != 0) measure(seconds / instructions, recorded - quick, quick);
  const auto share = [&](std::size_t part) {
    return steps == 0 ? 0 : instructions * static_cast<double>(part) / static_cast<double>(steps);
  };
  Translator::Run run{.seconds = seconds,
                      .interpreted = steps == 0 ? instructions : share(recorded - quick),
                      .quick = share(quick),
                      .translated = share(translated_)};
  run.interpreter_seconds = std::min(seconds, run.interpreted * interpreted_.seconds);
  run.quick_seconds = std::min(seconds - run.interpreter_seconds, run.quick * quick_.seconds);
  period_ = next_period(seconds, instructions);
  since_trace_ = 0;
  in_one_go_ = true;
  return run;
}

void Sampler::bring_to(Profile& profile) {
  for (const Trace& trace : traces_)
    profile.add(std::span(steps_).subspan(trace.begin, trace.end - trace.begin), trace.weight);
  drop_traces();
}

void Sampler::drop_traces() {
  traces_.clear();
  steps_.clear();
  trace_begin_ = 0;
}

}  // namespace kvrm::translator
