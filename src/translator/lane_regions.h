// The regions of one lane: which are in place, and which places are worth translating. Lives on the lane's thread.
#pragma once

#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "interpreter/interpreter.h"
#include "interpreter/regions.h"
#include "translator/translator.h"

namespace kvrm::translator {

class LaneRegions final : public interpreter::Regions {
 public:
  LaneRegions(std::shared_ptr<Translator> translator, memory::AddressSpace& space, interpreter::Interpreter& engine);
  ~LaneRegions() override;

  interpreter::Entry entry_for(u64 pc, const u8* page, interpreter::Entry* place,
                               const interpreter::Entry& plain) override;
  bool owns(const interpreter::Entry& entry) override;
  u64 between_bursts(const Cpu& cpu, u64 retired) override;
  void code_written(const u8* page) override;
  void code_remapped() override;
  void code_of_others() override;
  void all_forgotten() override;

  // A region of the lane that runs on this thread goes to an address from a register.
  static KVRM_INLINE void note_jump(interpreter::Context& context, u64 pc) {
    if (KVRM_LIKELY(context.jumps_to_note == 0)) return;
    --context.jumps_to_note;
    current_->jumped(pc);
  }

  // The region at pc finds that floating point is not as usual. Gives the handler that runs the entry now.
  static interpreter::Handler run_unusual(interpreter::Entry* place, u64 pc) { return current_->unusual(place, pc); }

 private:
  interpreter::Handler unusual(interpreter::Entry* place, u64 pc);
  void jumped(u64 pc);
  static inline thread_local LaneRegions* current_ = nullptr;  // the lane that runs on this thread

  // A region that stands in a decoded page.
  struct Installed {
    RegionPointer region;
    interpreter::Entry* place;
    std::vector<const u8*> pages;  // the physical pages it was made from
    interpreter::Handler plain;  // runs the head's word alone, with the operands of the entry
    u32 unusual = 0;  // how often floating point was not as the region needs it
  };

  // How much a place has run.
  struct Heat {
    u32 findings = 0;  // how often it was found running
    u32 passes = 0;    // how often its probe was passed
    u32 enough = 0;    // findings for a region
  };
  Heat& heat_of(u64 pc);

  // Where regions are left often, another one should begin. Known places get a probe: a handler that counts, and makes
  // way for the real one after a while. For branches to registers, the first few of each burst are looked at.
  struct Probe {
    interpreter::Handler real;
    Heat* heat;
  };
  static KVRM_HANDLER interpreter::Next run_probe(Cpu* cpu, const interpreter::Entry* entry,
                                                  interpreter::Context* context, i64 credit);
  interpreter::Handler pass(interpreter::Entry* place, u64 pc);
  void probe(u64 pc);
  interpreter::Entry probing(u64 pc, const interpreter::Entry& plain, const interpreter::Entry* place);
  // Counts; translates what has been seen often enough.
  void found_running(u64 pc);
  void translate(u64 pc, u32 urgency);

  // The pages that hold exactly this code now; empty if memory holds something else.
  std::vector<const u8*> pages_of(const Source& source);
  std::optional<interpreter::Entry> install(const RegionPointer& region, interpreter::Entry* place,
                                            const interpreter::Entry& plain);
  void put(const RegionPointer& region);
  void take_finished();
  void begin_program(u64 pc, const u8* page);
  Plan plan_at(u64 pc);
  const u8* page_at(u64 address);
  template <class Condition>
  void uninstall_if(Condition condition);

  std::shared_ptr<Translator> translator_;
  memory::AddressSpace& space_;
  interpreter::Interpreter& engine_;
  std::unordered_map<u64, Installed> installed_;  // by head
  std::unordered_map<u64, Heat> heats_;
  WarmPlaces warm_before_;
  std::unordered_map<const interpreter::Entry*, Probe> probes_;
  std::unordered_set<u64> to_probe_;  // places that were not decoded yet
  std::unordered_map<u64, u32> given_up_;  // how often code with this head has changed
  std::vector<RegionPointer> released_;  // may still be running
  std::size_t finished_seen_ = 0;
  std::optional<u64> program_;
  u64 burst_;
  u64 unseen_ = 0;  // instructions since a place was last found running
  bool usual_float_ = false;  // FPCR was zero and inexact sticky when the lane was last looked at
};

}  // namespace kvrm::translator
