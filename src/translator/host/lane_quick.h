// The quick tier of one lane: which decoded pages run code made of stencils. Lives on the lane's thread.
#pragma once

#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "interpreter/predecode.h"
#include "translator/host/quick_pages.h"

namespace kvrm::translator {

class LaneQuick {
 public:
  // `everything`: pages are translated before they first run. No `pages`: there is no quick tier.
  LaneQuick(std::shared_ptr<QuickPages> pages, interpreter::PredecodeCache& cache, bool everything)
      : pages_(std::move(pages)), cache_(cache), everything_(everything) {}

  // The handler of a word that is being decoded; null: the interpreter's.
  interpreter::Handler handler_for(u64 pc, const u8* page);
  bool has_code(u64 pc, const u8* page) const;
  bool has_pages() const { return pages_ != nullptr; }

  // Pages that are likely to be worth translating: they were so in earlier runs. They are translated as soon as they
  // are entered, if the run has earned that: should this run be short, it loses a known share of its time.
  void expect(std::shared_ptr<const std::unordered_set<u64>> busy) { busy_ = std::move(busy); }
  void earn(double run_seconds) { earned_ += kShareOfRun * run_seconds; }

  // A word of this page was interpreted so often, as far as samples tell.
  void interpreted(u64 pc, const u8* page, u64 times);
  // Translates pages whose interpretation has taken as long as their translation will. `keeps(entry)`: another tier's
  // entry stays.
  template <class Keeps>
  void consider(double seconds_an_instruction, Keeps keeps) {
    for (const u8* page : take_due(seconds_an_instruction)) install(page, keeps);
  }

  // From now on code accesses the lane's window, or no window. Other code is dropped; the other tier's entries are
  // gone.
  void use_window(bool uses_window);

  // The page's bytes or its address have changed: its entries are cleared already.
  void forget(const u8* page) { states_.erase(page); }
  void forget_all() { states_.clear(); }

 private:
  struct State {
    u64 address;
    QuickPagePointer code;
    u64 unpaid = 0;  // instructions interpreted
  };
  State* state_of(u64 pc, const u8* page);
  bool translate(State& state, const u8* page);
  // A page that is likely to be worth it, and that the run has earned: translates it.
  bool translate_busy(State& state, const u8* page);
  // Pages that have code now and had none when some of their words were decoded.
  std::vector<const u8*> take_due(double seconds_an_instruction);
  template <class Keeps>
  void install(const u8* page, Keeps keeps) {
    const QuickPage& code = *states_.at(page).code;
    interpreter::Entry* entries = cache_.entries_of(page);
    for (u32 i = 0; entries && i < interpreter::kWordsPerPage; ++i) {
      const interpreter::Handler handler = code.handler(i);
      if (handler && !cache_.is_undecoded(entries[i]) && !keeps(entries[i])) entries[i].run = handler;
    }
  }

  const std::shared_ptr<QuickPages> pages_;
  interpreter::PredecodeCache& cache_;
  const bool everything_;
  bool uses_window_ = false;
  std::unordered_map<const u8*, State> states_;  // by physical page
  std::vector<const u8*> sampled_;  // since the last consider()
  static constexpr double kShareOfRun = 0.5;
  std::shared_ptr<const std::unordered_set<u64>> busy_;
  double earned_ = 0;  // seconds for busy pages
  std::vector<const u8*> entered_;  // translated when a word was decoded; other words may have been decoded before
};

}  // namespace kvrm::translator
