// Temporal (Markov with a history): the lines that missed, in their order, and where each was seen last. A miss of a
// line predicts the lines that followed it the last time. The caller owns the tables, which have to be as large as what
// is walked: two words for each line. Freestanding.
#pragma once

#include "prefetch/freestanding/policy.h"

namespace kvrm::prefetch {

class Temporal {
 public:
  // Both tables are zero and have 1 << bits words.
  Temporal(u32* history, u32* index, u32 bits, u32 position = 0)
      : history_(history), index_(index), bits_(bits), position_(position) {}

  // Once for each miss, and for the first use of each prefetched line, before predict().
  KVRM_INLINE void observe(u64 line) {
    was_right_ = expected_ == key(line) && expected_ != 0;
    upper_ = line & ~u64{0xffffffff};
    u32* const slot = find(line);
    const u32 mask = (1u << bits_) - 1;
    previous_ = is_of(*slot, line) ? *slot : 0;
    if (++position_ == 0) position_ = 1;
    history_[position_ & mask] = key(line);
    *slot = position_;
    expected_ = previous_ == 0 ? 0 : history_[(previous_ + 1) & mask];
  }

  // Of the line observed last; 0: it was not seen before, or nothing followed yet.
  KVRM_INLINE u64 predict(u32 level) const {
    const u32 ahead = distance_of(level);
    if (previous_ == 0 || position_ - previous_ <= ahead) return 0;
    return (upper_ | history_[(previous_ + ahead) & ((1u << bits_) - 1)]) << kLineShift;
  }
  u32 position() const { return position_; }  // for another object with the same tables
  bool knows() const { return previous_ != 0; }
  bool was_right() const { return was_right_; }  // the line observed last followed its predecessor before, too

 private:
  static constexpr u32 kWays = 4;

  // The index has no keys: the history says whether a slot is a line's.
  KVRM_INLINE bool is_of(u32 at, u64 line) const {
    const u32 mask = (1u << bits_) - 1;
    return at != 0 && position_ - at < mask && history_[at & mask] == key(line);
  }
  // The line's slot among kWays neighbors, or the oldest of them.
  KVRM_INLINE u32* find(u64 line) {
    u32* const first = index_ + (slot_of(line, bits_) & ~(kWays - 1));
    u32* oldest = first;
    for (u32 i = 0; i < kWays; ++i) {
      if (is_of(first[i], line)) return first + i;
      if (first[i] == 0 || position_ - first[i] > position_ - *oldest) oldest = *oldest == 0 ? oldest : first + i;
    }
    return oldest;
  }
  // What follows is taken to be in the same 256 GiB as the line itself.
  static constexpr u32 key(u64 line) { return static_cast<u32>(line); }

  u32* history_;
  u32* index_;
  u32 bits_;
  u64 upper_ = 0;  // of the line observed last
  u32 position_, previous_ = 0, expected_ = 0;
  bool was_right_ = false;
};

}  // namespace kvrm::prefetch
