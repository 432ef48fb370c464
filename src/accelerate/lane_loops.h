// The loops of one lane: proposes those that are hot, and does bulk steps at the heads of those that are proven. Stands
// before the lane's regions, if it has any. Lives on the lane's thread.
#pragma once

#include <memory>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "accelerate/loops.h"
#include "interpreter/bulk_steps.h"
#include "interpreter/interpreter.h"
#include "interpreter/regions.h"
#include "translator/host/lane_regions.h"

namespace kvrm::accelerate {

class LaneLoops final : public interpreter::Regions, public interpreter::BulkSteps {
 public:
  // `inner`: what was asked before; null: the interpreter runs everything. `eager`: every loop that is seen once is
  // proposed, and none is left out for its cost.
  LaneLoops(std::shared_ptr<Loops> loops, interpreter::Interpreter& engine, translator::LaneRegions* inner, bool eager);
  ~LaneLoops() override;

  interpreter::Entry entry_for(u64 pc, const u8* page, interpreter::Entry* slot,
                               const interpreter::Entry& plain) override;
  Pace between_bursts(const Cpu& cpu, u64 retired) override;
  void stepped(u64 from, u64 to) override;
  void code_written(const u8* page) override;
  void code_elsewhere(const u8* page) override;
  void code_remapped() override;
  void other_lane_wrote_code() override;
  void all_forgotten() override;

  Done step(const interpreter::Entry* entry, Cpu& cpu, u64 budget) override;

  // Tells Loops what this lane has seen and done since the last time.
  void report();

 private:
  // A loop whose branch back was seen.
  struct Candidate {
    u64 branch = 0;  // the branch back that was seen last
    u64 samples = 0, exits = 0;  // how often it was taken and not taken
    LoopCode code;  // what was proposed
    bool is_hot = false, proposed = false;
    std::vector<LoopRegisters> registers;  // with a ranking: at the head, of two iterations in a row
    double chance = -1;  // that it can be proved; less than 0: the ranking was not asked yet
  };
  // A proven loop. Its head's entry, if it is decoded, asks for bulk steps.
  struct Proven {
    LoopCode code;
    std::shared_ptr<const ProvenLoop> loop;
    const u8* page = nullptr;  // null: not installed
    interpreter::Entry* slot = nullptr;
    interpreter::Handler next = nullptr;
    LaneReport news;  // since the last report
    // Since the last decision.
    u64 tries = 0, measured = 0, done = 0;  // done: instructions
    double seconds = 0;  // of the measured tries
    bool left_out = false;
  };

  bool is_hot(const Candidate& candidate) const;
  void note_registers(u64 head, Candidate& candidate);
  double chance_of(u64 head, const Candidate& candidate);
  std::vector<u64>::iterator most_promising();
  void propose(u64 head, Candidate& candidate);
  void propose_hot();
  void take_answers();
  void settle(const LoopCode& code, std::shared_ptr<const ProvenLoop> loop);
  bool may_pay(const ProvenLoop& loop) const;
  // The host may write to memory that the lane sees, or another lane may.
  bool has_company() const;
  std::optional<LoopCode> code_at(u64 head, u64 branch);
  bool holds(const u8* page, const LoopCode& code) const;
  void leave_out(Proven& proven);
  void uninstall(Proven& proven);
  void uninstall_page(const u8* page);
  void undecode(u64 head);
  void judge(Proven& proven);

  const std::shared_ptr<Loops> loops_;
  interpreter::Interpreter& engine_;
  memory::Mmu& mmu_;
  translator::LaneRegions* const inner_;
  const bool eager_;
  std::unordered_map<u64, Candidate> candidates_;  // by head
  std::unordered_map<u64, u64> heads_;  // of candidates, by branch
  std::unordered_map<u64, Proven> proven_;  // by head
  std::unordered_map<const interpreter::Entry*, Proven*> installed_;
  std::vector<u64> scratch_;  // for any of them
  std::vector<u64> hot_;  // heads that may be proposed
  std::vector<LoopCode> waiting_;  // for the prover
  u64 answers_seen_ = 0;
  // Of the lane's thread, when Loops last heard how long the lane has run, and instructions since.
  double clock_;
  std::thread::id thread_;
  u64 since_clock_ = 0;
  u64 newly_found_ = 0, sampled_ = 0;
  u64 since_trace_ = 0, period_ = 1;
  bool tracing_ = false, shows_more_ = true;
  const Cpu* cpu_ = nullptr;
  u64 last_head_ = 0;  // of the last branch back in this trace
};

}  // namespace kvrm::accelerate
