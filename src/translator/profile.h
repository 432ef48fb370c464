// What is known of how a program's code runs in the interpreter: estimated from traces, short runs of instructions that
// a lane steps through at regular intervals. Decides nothing; says what a plan is worth.
//
// A trace of n instructions that was taken after m have run stands for m / n executions of each of them. All counts are
// such estimates, of interpreted instructions only: what regions run costs nobody anything worth mending.
#pragma once

#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "cache/bytes.h"
#include "translator/plan.h"

namespace kvrm::translator {

// One instruction of a trace.
struct TraceStep {
  u64 from, to;
  isa::Flow flow = isa::Flow::kNext;
  bool leaves_region = false;  // control came to `from` out of a region
  bool enters_region = false;  // a region begins at `to`
};

// Not safe for several threads.
class Profile {
 public:
  void add(std::span<const TraceStep> steps, u64 weight);

  // Where regions may begin, of what was added since the last call: targets of calls, returns, jumps to registers and
  // backward branches, and where control leaves regions. The most often reached first; those that have not been reached
  // notably more often since they were last set aside or settled are left out.
  struct Candidate {
    u64 pc;
    u64 arrivals;
    u32 samples;
    bool settled;  // and yet the interpreter runs it
  };
  std::vector<Candidate> candidates(std::size_t most, u64 least_arrivals);
  // Not worth it yet.
  void set_aside(u64 pc);
  // A region that holds these words begins there, or none can.
  void settle(u64 pc, std::span<const u64> words);
  bool is_settled(u64 pc) const;
  // Its code has changed.
  void reopen(u64 pc) { heads_.erase(pc); }

  // How many instructions of this plan the interpreter has run that no region was made for.
  u64 unpaid(const Plan& plan) const;
  u64 unpaid(u64 pc) const;
  // Of the calls and branches to `to`, the share that came from there.
  double share_of_arrivals(u64 from, u64 to) const;

  // Earlier runs of the program.
  struct Past {
    u64 runs = 0;
    double run_seconds = 0, compile_seconds = 0;  // in all of them
  };
  const Past& past() const { return past_; }
  void end_run(double run_seconds, double compile_seconds);
  bool changed() const { return changed_; }
  // How many words, branches and entries are known: there is a limit, beyond which those go that ran least.
  std::size_t size() const { return words_.size() + taken_.size() + heads_.size(); }

  void write(cache::Writer& to) const;
  bool read(cache::Reader& from);

 private:
  struct Word {
    u64 seen = 0, paid = 0;  // executions
  };
  struct Head {
    u64 arrivals = 0;
    u64 set_aside_at = 0;  // arrivals then; or when it was settled
    u32 samples = 0;
    bool settled = false;
    bool is_head = false;  // otherwise only forward branches were seen to lead here
  };
  void arrive(u64 pc, u64 weight, bool is_head);
  struct EdgeHash {
    std::size_t operator()(const std::pair<u64, u64>& edge) const {
      return edge.first * 0x9e3779b97f4a7c15 ^ edge.second * 0xc2b2ae3d27d4eb4f;
    }
  };
  std::unordered_map<u64, Word> words_;
  std::unordered_map<std::pair<u64, u64>, u64, EdgeHash> taken_;
  std::unordered_map<u64, Head> heads_;
  std::vector<u64> reached_;  // of them, since candidates() was last called
  Past past_;
  bool changed_ = false;
};

}  // namespace kvrm::translator
