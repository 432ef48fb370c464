// Which lanes of a group run next, and for how long. Diverged lanes reconverge where the deepest of them waits for the
// others: among the runnable lanes the one with the deepest stack, then with the smallest pc, leads, and all lanes at
// the same entry run with it. An entry is where a word is decoded, so lanes that run different code at one address do
// not reconverge. Nor do lanes with different windows on the same code. A lane that never comes back must not starve
// the others, so every runnable lane leads once in a while (round robin), for a share of the instructions that ran
// since: lanes that reconverge often must not be led apart. Freestanding.
//
// Warp is a class with the cross-lane operations of the group (base/warp.h on a GPU, simulated in tests): ballot(bool),
// shuffle(u32 or u64, from), reduce_min(u32). All lanes of the group call these functions together.
#pragma once

#include "base/types.h"

namespace kvrm::backend::kernel {

inline constexpr u64 kEntryBytes = 16;  // of a decoded word
inline constexpr u32 kFairness = 64;  // a lane that the rule never chooses leads after kFairness steps for each lane
inline constexpr u32 kFairShare = 8;  // and runs one in kFairShare of the instructions that ran since

// The position of a lane in decoded code.
struct CodePosition {
  u64 entry;  // address of the next word's entry
  u64 window;  // index of that word in the lane's window (upper half), and words of the window
  KVRM_INLINE u32 index() const { return static_cast<u32>(window >> 32); }
};

struct Choice {
  u32 leader;
  u32 lanes;  // a mask: the lanes that run now
  bool runs;  // this lane is one of them
  // In words of the window: no other lane waits at `from` up to before `until`, so the lanes run on inside that range.
  u32 from, until;
  bool round_robin;  // the leader was not chosen by the rule
};

// The lanes at the leader's position, with the same window.
template <class Warp>
KVRM_INLINE Choice choose_with(const Warp& warp, bool runnable, u32 all_runnable, const CodePosition& position,
                               bool reconverge, u32 leader, bool round_robin) {
  const u64 leading = warp.shuffle(position.entry, leader);
  const u64 leading_window = warp.shuffle(position.window, leader);
  const bool runs = runnable && position.entry == leading && position.window == leading_window;
  const u32 lanes = warp.ballot(runs);
  if (lanes == all_runnable) return {leader, lanes, runs, 0, ~0u, false};
  if (!reconverge) return {leader, lanes, runs, 0, 0, false};
  // The nearest waiting lanes before and after the leader in the same code.
  const auto code = [](u64 entry, u64 window) { return entry - (window >> 32) * kEntryBytes; };
  const bool waits = runnable && !runs && code(position.entry, position.window) == code(leading, leading_window);
  const u32 index = position.index(), leading_index = static_cast<u32>(leading_window >> 32);
  const u32 until = warp.reduce_min(waits && index > leading_index ? index : ~0u);
  const u32 from = ~warp.reduce_min(waits && index <= leading_index ? ~(index + 1) : ~0u);
  return {leader, lanes, runs, from, until, round_robin};
}

template <class Warp>
KVRM_INLINE Choice choose(const Warp& warp, bool runnable, u32 all_runnable, const CodePosition& position, u64 sp,
                          u32 step, bool reconverge) {
  const auto with = [&](u32 leader, bool round_robin) -> Choice {
    return choose_with(warp, runnable, all_runnable, position, reconverge, leader, round_robin);
  };
  const Choice first = with(static_cast<u32>(__builtin_ctz(all_runnable)), false);
  if (first.lanes == all_runnable) return first;
  if (!reconverge || step % kFairness == 0) {
    // Round robin among the runnable lanes.
    const u32 start = (reconverge ? step / kFairness : step) % 32;
    const u32 after = all_runnable >> start << start;
    return with(static_cast<u32>(__builtin_ctz(after ? after : all_runnable)), true);
  }
  // The low halves suffice to compare: this is about speed, never about results.
  const u32 depth = runnable ? static_cast<u32>(sp >> 4) : ~0u;
  const u32 least_depth = warp.reduce_min(depth);
  const bool deepest = runnable && depth == least_depth;
  const u32 along = deepest ? static_cast<u32>(position.entry >> 4) : ~0u;
  const u32 least_along = warp.reduce_min(along);
  return with(static_cast<u32>(__builtin_ctz(warp.ballot(deepest && along == least_along))), false);
}

// The choices of a group over time.
struct Scheduler {
  static constexpr u32 kWaitingInterval = 32;  // steps between two trap-handler calls of lanes that wait

  u32 step;
  u32 since_round_robin;  // instructions since the last round-robin choice

  KVRM_INLINE bool is_waiting_due() const { return step % kWaitingInterval == 0; }

  // Instructions that the chosen lanes may run; a slice has `length` of them.
  KVRM_INLINE u32 quota(const Choice& choice, u32 length) const {
    const u32 share = since_round_robin / kFairShare + 1;
    return choice.round_robin && share < length ? share : length;
  }
  KVRM_INLINE void advance(const Choice& choice, u32 ran) {
    since_round_robin = choice.round_robin ? 0 : since_round_robin + ran;
  }
};

}  // namespace kvrm::backend::kernel
