// When a lane takes a trace, and its traces until they are merged into the shared profile.
#pragma once

#include <algorithm>
#include <span>
#include <thread>
#include <vector>

#include "translator/host/profile.h"
#include "translator/region.h"
#include "translator/translator.h"

namespace kvrm::translator {

class Sampler {
 public:
  // Instructions of a trace. Each costs some twenty times what it costs the interpreter, so a trace takes about a
  // hundredth of the time between two.
  static constexpr u32 kSteps = 32;

  // `eager`: traces as often as possible, each evaluated alone.
  explicit Sampler(bool eager) : eager_(eager) {}

  // Earlier runs have made the program's profile: fewer traces will do.
  void know_program() { is_known_ = true; }

  // The thread's time since the last trace is not the lane's.
  void restart_clock();
  // The lane is on another thread than before, or on its first.
  bool has_moved() const { return thread_ != std::this_thread::get_id(); }
  // That many instructions ran in one burst.
  void ran(u64 instructions);
  bool is_tracing() const { return tracing_; }
  bool is_due() const { return since_trace_ >= period_; }
  // How many instructions until then.
  u64 due_in() const { return period_ - since_trace_; }

  // `inside`: the region that the lane is in; null: none. Returns how many instructions to step through: bursts end at
  // some branches only, so a random number of instructions passes before the first that is recorded.
  u32 begin_trace(const Region* inside);
  // The region the trace is in.
  const Region* inside() const { return inside_; }
  void leave_region() { inside_ = nullptr; }
  void enter_region(const Region* region) { inside_ = region; }
  void step_in_region() {
    if (!passes()) ++translated_;
  }
  void step(const TraceStep& step) {
    if (!passes()) steps_.push_back(step);
  }
  // The interpreted instructions of the trace, so far.
  std::span<const TraceStep> trace() const { return std::span(steps_).subspan(trace_begin_); }
  // Ends the trace, `quick` steps of which were in quick code. Returns what the lane has done since the last one.
  Translator::Run end_trace(u32 quick);
  // The interpreted instructions of the last trace.
  std::span<const TraceStep> last_trace() const { return std::span(steps_).subspan(trace_begin_); }

  // There are enough traces to evaluate.
  bool is_full() const { return traces_.size() >= (eager_ ? 1 : kTraces); }
  bool is_empty() const { return traces_.empty(); }
  // How many executions a step of the last trace stands for.
  u64 last_weight() const { return traces_.empty() ? 0 : traces_.back().weight; }
  void bring_to(Profile& profile);
  void drop_traces();

  // What an instruction costs the interpreter.
  double seconds_interpreting() const { return interpreted_.seconds; }
  // What it costs less in a region than where it runs now.
  double seconds_saved() const {
    return std::max((has_quick_ ? quick_ : interpreted_).seconds - translated_cost_.seconds, 1e-10);
  }

 private:
  static constexpr std::size_t kTraces = 16;
  struct Trace {
    std::size_t begin, end;
    u64 weight;
  };
  u64 next_period(double seconds, double instructions);
  u64 random();
  bool passes() { return to_pass_ != 0 && to_pass_-- != 0; }
  // Seconds of an instruction, from bursts that ran in one tier alone.
  struct Cost {
    double seconds;
    void add(double measured) { seconds += (measured - seconds) / 16; }
  };
  void measure(double seconds_an_instruction, std::size_t interpreted, u32 quick);

  const bool eager_;
  std::vector<TraceStep> steps_;
  std::vector<Trace> traces_;
  std::size_t trace_begin_ = 0;
  u32 to_pass_ = 0;  // instructions before the first that is recorded
  u32 translated_ = 0;  // steps of the trace that regions would have run
  const Region* inside_ = nullptr;
  bool tracing_ = false;
  u64 since_trace_ = 0;
  u64 period_ = u64{1} << 14;
  bool in_one_go_ = true;  // only guest code ran since the last trace
  bool was_full_burst_ = false;
  u64 random_ = 0x9e3779b97f4a7c15;
  double clock_ = 0;  // of the thread, when the last trace ended
  std::thread::id thread_;
  double run_seconds_ = 0;
  bool has_quick_ = false, is_known_ = false;
  Cost interpreted_{3e-9}, quick_{1e-9}, translated_cost_{4e-10};
};

}  // namespace kvrm::translator
