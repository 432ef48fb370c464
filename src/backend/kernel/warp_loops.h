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

// --- the lane's side -----------------------------------------------------------------------------------------------

// The loop whose head this is, if it was proved for the window.
KVRM_INLINE LaneLoop* loop_at(const Launch& launch, const interpreter::CodeWindow& window,
                              const interpreter::WordEntry* at) {
  const interpreter::WordEntry entry = interpreter::load_entry(at);
  if (entry.handler != interpreter::kHandleRegion || !(entry.operands & kLoopEntry)) return nullptr;
  LaneLoop* const loop = &launch.loops[static_cast<u32>(entry.operands)];
  return loop->start == window.start && loop->words == window.words ? loop : nullptr;
}

// A lane decides after kTries steps. Where they took longer than what they did would have taken otherwise, it does
// without them for 1 << patience times, and each time for longer.
KVRM_INLINE void judge_steps(LoopJudge& judge, LaneLoop& loop, u32 done, u64 cycles) {
  constexpr u32 kTries = 16, kFirstPatience = 6, kMorePatience = 2, kMostPatience = 20;
  // What an instruction takes at least, in a region and in the interpreter.
  constexpr u32 kTranslatedCycles = 8, kInterpretedCycles = 128;
  const u32 each = loop.region != LaneLoop::kNoRegion ? kTranslatedCycles : kInterpretedCycles;
  judge.gain += static_cast<i64>(u64{done} * loop.body * each) - static_cast<i64>(cycles);
  if (++judge.tries < kTries) return;
  if (judge.gain >= 0) {
    judge.patience = 0;
  } else {
    const u32 longer = judge.patience == 0 ? kFirstPatience : judge.patience + kMorePatience;
    judge.patience = longer < kMostPatience ? longer : kMostPatience;
    judge.skip = 1u << judge.patience;
    (void)sync::add<sync::kRelaxed, sync::kDevice>(&loop.left_out, u64{1});
  }
  judge.tries = 0;
  judge.gain = 0;
}

// Does iterations of at most so many instructions; returns how many instructions they had. Takes the address of nothing
// that the lane has in registers.
template <class Warp, class Home>
KVRM_COLD u32 run_bulk_step(Warp warp, const Launch& launch, Lane& lane, Home home, u32 seat, LaneLoop& loop,
                            u32 most) {
  constexpr u32 kFewest = 2;  // iterations that are worth a step
  // After a step without an iteration, the next iterations are done without one: 1, 3, 7 and so on.
  constexpr u32 kMostFailures = 6;
  LoopJudge& judge = launch.judges[u64{seat} * launch.loop_count + static_cast<u32>(&loop - launch.loops)];
  if (judge.skip != 0) {
    --judge.skip;
    return 0;
  }
  const u32 iterations = most / loop.body;
  if (iterations < kFewest) return 0;
  const u64 before = warp.cycles();
  auto& order = *reinterpret_cast<WarpOrder*>(home.spare());
  order.loop = loop.loop;
  order.lane = &lane;
  order.most = iterations;
  (void)join_warp(warp.threads(), home, loop_scratch(launch, seat));
  const u32 done = static_cast<u32>(order.done);
  if (done != 0) {
    (void)sync::add<sync::kRelaxed, sync::kDevice>(&loop.steps, u64{1});
    (void)sync::add<sync::kRelaxed, sync::kDevice>(&loop.iterations, u64{done});
    judge.failures = 0;
  } else {
    judge.failures += judge.failures < kMostFailures;
    judge.skip = (1u << judge.failures) - 1;
  }
  if (launch.eager_loops == 0) judge_steps(judge, loop, done, warp.cycles() - before);
  return done * loop.body;
}

}  // namespace kvrm::backend::kernel
