// Best offset (Michaud, HPCA 2016): one offset in lines for all loads. Each offset of a list is tried in turn: would a
// prefetch at that offset from a line that was loaded some time ago have brought the line that is missing now? The
// offset with the most hits in a round serves the next one; too few, and prefetching pauses. Freestanding.
#pragma once

#include "prefetch/freestanding/policy.h"

namespace kvrm::prefetch {

class BestOffset {
 public:
  // Once for each miss, and for the first use of each prefetched line.
  KVRM_INLINE void observe(u64 line) {
    test(line);
    // A line counts as loaded some misses later, which stands for the time it takes.
    const u64 loaded = delayed_[next_];
    delayed_[next_] = line;
    next_ = (next_ + 1) % kDelay;
    if (loaded != 0) recent_[slot_of(loaded, kRecentBits)] = loaded;
  }

  // 0: prefetching pauses.
  KVRM_INLINE u64 predict(const Load& load) const {
    return offset_ == 0 ? 0 : (line_of(load.address) + offset_) << kLineShift;
  }
  u32 offset() const { return offset_; }

 private:
  static constexpr u32 kRecentBits = 8, kDelay = 8;
  static constexpr u32 kMostScore = 31, kMostRounds = 100, kBadScore = 1;
  // 1 to 256 without prime factors above 5.
  static constexpr u32 kOffsets[] = {1,   2,   3,   4,   5,   6,   8,   9,   10,  12,  15,  16,  18,
                                     20,  24,  25,  27,  30,  32,  36,  40,  45,  48,  50,  54,  60,
                                     64,  72,  75,  80,  81,  90,  96,  100, 108, 120, 125, 128, 135,
                                     144, 150, 160, 162, 180, 192, 200, 216, 225, 240, 243, 250, 256};
  static constexpr u32 kCount = sizeof(kOffsets) / sizeof(kOffsets[0]);

  KVRM_INLINE void test(u64 line) {
    const u64 base = line - kOffsets[tried_];
    if (recent_[slot_of(base, kRecentBits)] == base) ++scores_[tried_];
    const bool is_found = scores_[tried_] >= kMostScore;
    tried_ = (tried_ + 1) % kCount;
    if (tried_ == 0) ++round_;
    if (is_found || round_ >= kMostRounds) end_phase();
  }
  void end_phase() {
    u32 best = 0;
    for (u32 i = 1; i < kCount; ++i) {
      if (scores_[i] > scores_[best]) best = i;
    }
    offset_ = scores_[best] > kBadScore ? kOffsets[best] : 0;
    for (u32& score : scores_) score = 0;
    round_ = tried_ = 0;
  }

  u64 recent_[1u << kRecentBits] = {};
  u64 delayed_[kDelay] = {};
  u32 next_ = 0;
  u32 scores_[kCount] = {};
  u32 tried_ = 0, round_ = 0;
  u32 offset_ = 1;
};

}  // namespace kvrm::prefetch
