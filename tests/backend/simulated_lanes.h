// Lanes as host threads: each thread turns over its lanes as a group on a GPU does, one step each, and none waits
// inside a step.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "simulated.h"

namespace kvrm::backend::test {

inline constexpr u32 kProcessWords = 4;

struct SimulatedLane {
  explicit SimulatedLane(u32 lane) : number(lane), space(u64{8} << 20), memory(space) {}

  kernel::LaneState state() { return {&cpu, process, kProcessWords}; }
  // Posts a request if there is a slot.
  bool post(const kernel::Mailbox& box, kernel::RequestKind kind, Trap trap = Trap::kNone) {
    slot = kernel::claim(box, number);
    if (slot == kernel::kNoSlot) return false;
    kernel::post(box, slot, {kind, trap, number, number}, state());
    return true;
  }
  // True when the reply is there.
  bool step(const kernel::Mailbox& box) {
    if (kernel::serve(box, slot, memory, state(), outcome) != kernel::Poll::kDone) return false;
    slot = kernel::kNoSlot;
    return true;
  }

  u32 number;
  memory::AddressSpace space;
  linux_abi::HostMemory memory;
  Cpu cpu{};
  u64 process[kProcessWords] = {};
  u32 slot = kernel::kNoSlot;
  kernel::Outcome outcome;
  u32 calls = 0;
};

// Runs lanes until each has made `calls` system calls, or an outcome other than kContinue came, or stop is set.
class LaneThreads {
 public:
  using Hook = std::function<void(SimulatedLane&)>;

  LaneThreads(const kernel::Mailbox& box, u32 threads, u32 lanes_each, u32 calls, Hook before, Hook after)
      : box_(box), calls_(calls), before_(std::move(before)), after_(std::move(after)) {
    for (u32 i = 0; i < threads * lanes_each; ++i) lanes_.push_back(std::make_unique<SimulatedLane>(i));
    for (u32 t = 0; t < threads; ++t) {
      threads_.emplace_back([this, t, lanes_each] { run(t * lanes_each, lanes_each); });
    }
  }
  ~LaneThreads() { join(); }
  void join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  void stop() { stop_.store(true); }
  SimulatedLane& operator[](u32 lane) { return *lanes_[lane]; }
  u32 size() const { return u32(lanes_.size()); }

 private:
  bool ended(const SimulatedLane& lane) const {
    return lane.slot == kernel::kNoSlot &&
           (lane.calls == calls_ || lane.outcome.kind != kernel::OutcomeKind::kContinue);
  }

  // True if something happened.
  bool step(SimulatedLane& lane) {
    if (ended(lane)) return false;
    if (lane.slot != kernel::kNoSlot) {
      if (!lane.step(box_)) return false;
      ++lane.calls;
      after_(lane);
      return true;
    }
    before_(lane);
    return lane.post(box_, kernel::RequestKind::kSystemCall);
  }

  void run(u32 first, u32 count) {
    for (bool busy = true; busy && !stop_.load(std::memory_order_relaxed);) {
      bool moved = false;
      busy = false;
      for (u32 i = first; i < first + count; ++i) {
        moved = step(*lanes_[i]) || moved;
        busy = busy || !ended(*lanes_[i]);
      }
      if (!moved) std::this_thread::yield();
    }
  }

  const kernel::Mailbox box_;
  const u32 calls_;
  const Hook before_, after_;
  std::vector<std::unique_ptr<SimulatedLane>> lanes_;
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

}  // namespace kvrm::backend::test
