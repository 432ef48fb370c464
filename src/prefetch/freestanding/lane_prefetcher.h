// What a lane that is alone in its warp prefetches when its TLB misses: it learns from these misses alone, and answers
// with the addresses that it expects next. The lane's own loads are never read ahead, so there is no indirect policy
// here. Plain data, zero at first; the same instructions give the same answers. Freestanding.
#pragma once

#include "prefetch/freestanding/counters.h"
#include "prefetch/freestanding/next_line.h"
#include "prefetch/freestanding/stride.h"
#include "prefetch/freestanding/temporal.h"

namespace kvrm::prefetch {

// A choice that was made for a load before the run.
struct SiteChoice {
  u64 pc;
  Choice choice;
};
// In ascending order of pc.
struct SiteChoices {
  const SiteChoice* first = nullptr;
  u32 count = 0;

  // That of the load at pc or soon after it: where translated code was left, pc is the beginning of what runs again.
  KVRM_INLINE const Choice* find(u64 pc) const {
    constexpr u64 kNear = 32 * 4;
    u32 low = 0, high = count;
    while (low < high) {
      const u32 middle = low + (high - low) / 2;
      if (first[middle].pc < pc) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low < count && first[low].pc - pc < kNear ? &first[low].choice : nullptr;
  }
};

class LanePrefetcher {
 public:
  static constexpr u32 kHistoryBits = 14;

  // A miss; `now`: instructions of the lane so far. The address to prefetch, or 0.
  u64 missed(u64 pc, u64 address, u32 now, const SiteChoices& choices) {
    const Load load{pc, address};
    Temporal temporal(history_, index_, kHistoryBits, position_);
    strides_.observe(load);
    temporal.observe(line_of(address));
    position_ = temporal.position();
    Choice choice;
    if (choices.count == 0) {
      learn(load, temporal, now);
      choice = counters_.choice(pc);
    } else if (const Choice* const given = choices.find(pc)) {
      choice = *given;
    }
    const u64 expected = predict(load, temporal, choice);
    answers_ += expected != 0;
    return expected;
  }
  u32 answers() const { return answers_; }

 private:
  u64 predict(const Load& load, const Temporal& temporal, const Choice& choice) const {
    switch (choice.policy) {
      case Policy::kNextLine: return NextLine::predict(load, choice.level);
      case Policy::kStride: return strides_.predict(load, choice.level);
      case Policy::kTemporal: return temporal.predict(choice.level);
      default: return 0;
    }
  }
  void learn(const Load& load, const Temporal& temporal, u32 now) {
    counters_.need(line_of(load.address), now);
    constexpr Policy kTried[] = {Policy::kNextLine, Policy::kStride, Policy::kTemporal};
    for (const Policy policy : kTried) {
      const u64 expected = predict(load, temporal, {policy, counters_.level(load.pc, policy)});
      if (expected != 0) counters_.expect(load.pc, policy, line_of(expected), now);
    }
  }

  static constexpr u32 kLatency = 24;  // instructions of translated code in the time that memory takes

  Stride<6> strides_;
  Counters<6, 9, kLatency> counters_;
  u32 position_ = 0, answers_ = 0;
  u32 history_[1u << kHistoryBits] = {};
  u32 index_[1u << kHistoryBits] = {};
};

}  // namespace kvrm::prefetch
