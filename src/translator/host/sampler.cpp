#include "translator/host/sampler.h"

#include <algorithm>

#include "translator/host/thread_clock.h"

namespace kvrm::translator {
namespace {

// The time between traces, less in the first milliseconds of a program.
constexpr double kInterval = 250e-6, kFirstInterval = 50e-6;
constexpr double kShortRun = 50e-3;
constexpr u64 kShortestPeriod = u64{1} << 13, kLongestPeriod = u64{1} << 20;

}  // namespace

void Sampler::restart_clock() {
  clock_ = thread_seconds();
  thread_ = std::this_thread::get_id();
}

void Sampler::ran(u64 instructions) {
  in_one_go_ &= since_trace_ == 0 || instructions == 0;
  since_trace_ += instructions;
}

void Sampler::begin_trace(const Region* inside) {
  tracing_ = true;
  trace_begin_ = steps_.size();
  translated_ = 0;
  inside_ = inside;
}

// Random, so that traces do not keep step with the program.
u64 Sampler::next_period(double seconds, double instructions) {
  if (eager_) return kShortestPeriod;
  const double interval = run_seconds_ < kShortRun ? kFirstInterval : kInterval;
  random_ = random_ * 6364136223846793005 + 1442695040888963407;
  const double jitter = 0.75 + 0.5 * static_cast<double>(random_ >> 40) / static_cast<double>(1 << 24);
  const double period = instructions * interval / std::max(seconds, 1e-7) * jitter;
  return std::clamp(static_cast<u64>(period), kShortestPeriod, kLongestPeriod);
}

Translator::Run Sampler::end_trace() {
  const double now = thread_seconds(), seconds = std::max(0.0, now - clock_);
  clock_ = now;
  run_seconds_ += seconds;
  tracing_ = false;
  const auto instructions = static_cast<double>(since_trace_);
  const std::size_t interpreted = steps_.size() - trace_begin_, steps = interpreted + translated_;
  if (interpreted != 0) traces_.push_back({trace_begin_, steps_.size(), since_trace_ / steps});
  if (translated_ == 0 && in_one_go_ && since_trace_ != 0) {
    const double measured = std::clamp(seconds / instructions, 5e-10, 2e-8);
    seconds_an_instruction_ += (measured - seconds_an_instruction_) / 16;
  }
  const double share = steps == 0 ? 1 : static_cast<double>(interpreted) / static_cast<double>(steps);
  period_ = next_period(seconds, instructions);
  since_trace_ = 0;
  in_one_go_ = true;
  const double interpreting = std::min(seconds, share * instructions * seconds_an_instruction_);
  return {seconds, interpreting, share * instructions, (1 - share) * instructions};
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
