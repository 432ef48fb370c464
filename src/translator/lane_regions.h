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

  std::optional<interpreter::Entry> entry_for(u64 pc, const u8* page, interpreter::Entry* place) override;
  u64 between_bursts(u64 pc) override;
  void code_written(const u8* page) override;
  void code_remapped() override;
  void all_forgotten() override;

 private:
  // A region that stands in a decoded page.
  struct Installed {
    RegionPointer region;
    interpreter::Entry* place;
    std::vector<const u8*> pages;  // the physical pages it was made from
  };

  // The pages that hold exactly this code now; empty if memory holds something else.
  std::vector<const u8*> pages_of(const Source& source);
  std::optional<interpreter::Entry> install(const RegionPointer& region, interpreter::Entry* place);
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
  std::unordered_map<u64, u32> seen_;             // how often a place was found running
  std::unordered_map<u64, u32> given_up_;         // how often code with this head has changed
  std::vector<RegionPointer> released_;           // may still be running
  std::size_t finished_seen_ = 0;
  std::optional<u64> program_;
  u64 burst_;
};

}  // namespace kvrm::translator
