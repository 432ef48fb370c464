// Counters for each static load, which choose among the policies and their distances. Every policy's expectation is
// written into a small table without prefetching anything (a sandbox, Pugsley et al., HPCA 2014). When a line that
// would miss is found there, the policy that expected it gets points for the time that prefetching would have saved;
// each expectation takes the points that a prefetch costs. Lines that were expected too shortly before they were needed
// raise the distance. Freestanding.
#pragma once

#include "prefetch/freestanding/policy.h"

namespace kvrm::prefetch {

// kLatency: how long memory takes, in the unit of `now`. Zeros are a good beginning.
template <u32 kSiteBits, u32 kTestBits, u32 kLatency>
class Counters {
 public:
  // The distance at which a policy is tried for a load.
  KVRM_INLINE u32 level(u64 pc, Policy policy) { return site(pc).tallies[static_cast<u32>(policy)].level; }

  // What is worth doing for a load.
  KVRM_INLINE Choice choice(u64 pc) const {
    const Site& site = sites_[slot_of(pc, kSiteBits)];
    if (site.pc != pc) return {};
    Choice best;
    i32 most = kEnough - 1;
    for (u32 i = 0; i < kPolicies; ++i) {
      if (site.tallies[i].points <= most) continue;
      most = site.tallies[i].points;
      best = {static_cast<Policy>(i), site.tallies[i].level};
    }
    return best;
  }

  // The policy expects an access of this load to a line.
  KVRM_INLINE void expect(u64 pc, Policy policy, u64 line, u32 now) {
    Test& test = tests_[test_slot(line, policy)];
    if (test.line == tag(line, policy)) return;  // expected already
    debit(site(pc).tallies[static_cast<u32>(policy)]);
    test = {tag(line, policy), slot_of(pc, kSiteBits), now};
  }

  // A line is needed that is not there, or would not be without prefetching.
  KVRM_INLINE void need(u64 line, u32 now) {
    for (u32 i = 0; i < kPolicies; ++i) {
      Test& test = tests_[test_slot(line, static_cast<Policy>(i))];
      if (test.line != tag(line, static_cast<Policy>(i))) continue;
      credit(sites_[test.site].tallies[i], now - test.since);
      test.line = 0;
    }
  }

  // What is expected now, and would be too old when learning goes on, counts for nothing.
  void forget_expectations() {
    for (Test& test : tests_) test.line = 0;
  }

 private:
  static constexpr i32 kMost = 255, kEnough = 24, kCredit = 6, kDebit = 2;
  static constexpr i32 kLateLimit = 8;
  struct Tally {
    i16 points;
    u8 level;
    i8 late;  // late expectations less those in time
  };
  struct Site {
    u64 pc;
    Tally tallies[kPolicies];
  };
  struct Test {
    u64 line;  // with the policy; 0: none
    u32 site;
    u32 since;
  };

  static constexpr u64 tag(u64 line, Policy policy) { return line << 3 | static_cast<u32>(policy) | 4; }
  static constexpr u32 test_slot(u64 line, Policy policy) { return slot_of(tag(line, policy), kTestBits); }

  KVRM_INLINE Site& site(u64 pc) {
    Site& site = sites_[slot_of(pc, kSiteBits)];
    if (site.pc != pc) {
      site = {};
      site.pc = pc;
      for (Tally& tally : site.tallies) tally.level = 1;
    }
    return site;
  }
  KVRM_INLINE void credit(Tally& tally, u32 age) {
    const bool in_time = age >= kLatency;
    const i32 saved = in_time ? kCredit : static_cast<i32>(u64{kCredit} * age / kLatency);
    const i32 points = tally.points + saved;
    tally.points = static_cast<i16>(points < kMost ? points : kMost);
    if (in_time) {
      if (tally.late > -kLateLimit) --tally.late;
    } else if (++tally.late >= kLateLimit) {
      tally.late = 0;
      if (tally.level + 1u < kLevels) ++tally.level;
    }
  }
  KVRM_INLINE void debit(Tally& tally) {
    const i32 points = tally.points - kDebit;
    // As far ahead as it is, it may be wrong for that reason.
    if (tally.points >= kEnough && points < kEnough && tally.level > 0) --tally.level;
    tally.points = static_cast<i16>(points > 0 ? points : 0);
  }

  Site sites_[1u << kSiteBits] = {};
  Test tests_[1u << kTestBits] = {};
};

}  // namespace kvrm::prefetch
