// The last misses of one static load, as the network sees them (docs/co-processors.md). Freestanding.
#pragma once

#include "prefetch/freestanding/policy.h"

namespace kvrm::prefetch {

inline constexpr u32 kWindow = 16;  // misses
inline constexpr u32 kWindowFeatures = 10;

// What other policies know at a miss.
struct Hints {
  bool seen_before;  // the line missed before
  bool followed_before;  // and followed the same line
  bool depends;  // the address comes from another load
};

// The base-2 logarithm of 1 + value, with a straight line between powers of two: the same bits everywhere.
KVRM_INLINE float log2_of(u64 value) {
  const u64 whole = value + 1 == 0 ? value : value + 1;
  const u32 power = 63 - static_cast<u32>(__builtin_clzll(whole));
  const u64 rest = whole - (u64{1} << power);
  return static_cast<float>(power) + static_cast<float>(rest) / static_cast<float>(u64{1} << power);
}

class SiteWindow {
 public:
  // A miss of the load. `instructions` and `misses` count those of the whole lane so far.
  KVRM_INLINE void add(const Load& load, u64 instructions, u64 misses, const Hints& hints) {
    float(&to)[kWindowFeatures] = features_[count_ % kWindow];
    const i64 delta = static_cast<i64>(load.address - address_);
    const u64 far = magnitude(delta);
    const i64 lines = delta / static_cast<i64>(kLineBytes);
    const u64 reach = magnitude(static_cast<i64>(load.value - load.address));
    to[0] = (delta < 0 ? -1.0f : 1.0f) * log2_of(far) / 40.0f;
    to[1] = lines > 16 ? 1.0f : lines < -16 ? -1.0f : static_cast<float>(lines) / 16.0f;
    to[2] = delta == delta_ ? 1.0f : 0.0f;
    to[3] = far < 4096 ? 1.0f : 0.0f;
    to[4] = log2_of(instructions - instructions_) / 20.0f;
    to[5] = hints.seen_before ? 1.0f : 0.0f;
    to[6] = hints.followed_before ? 1.0f : 0.0f;
    to[7] = hints.depends ? 1.0f : 0.0f;
    to[8] = reach < u64{1} << 30 ? 1.0f - log2_of(reach) / 40.0f : 0.0f;
    to[9] = log2_of(misses - misses_) / 10.0f;
    address_ = load.address;
    delta_ = delta;
    instructions_ = instructions;
    misses_ = misses;
    ++count_;
  }
  u64 count() const { return count_; }

  // The window, the oldest miss first. Only when count() > kWindow: the first miss has no predecessor.
  void copy(float (&to)[kWindow][kWindowFeatures]) const {
    for (u32 i = 0; i < kWindow; ++i) {
      for (u32 j = 0; j < kWindowFeatures; ++j) to[i][j] = features_[(count_ + i) % kWindow][j];
    }
  }

 private:
  static constexpr u64 magnitude(i64 value) {
    return value < 0 ? u64{0} - static_cast<u64>(value) : static_cast<u64>(value);
  }

  float features_[kWindow][kWindowFeatures] = {};
  u64 address_ = 0, instructions_ = 0, misses_ = 0, count_ = 0;
  i64 delta_ = 0;
};

}  // namespace kvrm::prefetch
