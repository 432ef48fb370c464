// The regions of one lane: which are in place, and which code is worth translating. Lives on the lane's thread.
#pragma once

#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "interpreter/interpreter.h"
#include "interpreter/regions.h"
#include "translator/sampler.h"
#include "translator/translator.h"

namespace kvrm::translator {

class LaneRegions final : public interpreter::Regions {
 public:
  LaneRegions(std::shared_ptr<Translator> translator, memory::AddressSpace& space, interpreter::Interpreter& engine);
  ~LaneRegions() override;

  interpreter::Entry entry_for(u64 pc, const u8* page, interpreter::Entry* place,
                               const interpreter::Entry& plain) override;
  bool owns(const interpreter::Entry& entry) override;
  Pace between_bursts(const Cpu& cpu, u64 retired) override;
  void stepped(u64 from, u64 to) override;
  void code_written(const u8* page) override;
  void code_remapped() override;
  void code_of_others() override;
  void all_forgotten() override;

  // The region at pc finds that floating point is not as usual. Gives the handler that runs the entry now.
  static interpreter::Handler run_unusual(interpreter::Entry* place, u64 pc) { return current_->unusual(place, pc); }

 private:
  interpreter::Handler unusual(interpreter::Entry* place, u64 pc);
  static inline thread_local LaneRegions* current_ = nullptr;  // the lane that runs on this thread

  // A region that stands in a decoded page.
  struct Installed {
    RegionPointer region;
    interpreter::Entry* place;
    std::vector<const u8*> pages;  // the physical pages it was made from
    interpreter::Handler plain;  // runs the head's word alone, with the operands of the entry
    u32 unusual = 0;  // how often floating point was not as the region needs it
  };

  void end_trace();
  // Regions of earlier runs whose entries were just seen.
  void link_stored();
  // Brings what was seen to the shared profile, and translates what is worth it now.
  void consider();
  struct Chosen {
    Plan plan;
    double urgency;
  };
  std::vector<Chosen> choose();
  void translate(Plan plan, double urgency);

  Translator::Matches matches(bool usual_float);
  // The pages that hold exactly this code now; empty if memory holds something else.
  std::vector<const u8*> pages_of(const Source& source);
  std::optional<interpreter::Entry> install(const RegionPointer& region, interpreter::Entry* place,
                                            const interpreter::Entry& plain);
  void put(const RegionPointer& region);
  void take_finished();
  void reopen_forgotten();
  void count_change(u64 head, u32 count);
  void begin_program(u64 pc, const u8* page);
  using Follow = std::function<bool(const Transition&)>;
  Plan plan_at(u64 pc, const Follow& follow, u32 most_words);
  Follow what_is_worth_it(const Profile& profile) const;
  RegionPointer known_region(u64 head);
  const u8* page_at(u64 address);
  isa::Flow flow_at(u64 address);
  void release(Installed& installed);
  template <class Condition>
  void uninstall_if(Condition condition);

  std::shared_ptr<Translator> translator_;
  memory::AddressSpace& space_;
  interpreter::Interpreter& engine_;
  std::unordered_map<u64, Installed> installed_;  // by head
  std::unordered_set<interpreter::Handler> handlers_;  // of them
  std::unordered_map<u64, u32> given_up_;  // how often code with this head has changed
  std::vector<RegionPointer> released_;  // may still be running
  std::size_t finished_seen_ = 0, forgotten_seen_ = 0;
  u64 pressure_seen_;
  std::optional<u64> program_;
  std::shared_ptr<SharedProfile> shared_;  // of the program
  Sampler sampler_;
  bool usual_float_ = false;  // FPCR was zero and inexact sticky when the lane was last looked at
};

}  // namespace kvrm::translator
