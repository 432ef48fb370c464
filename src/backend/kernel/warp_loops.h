// Bulk steps of a lane that is alone in its warp, by all threads of the warp. The lane is the first thread's; the
// others wait in join_warp() from the kernel's begin to its end. Freestanding.
#pragma once

#include "accelerate/freestanding/warp_step.h"
#include "backend/kernel/shared_code.h"

namespace kvrm::backend::kernel {

// What the first thread tells the others, in memory that all of them see.
struct WarpOrder {
  const accelerate::WarpLoop* loop;  // null: they leave
  Lane* lane;
  u64 most;  // iterations
  u64 done;  // the answer
};
inline constexpr u32 kWarpOrderWords = sizeof(WarpOrder) / sizeof(u64);

// All threads of the warp meet here; this is the one place where they do. Home: the lane's, and
//   u64* spare(), u32 spare_words()   memory of the warp that is as fast as the registers'
// False: the warp's lanes have ended.
template <class Threads, class Home>
__attribute__((noinline)) bool join_warp(Threads threads, Home home, u64* scratch) {
  threads.sync();
  WarpOrder& order = *reinterpret_cast<WarpOrder*>(home.spare());
  const accelerate::WarpLoop* const loop = order.loop;
  if (!loop) return false;
  const u64 most = order.most;
  const accelerate::WarpMemory memory(&order.lane->space, home.pages());
  accelerate::WarpStep<Threads> step(*loop, home.cpu(), memory, threads, home.spare() + kWarpOrderWords,
                                     home.spare_words() - kWarpOrderWords, scratch);
  const u64 done = step.run(most);
  threads.sync();
  if (threads.me() == 0) order.done = done;
  return true;
}

// The scratch space of a lane among those that run at the same time.
KVRM_INLINE u64* loop_scratch(const Launch& launch, u32 seat) {
  return launch.loop_scratch + u64{seat} * accelerate::kWarpScratchWords;
}

// What threads do that have no lane.
template <class Threads, class Home>
KVRM_INLINE void help_lane(Threads threads, Home home, const Launch& launch, u32 seat) {
  while (join_warp(threads, home, loop_scratch(launch, seat))) {
  }
}
// And what ends it.
template <class Threads, class Home>
KVRM_INLINE void release_helpers(Threads threads, Home home, const Launch& launch, u32 seat) {
  reinterpret_cast<WarpOrder*>(home.spare())->loop = nullptr;
  (void)join_warp(threads, home, loop_scratch(launch, seat));
}

// The lane's side.
template <class Warp, class Home>
class BulkSteps {
 public:
  KVRM_INLINE BulkSteps(const Launch& launch, Lane& lane, Home home, u32 seat)
      : launch_(launch), lane_(lane), home_(home), seat_(seat) {}

  // The loop whose head this is, if it was proved for the window.
  KVRM_INLINE LaneLoop* loop_at(const interpreter::CodeWindow& window, const interpreter::WordEntry* at) const {
    const interpreter::WordEntry entry = interpreter::load_entry(at);
    if (entry.handler != interpreter::kHandleRegion || !(entry.operands & kLoopEntry)) return nullptr;
    LaneLoop* const loop = &launch_.loops[static_cast<u32>(entry.operands)];
    return loop->start == window.start && loop->words == window.words ? loop : nullptr;
  }

  // Does iterations of at most so many instructions; returns how many instructions they had.
  KVRM_COLD u32 run(const Warp& warp, LaneLoop& loop, u32 most) const {
    const u32 iterations = most / loop.body;
    if (iterations < kFewest) return 0;
    LoopJudge& judge = launch_.judges[u64{seat_} * launch_.loop_count + static_cast<u32>(&loop - launch_.loops)];
    if (judge.skip != 0) {
      --judge.skip;
      return 0;
    }
    const u64 before = warp.cycles();
    auto& order = *reinterpret_cast<WarpOrder*>(home_.spare());
    order.loop = loop.loop;
    order.lane = &lane_;
    order.most = iterations;
    (void)join_warp(warp.threads(), home_, loop_scratch(launch_, seat_));
    const u32 done = static_cast<u32>(order.done);
    if (done != 0) {
      (void)sync::add<sync::kRelaxed, sync::kDevice>(&loop.steps, u64{1});
      (void)sync::add<sync::kRelaxed, sync::kDevice>(&loop.iterations, u64{done});
      judge.failures = 0;
    } else {
      judge.failures += judge.failures < kMostFailures;
      judge.skip = (1u << judge.failures) - 1;
    }
    if (launch_.eager_loops == 0) decide(judge, loop, done, warp.cycles() - before);
    return done * loop.body;
  }

 private:
  static constexpr u32 kFewest = 2;  // iterations that are worth a step
  // A lane decides after so many steps. Where they took longer than what they did would have taken otherwise, it does
  // without them for a while, each time for longer.
  static constexpr u32 kTries = 16, kFirstPatience = 6, kMostPatience = 20, kMorePatience = 2;
  // After a step without an iteration, the next iterations are done without one: 1, 3, 7 and so on.
  static constexpr u32 kMostFailures = 6;
  // What an instruction takes at least, in a region and in the interpreter.
  static constexpr u32 kTranslatedCycles = 16, kInterpretedCycles = 128;

  KVRM_INLINE void decide(LoopJudge& judge, LaneLoop& loop, u32 done, u64 cycles) const {
    const u32 each = loop.region != LaneLoop::kNoRegion ? kTranslatedCycles : kInterpretedCycles;
    judge.gain += static_cast<i64>(u64{done} * loop.body * each) - static_cast<i64>(cycles);
    if (++judge.tries < kTries) return;
    const bool pays = judge.gain >= 0;
    judge.patience = pays || judge.patience < kFirstPatience          ? kFirstPatience
                     : judge.patience + kMorePatience < kMostPatience ? judge.patience + kMorePatience
                                                                      : kMostPatience;
    if (!pays) judge.skip = 1u << judge.patience;
    if (!pays) (void)sync::add<sync::kRelaxed, sync::kDevice>(&loop.left_out, u64{1});
    judge.tries = 0;
    judge.gain = 0;
  }

  const Launch& launch_;
  Lane& lane_;
  const Home home_;
  const u32 seat_;
};

}  // namespace kvrm::backend::kernel
