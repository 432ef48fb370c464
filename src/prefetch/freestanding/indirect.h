// Indirect, A[B[i]] (Yu et al., MICRO 2015): a load whose address is a constant plus the value of an earlier load,
// times a power of two. When the earlier load walks by a stride, its value some iterations ahead says where the later
// load will be. That value has to be read, which the caller does: peek(address, size, value) gives false where it may
// not. Freestanding.
#pragma once

#include "prefetch/freestanding/policy.h"
#include "prefetch/freestanding/stride.h"

namespace kvrm::prefetch {

template <u32 kBits>
class Indirect {
 public:
  static constexpr u32 kDependents = 2;

  // Once for each load, before predict(). Only loads that missed look for what their address comes from.
  KVRM_INLINE void observe(const Load& load, bool missed) {
    strides_.observe(load);
    Site& site = sites_[slot_of(load.pc, kBits)];
    if (site.pc != load.pc) {
      site = {};
      site.pc = load.pc;
    }
    if (missed) learn(site, load);
    recent_[next_] = load;
    next_ = (next_ + 1) % kRecent;
  }

  // Calls found(pc of the dependent load, its address) for what depends on this load, `distance(pc of the dependent)`
  // being the level.
  template <class Level, class Peek, class Found>
  KVRM_INLINE void predict(const Load& load, Level level_of, Peek peek, Found found) const {
    const Source& source = sources_[slot_of(load.pc, kBits)];
    if (source.pc != load.pc) return;
    const i64 stride = strides_.stride_of(load.pc);
    for (const Dependent& one : source.dependents) {
      if (one.pc == 0) continue;
      u64 value = load.value;
      if (stride != 0) {
        const u64 ahead = load.address + static_cast<u64>(stride) * distance_of(level_of(one.pc));
        if (!peek(ahead, load.size, value)) continue;
      }
      found(one.pc, one.base + (value << one.shift));
    }
  }
  // Whether a load's address is known to come from another load.
  bool depends(u64 pc) const {
    const Site& site = sites_[slot_of(pc, kBits)];
    return site.pc == pc && site.linked != 0;
  }

 private:
  static constexpr u32 kRecent = 8, kGuesses = 6, kShifts = 5, kEnough = 3;
  static constexpr u32 kShiftOf[kShifts] = {0, 2, 3, 4, 6};
  // One guess for the source of a load: this earlier load, and for each shift the constant of the last time.
  struct Guess {
    u64 source;
    u64 bases[kShifts];
    u8 hits[kShifts];
  };
  struct Site {
    u64 pc;
    u64 linked;  // pc of the source
    Guess guesses[kGuesses];
    u32 next_guess;
    u32 misses;
  };
  struct Dependent {
    u64 pc, base;
    u32 shift;
  };
  struct Source {
    u64 pc;
    Dependent dependents[kDependents];
    u32 next;
  };

  void learn(Site& site, const Load& load) {
    if (site.linked != 0) {
      if (refresh(site, load)) return;
    }
    for (u32 back = 1; back <= kRecent; ++back) {
      const Load& source = recent_[(next_ + kRecent - back) % kRecent];
      if (source.pc == 0 || source.value == 0 || is_older(back)) continue;
      Guess& guess = guess_of(site, source.pc);
      for (u32 i = 0; i < kShifts; ++i) {
        const u64 base = load.address - (source.value << kShiftOf[i]);
        guess.hits[i] = base == guess.bases[i] ? static_cast<u8>(guess.hits[i] + 1) : u8{0};
        guess.bases[i] = base;
        if (guess.hits[i] >= kEnough) {
          // If another shift is right too, the value did not change: no evidence.
          if (guess.hits[i == 0 ? 1 : 0] == 0) link(site, source.pc, base, kShiftOf[i]);
          guess.hits[i] = 0;
          return;
        }
      }
    }
  }
  // Whether the same load came later, too.
  bool is_older(u32 back) const {
    const u64 pc = recent_[(next_ + kRecent - back) % kRecent].pc;
    for (u32 i = 1; i < back; ++i) {
      if (recent_[(next_ + kRecent - i) % kRecent].pc == pc) return true;
    }
    return false;
  }
  static Guess& guess_of(Site& site, u64 source) {
    for (Guess& guess : site.guesses) {
      if (guess.source == source) return guess;
    }
    Guess& guess = site.guesses[site.next_guess++ % kGuesses];
    guess = {};
    guess.source = source;
    return guess;
  }
  // A link that is wrong more often than right goes.
  bool refresh(Site& site, const Load& load) {
    Source& source = sources_[slot_of(site.linked, kBits)];
    for (Dependent& one : source.dependents) {
      if (source.pc != site.linked || one.pc != load.pc) continue;
      bool right = false;
      for (const Load& recent : recent_) {
        right |= recent.pc == source.pc && one.base + (recent.value << one.shift) == load.address;
      }
      site.misses = right ? 0 : site.misses + 1;
      if (site.misses < 16) return true;
      one.pc = 0;
    }
    site.linked = 0;
    site.misses = 0;
    return false;
  }
  void link(Site& site, u64 from, u64 base, u32 shift) {
    Source& source = sources_[slot_of(from, kBits)];
    if (source.pc != from) {
      source = {};
      source.pc = from;
    }
    Dependent* at = nullptr;
    for (Dependent& one : source.dependents) {
      if (one.pc == site.pc || (at == nullptr && one.pc == 0)) at = &one;
    }
    if (at == nullptr) at = &source.dependents[source.next++ % kDependents];
    *at = {site.pc, base, shift};
    site.linked = from;
    site.misses = 0;
  }

  Stride<kBits> strides_;
  Site sites_[1u << kBits] = {};
  Source sources_[1u << kBits] = {};
  Load recent_[kRecent] = {};
  u32 next_ = 0;
};

}  // namespace kvrm::prefetch
