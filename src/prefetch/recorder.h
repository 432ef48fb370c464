// What the network learns from: windows of a load's misses, and what each policy at each distance would have done for
// the misses that followed. Nothing is prefetched here; expectations are compared with what was needed.
#pragma once

#include <unordered_map>
#include <vector>

#include "prefetch/freestanding/site_window.h"
#include "prefetch/simulation.h"

namespace kvrm::prefetch {

class Recorder {
 public:
  // A record is this many floats: the window; for each policy and distance the share of the following misses' time that
  // it would have saved, then the prefetches for each of these misses; and how many misses the load had had.
  static constexpr u32 kOptions = kPolicies * kLevels;
  static constexpr u32 kRecord = kWindow * kWindowFeatures + 2 * kOptions + 1;

  Recorder(Peek peek, u32 history_bits);

  void load(const Load& load, u64 instructions);
  void store(u64 address);
  // One record after the other.
  const std::vector<float>& records() const { return records_; }

 private:
  static constexpr u32 kFollowing = 64;  // misses
  struct Site {
    SiteWindow window;
    u64 next_record = kWindow + 1;  // when it has missed so often
    u32 left = 0;  // misses until the pending record is complete; 0: there is none
    float pending[kRecord];
  };
  struct Expected {
    u64 line = 0;
    u64 since = 0;
    Site* site = nullptr;
  };

  void need(Site& site, u64 line, u64 now);
  void expect(Site& site, Policy policy, u32 level, u64 address, u64 now);
  void advance(Site& site);
  Expected& expected(u32 option, u64 line);

  static constexpr u32 kTableBits = 15;
  const Peek peek_;
  CacheModel small_{kSmallBytes, kSmallWays};
  Knowledge knowledge_;
  std::unordered_map<u64, Site> sites_;
  std::vector<Expected> expected_;
  std::vector<float> records_;
  u64 misses_ = 0;
};

}  // namespace kvrm::prefetch
