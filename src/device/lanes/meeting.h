// Who of a group runs next. Lanes that have drifted apart meet again where the deepest of them waits for the others:
// among the runnable lanes the one with the deepest stack, then with the smallest pc, leads, and all lanes at its place
// run with it. `place` is where the lane's next word is decoded: lanes that run different code at one address do not
// meet. Nor do lanes that see different stretches of the same code: `window` is where in its stretch a lane is (above),
// and how long it is. So that a lane that never comes back cannot starve the others, every runnable lane leads once in
// a while, for a share of what has run since: lanes that meet often must not be led apart.
//
// Warp is a class with the cross-lane operations of the group (base/warp.h on a GPU, simulated in tests): ballot(bool),
// shuffle(u32 or u64, from), reduce_min(u32). All lanes of the group call these functions together.
#pragma once

#include "base/types.h"

namespace kvrm::device::lanes {

inline constexpr u64 kPlaceStep = 16;  // between the places of neighbouring words
inline constexpr u32 kFairness = 64;  // a lane that is always passed over leads after so many choices times the lanes
inline constexpr u32 kFairShare = 8;  // and runs one in so many of the instructions that ran since

struct Choice {
  u32 leader;
  u32 lanes;  // that run now
  bool mine;  // this is one of them
  // In words of their window: no other lane waits from `from` to before `until`, so until then there is nobody to meet.
  u32 from, until;
  bool by_turns;  // the leader was not chosen by the rule
};

template <class Warp>
KVRM_INLINE Choice choose(const Warp& warp, bool runnable, u32 all_runnable, u64 place, u64 window, u64 sp, u32 step,
                          bool meet) {
  // Those at the leader's place, with the same code before and behind them.
  const auto with = [&](u32 leader, bool by_turns) -> Choice {
    const u64 leading = warp.shuffle(place, leader);
    const u64 leading_window = warp.shuffle(window, leader);
    const bool mine = runnable && place == leading && window == leading_window;
    const u32 lanes = warp.ballot(mine);
    if (lanes == all_runnable) return {leader, lanes, mine, 0, ~0u, false};
    if (!meet) return {leader, lanes, mine, 0, 0, false};
    // The nearest lanes behind and ahead in the same code.
    const auto code = [](u64 at, u64 where) { return at - (where >> 32) * kPlaceStep; };
    const bool waits = runnable && !mine && code(place, window) == code(leading, leading_window);
    const u32 index = static_cast<u32>(window >> 32), leading_index = static_cast<u32>(leading_window >> 32);
    const u32 until = warp.reduce_min(waits && index > leading_index ? index : ~0u);
    const u32 from = ~warp.reduce_min(waits && index <= leading_index ? ~(index + 1) : ~0u);
    return {leader, lanes, mine, from, until, by_turns};
  };
  const Choice first = with(static_cast<u32>(__builtin_ctz(all_runnable)), false);
  if (first.lanes == all_runnable) return first;
  if (!meet || step % kFairness == 0) {
    // In turn, whoever can.
    const u32 start = (meet ? step / kFairness : step) % 32;
    const u32 behind = all_runnable >> start << start;
    return with(static_cast<u32>(__builtin_ctz(behind ? behind : all_runnable)), true);
  }
  // The low halves suffice to compare: this is about speed, never about results.
  const u32 depth = runnable ? static_cast<u32>(sp >> 4) : ~0u;
  const u32 least_depth = warp.reduce_min(depth);
  const bool deepest = runnable && depth == least_depth;
  const u32 along = deepest ? static_cast<u32>(place >> 4) : ~0u;
  const u32 least_along = warp.reduce_min(along);
  return with(static_cast<u32>(__builtin_ctz(warp.ballot(deepest && along == least_along))), false);
}

}  // namespace kvrm::device::lanes
