// A profile of a program's interpreted code, estimated from traces: short runs of instructions that a lane steps
// through at regular intervals. It decides nothing; it says what a plan is worth.
//
// A trace of n instructions after m have run stands for m / n executions of each. Counts are such estimates and cover
// interpreted instructions only.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cache/bytes.h"
#include "translator/plan.h"

namespace kvrm::translator {

// One instruction of a trace.
struct TraceStep {
  u64 from, to;
  isa::Flow flow = isa::Flow::kNext;
  bool leaves_region = false;  // control came to `from` out of a region
  bool enters_region = false;  // a region starts at `to`

  // A switch may go to the code right behind it.
  bool is_taken() const { return to != from + 4 || flow == isa::Flow::kIndirect; }
};

// Not safe for several threads.
class Profile {
 public:
  void add(std::span<const TraceStep> steps, u64 weight);

  // Possible region entries added since the last call: targets of calls, returns, indirect jumps and backward branches,
  // and side exits. The most frequent first, without those that were not reached notably more often since they were set
  // aside or settled.
  struct Candidate {
    u64 pc;
    u64 arrivals;
    u32 samples;
    bool settled;  // but the interpreter still runs it
  };
  std::vector<Candidate> candidates(std::size_t most, u64 least_arrivals);
  // Not worth translating yet.
  void set_aside(u64 pc);
  // A region that holds these words starts there, or none can.
  void settle(u64 pc, std::span<const u64> words);
  bool is_settled(u64 pc) const;
  // Its code has changed.
  void reopen(u64 pc) { targets_.erase(pc); }

  // Entries whose regions did not pay: lanes left them too soon. Every eighth run tries them again.
  static constexpr std::size_t kMostLeftOut = std::size_t{1} << 14;
  void leave_out(u64 pc) {
    if (left_out_.size() >= kMostLeftOut) left_out_.clear();
    left_out_.insert(pc);
  }
  const std::unordered_set<u64>& left_out() const { return left_out_; }

  // How many instructions of this plan the interpreter has run that no region was compiled for.
  u64 unpaid(const Plan& plan) const;
  u64 unpaid(u64 pc) const;
  // How many it has run at all, and how often it came to the plan's entry from elsewhere.
  u64 executions(const Plan& plan) const;
  u64 visits(const Plan& plan) const;
  // Of the calls and branches to `to`, the share that came from `from`.
  double share_of_arrivals(u64 from, u64 to) const;

  // Where the branch at `from` was seen to go, the most frequent first: at most kMostTargets, and none that it hardly
  // ever takes.
  static constexpr std::size_t kMostTargets = 8;
  std::vector<u64> targets_of(u64 from) const;

  // Earlier runs of the program. After a few the profile knows it.
  static constexpr u64 kEarlyRuns = 3;
  struct Past {
    u64 runs = 0;
    double run_seconds = 0, compile_seconds = 0;  // in all of them
    double compile_seconds_left = 0;  // that later runs had and did not use: a region may cost more than one has
  };
  const Past& past() const { return past_; }
  // The pages whose code ran at least so often in a run, on average.
  std::unordered_set<u64> busy_pages(double least) const;
  void end_run(double run_seconds, double compile_seconds, double compile_seconds_left = 0);
  // Executions in this run, as far as traces tell, of words that were first seen in it or in the few runs before it.
  u64 executions_of_new_code() const { return of_new_code_; }
  bool changed() const { return changed_; }
  // How many words, branches and entries the profile holds. It is limited: those that ran least are dropped.
  std::size_t size() const { return words_.size() + taken_.size() + targets_.size(); }

  void write(cache::Writer& to) const;
  bool read(cache::Reader& from);

 private:
  struct Word {
    u64 seen = 0, paid = 0;  // executions
    u64 first_run = 0;  // its number
  };
  struct Target {
    u64 arrivals = 0;
    u64 set_aside_at = 0;  // arrivals then; or when it was settled
    u32 samples = 0;
    bool settled = false;
    bool is_entry = false;  // a region may start here: not only forward branches lead to it
  };
  void arrive(u64 pc, u64 weight, bool is_entry);
  std::unordered_map<u64, Word> words_;
  std::map<std::pair<u64, u64>, u64> taken_;  // in order, so that a branch's targets are neighbors
  std::unordered_map<u64, Target> targets_;
  std::vector<u64> reached_;  // targets reached since the last candidates()
  std::unordered_set<u64> left_out_;
  u64 of_new_code_ = 0;
  Past past_;
  bool changed_ = false;
};

}  // namespace kvrm::translator
