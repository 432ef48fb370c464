// Counts the loops of one lane exactly: every instruction is traced, no loop is proposed. Stands in place of LaneLoops
// and of the lane's regions. Lives on the lane's thread.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "accelerate/loops.h"
#include "interpreter/interpreter.h"
#include "interpreter/regions.h"

namespace kvrm::accelerate {

class LoopProfile final : public interpreter::Regions {
 public:
  LoopProfile(std::shared_ptr<Loops> loops, interpreter::Interpreter& engine);
  ~LoopProfile() override;

  interpreter::Entry entry_for(u64, const u8*, interpreter::Entry*, const interpreter::Entry& plain) override {
    return plain;
  }
  Pace between_bursts(const Cpu& cpu, u64 retired) override;
  void stepped(u64 from, u64 to) override;
  void code_written(const u8*) override {}
  void code_elsewhere(const u8*) override {}
  void code_remapped() override {}
  void other_lane_wrote_code() override {}
  void all_forgotten() override {}

  // Tells Loops what was counted since the last time.
  void report();

 private:
  struct Counted {
    LoopFacts facts;
    u64 in_run = 0;  // times the branch back was taken since the loop was entered
    bool is_kept = false;  // the last of facts.runs is this run
  };

  void took(u64 from, u64 to);
  void leave(Counted& loop);

  const std::shared_ptr<Loops> loops_;
  interpreter::Interpreter& engine_;
  const Cpu* cpu_ = nullptr;
  std::unordered_map<u64, Counted> loops_by_branch_;
  std::vector<Counted*> inside_;  // the innermost last
};

}  // namespace kvrm::accelerate
