// The regions of one lane: which are installed, and which code is worth translating. Lives on the lane's thread.
#pragma once

#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "interpreter/interpreter.h"
#include "interpreter/regions.h"
#include "translator/host/lane_quick.h"
#include "translator/host/sampler.h"
#include "translator/host/visits.h"
#include "translator/translator.h"

namespace kvrm::translator {

class LaneRegions final : public interpreter::Regions {
 public:
  LaneRegions(std::shared_ptr<Translator> translator, interpreter::Interpreter& engine);
  ~LaneRegions() override;

  interpreter::Entry entry_for(u64 pc, const u8* page, interpreter::Entry* slot,
                               const interpreter::Entry& plain) override;
  Pace between_bursts(const Cpu& cpu, u64 retired) override;
  void stepped(u64 from, u64 to) override;
  void code_written(const u8* page) override;
  void code_elsewhere(const u8* page) override;
  void code_remapped() override;
  void other_lane_wrote_code() override;
  void all_forgotten() override;

  // Loops that another tier runs: no region holds their heads.
  void leave_loop(u64 head);
  void return_loop(u64 head) { loop_heads_.erase(head); }

  // The region at pc needs the default FP mode, which does not hold. Returns the handler that runs the entry now.
  static interpreter::Handler run_in_other_fp_mode(interpreter::Entry* slot, u64 pc) {
    return current_->in_other_fp_mode(slot, pc);
  }

 private:
  interpreter::Handler in_other_fp_mode(interpreter::Entry* slot, u64 pc);
  static inline thread_local LaneRegions* current_ = nullptr;  // the lane that runs on this thread

  // A region that is installed in a decoded page.
  struct Installed {
    RegionPointer region;
    interpreter::Entry* slot;
    std::vector<const u8*> pages;  // the physical pages of its source
    interpreter::Handler plain;  // runs the first word alone, with the operands of the entry
    u32 fp_mode_misses = 0;  // how often the lane was not in the FP mode the region needs
  };

  void end_trace();
  // Installs stored regions whose entries were just sampled.
  void link_stored();
  // Leaves code to the quick tier where visits to its region are too short to pay.
  void leave_short_visits();
  bool is_left_out(u64 entry_pc) const { return left_out_.contains(entry_pc) || loop_heads_.contains(entry_pc); }
  bool holds_loop(const Source& source) const;
  // Merges the traces into the shared profile and translates what is worth it now.
  void consider();
  struct Chosen {
    Plan plan;
    double urgency;
  };
  std::vector<Chosen> choose();
  void translate(Plan plan, double urgency);

  Translator::Matches matches(bool default_fp_mode);
  // The pages that hold exactly this code now; empty if memory holds something else.
  std::vector<const u8*> pages_of(const Source& source);
  std::optional<interpreter::Entry> install(const RegionPointer& region, interpreter::Entry* slot,
                                            const interpreter::Entry& plain);
  void put(const RegionPointer& region);
  void take_finished();
  void reopen_forgotten();
  void count_change(u64 entry_pc, u32 count);
  void begin_program(u64 pc, const u8* page);
  void follow_window(u64 retired);
  using Follow = std::function<bool(const Transition&)>;
  // `profile`: where indirect branches went; null: unknown.
  Plan plan_at(u64 pc, const Follow& follow, const Profile* profile, u32 most_words);
  Follow follow_what_pays(const Profile& profile) const;
  RegionPointer find_region(u64 entry_pc);
  const u8* page_at(u64 address);
  // The same while a trace is taken or evaluated, when hardly anything changes.
  const u8* page_in_trace(u64 address);
  isa::Flow flow_at(u64 address);
  void release(Installed& installed);
  template <class Condition>
  void uninstall_if(Condition condition);
  bool has_regions() const { return translator_->settings().tiers != Tiers::kQuick; }
  // Those of the trace that had quick code.
  u32 quick_steps();
  void take_trace_to_quick();

  std::shared_ptr<Translator> translator_;
  interpreter::Interpreter& engine_;
  memory::Mmu& mmu_;
  std::unordered_map<u64, Installed> installed_;  // by entry pc
  std::unordered_set<interpreter::Handler> handlers_;  // of them
  // Their code has changed. A page may change while the profile is locked, so it hears of them later.
  std::vector<u64> changed_;
  std::unordered_map<u64, u32> given_up_;  // how often code at this entry has changed
  std::vector<RegionPointer> released_;  // may still be running
  std::size_t finished_seen_ = 0, forgotten_seen_ = 0;
  u64 pressure_seen_;
  std::optional<u64> program_;
  std::shared_ptr<SharedProfile> shared_;  // of the program
  Sampler sampler_;
  Visits visits_;
  std::unordered_set<u64> left_out_;  // entries of regions that do not pay
  std::unordered_set<u64> loop_heads_;
  // The last page of the trace.
  struct {
    u64 address = kNoPage;
    const u8* bytes = nullptr;
  } traced_;
  static constexpr u64 kNoPage = 1;  // no page's address
  LaneQuick quick_;
  bool uses_window_ = false;  // regions of this lane access memory through its window
  u64 fallback_cost_ = 0;     // of accesses that left regions lately, in instructions
  bool default_fp_mode_ = false;  // FPCR was zero and inexact sticky at the last sample
};

}  // namespace kvrm::translator
