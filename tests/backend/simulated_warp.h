// Warps on the host. The lanes of a warp are threads, or fibers of one thread that run in a random order which a
// seed decides. They synchronize wherever the lanes of a real warp vote or exchange values, those of the mask only.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

#include "base/types.h"
#include "simulated_kernel.h"

namespace kvrm::backend::test {

// How lanes of a warp wait for each other.
class Waiter {
 public:
  virtual ~Waiter() = default;
  virtual void wait(const std::atomic<u32>& word, u32 seen) = 0;  // until the word is another
  virtual void wake(std::atomic<u32>& word) = 0;  // the word has changed
  virtual void pause() = 0;
};

class SimulatedWarp {
 public:
  explicit SimulatedWarp(Waiter& waiter, u32 lanes) : waiter_(waiter), whole_(lanes == 32 ? ~0u : (1u << lanes) - 1) {}

  u32 whole() const { return whole_; }
  void pause() { waiter_.pause(); }

  // What each lane of the mask brings to this rendezvous.
  struct Values {
    u64 of[32];
  };
  Values exchange(u32 lane, u32 mask, u64 value) {
    if (!(mask >> lane & 1)) __builtin_trap();  // a lane that does not belong here
    if (mask == 1u << lane) {
      Values alone{};
      alone.of[lane] = value;
      return alone;
    }
    Rendezvous& rendezvous = rendezvous_of(mask);
    const u32 round = rendezvous.round.load(std::memory_order_acquire);
    rendezvous.brought.of[lane] = value;
    const u32 here = rendezvous.here.fetch_or(1u << lane, std::memory_order_acq_rel) | 1u << lane;
    if (here == mask) {
      rendezvous.result = rendezvous.brought;
      rendezvous.here.store(0, std::memory_order_relaxed);
      rendezvous.round.fetch_add(1, std::memory_order_release);
      waiter_.wake(rendezvous.round);
    } else {
      waiter_.wait(rendezvous.round, round);
    }
    // No lane can finish the next rendezvous of this mask before all have arrived.
    return rendezvous.result;
  }

 private:
  struct Rendezvous {
    std::atomic<u32> round = 0, here = 0;
    Values brought{}, result{};
  };
  Rendezvous& rendezvous_of(u32 mask) {
    if (mask == whole_) return of_all_;
    const std::lock_guard lock(mutex_);
    return rendezvous_[mask];
  }

  Waiter& waiter_;
  const u32 whole_;
  Rendezvous of_all_;
  std::mutex mutex_;
  std::map<u32, Rendezvous> rendezvous_;
};

// Calls body(lane) for each lane of a warp, and returns when all have.
using LaneBody = std::function<void(SimulatedWarp& warp, u32 lane)>;
void run_warp(Lanes kind, u32 lanes, u64 seed, const LaneBody& body);

// The lane that is running on this thread.
struct CurrentLane {
  SimulatedWarp* warp;
  u32 lane;
};
CurrentLane& current_lane();

// Some lanes of a warp that run a slice together (interpreter/freestanding/lane_loop.h).
template <bool kIsAlone>
class LanesTogether {
 public:
  static constexpr bool kAlone = kIsAlone;
  static constexpr bool kPrivateJumps = false;
  explicit LanesTogether(u32 mask) : current_(current_lane()), mask_(mask) {}
  bool any(bool condition) const {
    const auto values = exchange(condition);
    bool found = false;
    for (u32 i = 0; i < 32; ++i) found |= (mask_ >> i & 1) && values.of[i];
    return found;
  }
  bool agree(bool inside, u32 key) const {
    const u64 mine = u64{inside} << 32 | key;
    const auto values = exchange(mine);
    const u64 first = values.of[__builtin_ctz(mask_)];
    for (u32 i = 0; i < 32; ++i) {
      if ((mask_ >> i & 1) && (values.of[i] != first || !(values.of[i] >> 32))) return false;
    }
    return true;
  }
  u32 least(u32 value) const {
    const auto values = exchange(value);
    for (u32 i = 0; i < 32; ++i) {
      if ((mask_ >> i & 1) && values.of[i] < value) value = static_cast<u32>(values.of[i]);
    }
    return value;
  }

 private:
  SimulatedWarp::Values exchange(u64 value) const { return current_.warp->exchange(current_.lane, mask_, value); }
  CurrentLane current_;
  u32 mask_;
};

// All threads of a warp, where only the first has a lane (backend/kernel/warp_loops.h).
class ThreadsOfWarp {
 public:
  ThreadsOfWarp(SimulatedWarp& warp, u32 me) : warp_(&warp), me_(me) {}
  u32 me() const { return me_; }
  void sync() const { (void)exchange(0); }
  bool any(bool condition) const {
    bool found = false;
    for (const u64 value : exchange(condition).of) found |= value != 0;
    return found;
  }
  u64 least(u64 mine) const {
    for (const u64 value : exchange(mine).of) mine = std::min(mine, value);
    return mine;
  }
  u32 least(u32 mine) const { return static_cast<u32>(least(u64{mine})); }
  u64 shuffle(u64 value, u32 from) const { return exchange(value).of[from]; }

 private:
  SimulatedWarp::Values exchange(u64 value) const { return warp_->exchange(me_, ~0u, value); }
  SimulatedWarp* warp_;
  u32 me_;
};

// The warp as a lane of it sees it (backend/kernel/reconvergence.h). It may have threads without a lane.
class WarpOfLane {
 public:
  using Together = LanesTogether<false>;
  using Whole = LanesTogether<false>;
  using Alone = LanesTogether<true>;
  WarpOfLane(SimulatedWarp& warp, u32 lane, const std::atomic<u64>* clock = nullptr)
      : WarpOfLane(warp, lane, warp.whole(), clock) {}
  WarpOfLane(SimulatedWarp& warp, u32 lane, u32 lanes, const std::atomic<u64>* clock)
      : warp_(warp), lane_(lane), lanes_(lanes), clock_(clock) {}
  ThreadsOfWarp threads() const { return {warp_, lane_}; }

  u32 ballot(bool value) const {
    const auto values = warp_.exchange(lane_, lanes_, value);
    u32 result = 0;
    for (u32 i = 0; i < 32; ++i) result |= u32{values.of[i] != 0} << i;
    return result & lanes_;
  }
  template <class T>
  T shuffle(T value, u32 from) const {
    if (!(lanes_ >> from & 1)) __builtin_trap();
    return static_cast<T>(warp_.exchange(lane_, lanes_, value).of[from]);
  }
  u32 reduce_min(u32 value) const {
    const auto values = warp_.exchange(lane_, lanes_, value);
    u32 least = value;
    for (u32 i = 0; i < 32; ++i) {
      if (lanes_ >> i & 1 && values.of[i] < least) least = static_cast<u32>(values.of[i]);
    }
    return least;
  }
  void pause() const { warp_.pause(); }
  // Without a clock it is always later: everything that is done now and then is done.
  u64 nanoseconds() const {
    if (clock_) return clock_->load();
    static std::atomic<u64> seconds = 0;
    return ++seconds * 1'000'000'000;
  }
  u64 cycles() const { return nanoseconds(); }

 private:
  SimulatedWarp& warp_;
  u32 lane_, lanes_;
  const std::atomic<u64>* clock_;
};

}  // namespace kvrm::backend::test
