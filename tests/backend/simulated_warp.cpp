#include "simulated_warp.h"

#include <ucontext.h>

#include <chrono>
#include <thread>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KVRM_ASAN 1
#include <sanitizer/common_interface_defs.h>
#endif
#if __has_feature(thread_sanitizer)
#define KVRM_TSAN 1
#include <sanitizer/tsan_interface.h>
#endif
#endif

namespace kvrm::backend::test {
namespace {

class ThreadWaiter final : public Waiter {
 public:
  void wait(const std::atomic<u32>& word, u32 seen) override {
    for (int i = 0; i < 20 && word.load(std::memory_order_acquire) == seen; ++i) std::this_thread::yield();
    while (word.load(std::memory_order_acquire) == seen) word.wait(seen, std::memory_order_acquire);
  }
  void wake(std::atomic<u32>& word) override { word.notify_all(); }
  void pause() override { std::this_thread::yield(); }
};

// Fibers of one thread. The next to run is drawn from those that do not wait.
class Fibers final : public Waiter {
 public:
  Fibers(u32 lanes, u64 seed, std::function<void(u32)> body)
      : random_(seed), body_(std::move(body)), fibers_(lanes + 1), main_(lanes) {
    fibers_[main_].ended = true;
    for (u32 i = 0; i < lanes; ++i) {
      Fiber& fiber = fibers_[i];
      fiber.stack = std::make_unique_for_overwrite<u8[]>(kStack);
      ::getcontext(&fiber.context);
      fiber.bottom = fiber.stack.get();
      fiber.size = kStack;
      fiber.context.uc_stack.ss_sp = fiber.stack.get();
      fiber.context.uc_stack.ss_size = kStack;
      fiber.context.uc_link = nullptr;
      const u64 self = reinterpret_cast<u64>(this);
      ::makecontext(&fiber.context, reinterpret_cast<void (*)()>(enter), 2, u32(self), u32(self >> 32));
#if KVRM_TSAN
      fiber.tsan = __tsan_create_fiber(0);
#endif
    }
#if KVRM_TSAN
    fibers_[main_].tsan = __tsan_get_current_fiber();
#endif
  }
  ~Fibers() override {
#if KVRM_TSAN
    for (u32 i = 0; i < main_; ++i) __tsan_destroy_fiber(fibers_[i].tsan);
#endif
  }

  // Until all have ended.
  void run() {
    running_ = main_;
    switch_to(next());
  }

  void wait(const std::atomic<u32>& word, u32 seen) override {
    while (word.load(std::memory_order_acquire) == seen) {
      fibers_[running_].waits_for = &word;
      give_way();
    }
  }
  void wake(std::atomic<u32>& word) override {
    for (Fiber& fiber : fibers_) {
      if (fiber.waits_for == &word) fiber.waits_for = nullptr;
    }
  }
  void pause() override {
    std::this_thread::yield();
    give_way();
  }

 private:
  static constexpr std::size_t kStack = 512 << 10;
  struct Fiber {
    ucontext_t context;
    std::unique_ptr<u8[]> stack;
    const void* waits_for = nullptr;
    bool ended = false;
    CurrentLane current{};
    const void* bottom = nullptr;  // of the stack, for the sanitizers
    std::size_t size = 0;
    void* tsan = nullptr;
  };

  static void enter(u32 low, u32 high) { reinterpret_cast<Fibers*>(u64{high} << 32 | low)->fiber(); }
  void fiber() {
    arrived(nullptr);
    body_(running_);
    fibers_[running_].ended = true;
    switch_to(next());
    __builtin_unreachable();
  }

  u32 next() {
    u32 ready[33], count = 0;
    bool all_ended = true;
    for (u32 i = 0; i < main_; ++i) {
      all_ended &= fibers_[i].ended;
      if (!fibers_[i].ended && !fibers_[i].waits_for) ready[count++] = i;
    }
    if (all_ended) return main_;
    if (count == 0) __builtin_trap();  // all lanes wait: they disagree where to synchronize
    return ready[random_() % count];
  }
  void give_way() {
    const u32 to = next();
    if (to != running_) switch_to(to);
  }
  void switch_to(u32 to) {
    Fiber& from = fibers_[running_];
    from.current = current_lane();
    before_ = running_;
    running_ = to;
    void* fake = nullptr;
#if KVRM_ASAN
    const bool is_gone = from.ended && &from != &fibers_[main_];  // it never resumes
    __sanitizer_start_switch_fiber(is_gone ? nullptr : &fake, fibers_[to].bottom, fibers_[to].size);
#endif
#if KVRM_TSAN
    __tsan_switch_to_fiber(fibers_[to].tsan, 0);
#endif
    ::swapcontext(&from.context, &fibers_[to].context);
    arrived(fake);
    current_lane() = from.current;
  }
  // On the new stack.
  void arrived([[maybe_unused]] void* fake) {
#if KVRM_ASAN
    Fiber& before = fibers_[before_];
    __sanitizer_finish_switch_fiber(fake, &before.bottom, &before.size);
#endif
  }

  std::mt19937_64 random_;
  std::function<void(u32)> body_;
  std::vector<Fiber> fibers_;  // the last one is the thread itself
  const u32 main_;
  u32 running_ = 0, before_ = 0;
};

}  // namespace

CurrentLane& current_lane() {
  static thread_local CurrentLane current;
  return current;
}

void run_warp(Lanes kind, u32 lanes, u64 seed, const LaneBody& body) {
  if (kind == Lanes::kFibers) {
    SimulatedWarp* warp = nullptr;
    Fibers fibers(lanes, seed, [&](u32 lane) {
      current_lane() = {warp, lane};
      body(*warp, lane);
    });
    SimulatedWarp one(fibers, lanes);
    warp = &one;
    fibers.run();
    return;
  }
  ThreadWaiter waiter;
  SimulatedWarp warp(waiter, lanes);
  std::vector<std::jthread> threads;
  for (u32 lane = 0; lane < lanes; ++lane) {
    threads.emplace_back([&, lane] {
      current_lane() = {&warp, lane};
      body(warp, lane);
    });
  }
}

}  // namespace kvrm::backend::test
