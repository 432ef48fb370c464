// How long time slices are, when lanes poll the host, and when they report progress. Freestanding.
#pragma once

#include "backend/kernel/lane.h"

namespace kvrm::backend::kernel {

// The host's control word is far away: all warps together may read it less than a million times a second
// (docs/performance.md). So the lane that finds the cached copy too old refreshes it for all.
template <class Warp>
KVRM_INLINE u32 poll_host(const Warp& warp, const Launch& launch) {
  ControlCache& cache = *launch.control_cache;
  const u64 last = sync::load<sync::kRelaxed, sync::kDevice>(&cache.polled_at), now = warp.nanoseconds();
  if (static_cast<i64>(now - last) >= static_cast<i64>(kPollInterval) &&
      sync::compare_exchange<sync::kRelaxed, sync::kDevice>(&cache.polled_at, last, now) == last) {
    // Within a launch the host only sets bits.
    const u32 control = sync::load<sync::kRelaxed, sync::kSystem>(launch.control);
    if (control != 0) (void)sync::fetch_or<sync::kRelaxed, sync::kDevice>(&cache.control, control);
  }
  return sync::load<sync::kRelaxed, sync::kDevice>(&cache.control);
}

template <class Warp>
class SliceController {
 public:
  KVRM_INLINE SliceController(const Warp& warp, const Launch& launch, const Lane& lane, u64* progress)
      : warp_(warp),
        launch_(launch),
        lane_(lane),
        progress_(progress),
        reported_at_(warp.nanoseconds()),
        polled_at_(reported_at_) {}

  // Instructions of a slice.
  KVRM_INLINE u32 length() const { return launch_.slice >> shift_; }

  // The group has run for so long, in instructions, since the last call.
  KVRM_INLINE void advance(u32 instructions) { since_poll_ += instructions; }
  // The whole group waits, so it polls the host after some 64 pauses.
  KVRM_INLINE void advance_idle() { since_poll_ += launch_.slice / 64 + 1; }
  KVRM_INLINE bool is_poll_due() const { return since_poll_ >= length(); }

  // The control word, for all lanes of the group; the first of them adapts the length of slices.
  KVRM_INLINE u32 poll() {
    constexpr u32 kShiftAt = 8;
    since_poll_ = 0;
    u32 answer = 0;
    if (lane_.space.lane == 0) {
      const u64 now = warp_.nanoseconds(), took = now - polled_at_;
      polled_at_ = now;
      const bool shorter = took > kSliceTooLong && !launch_.samples && launch_.slice >> shift_ >= 2 * kMinSlice;
      const bool longer = took < kSliceTooShort && shift_ != 0;
      answer = poll_host(warp_, launch_) | (shift_ + shorter - longer) << kShiftAt;
    }
    answer = warp_.shuffle(answer, 0);
    shift_ = answer >> kShiftAt;
    return answer;
  }

  // Tells the host now and then how many instructions the lane has retired in this run.
  KVRM_INLINE void report(u64 retired) {
    const u64 now = warp_.nanoseconds();
    if (now - reported_at_ < kReportInterval) return;
    reported_at_ = now;
    sync::store<sync::kRelaxed, sync::kSystem>(progress_, retired);
  }

 private:
  const Warp& warp_;
  const Launch& launch_;
  const Lane& lane_;
  u64* const progress_;
  u64 reported_at_, polled_at_;
  u32 since_poll_ = 0;  // instructions
  u32 shift_ = 0;       // slices are launch.slice >> shift_ long
};

}  // namespace kvrm::backend::kernel
