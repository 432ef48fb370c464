// One time slice of the lanes that run together: the loop of hot rows, translated regions, and the fallback for what
// neither of them does. Freestanding.
//
// Everything here is inlined into the kernel. The scalars stay in registers, since no address of these structs escapes;
// what functions that are not inlined take by reference (window, memory, private code) are separate objects.
#pragma once

#include "backend/kernel/prefetch.h"
#include "backend/kernel/shared_code.h"
#include "backend/kernel/slice_controller.h"
#include "backend/kernel/warp_loops.h"
#include "interpreter/freestanding/lone_loop.h"

namespace kvrm::backend::kernel {

// What a lane keeps in registers while it runs; its record is up to date whenever the trap handler works.
struct LaneRun {
  Status status;
  u64 left;  // of the budget
  u64 deadline;  // of the process's timers
  // Instructions retired in this run: up to the last update of the record, and since then.
  u64 retired_before;
  u64 retired;
};

// What a slice has done so far.
struct SliceResult {
  Trap trap;
  u32 ran = 0;  // instructions
  u32 slow = 0;  // cost of slow ones among them, in ordinary instructions
  bool interrupted = false;  // the host wants something: the slice ends early
};

// How the loop or a region was left.
struct SliceExit {
  Trap trap;
  u32 retired;
  bool too_short;  // the rest of the slice is too short for one iteration of the region; the next slice is longer
};

template <class Warp, class Home>
class SliceRunner {
 public:
  KVRM_INLINE SliceRunner(const Warp& warp, const Launch& launch, Lane& lane, Home home, memory::LaneMemory& memory,
                          PrivateCode& private_code, interpreter::CodeWindow& window, u32 seat)
      : warp_(warp),
        launch_(launch),
        lane_(lane),
        home_(home),
        cpu_(home.cpu()),
        memory_(memory),
        private_code_(private_code),
        window_(window),
        seat_(seat),
        window_changes_(~lane.space.changes) {}

  // Makes the window the one around pc.
  KVRM_INLINE Trap fetch() {
    if (window_changes_ == lane_.space.changes && cpu_.pc - window_.start < u64{window_.words} * 4 &&
        cpu_.pc % 4 == 0 && !shared_code_written(launch_))
      return Trap::kNone;
    window_changes_ = lane_.space.changes;
    if (cpu_.pc % 4 == 0 && (private_code_.find(window_) || find_window(launch_, lane_.space, cpu_.pc, window_)))
      return Trap::kNone;
    const Trap trap = private_code_.fetch(window_);
    if (trap != Trap::kNone || !window_.watched) window_changes_ = ~lane_.space.changes;  // good for this word only
    return trap;
  }

  // Lanes with the same position may run together. A lane that cannot fetch runs alone.
  KVRM_INLINE CodePosition position(Trap trap) const {
    static_assert(kEntryBytes == sizeof(interpreter::WordEntry));
    const u64 index = (cpu_.pc - window_.start) / 4;
    const u64 entry = trap != Trap::kNone
                          ? reinterpret_cast<u64>(&lane_) | 1
                          : reinterpret_cast<u64>(window_.entries) + index * sizeof(interpreter::WordEntry);
    return {entry, index << 32 | window_.words};
  }

  // Runs at most `length` instructions from this word on, together with the other chosen lanes.
  KVRM_INLINE void run_slice(const Choice& choice, u32 index, u32 length, const LaneRun& run,
                             SliceController<Warp>& controller, SliceResult& result) {
    if (launch_.group_shift == 0) {
      run_together(typename Warp::Alone(choice.lanes), choice, index, length, run, controller, result);
    } else if (choice.lanes == ~0u) {
      run_together(typename Warp::Whole(choice.lanes), choice, index, length, run, controller, result);
    } else {
      run_together(typename Warp::Together(choice.lanes), choice, index, length, run, controller, result);
    }
    if (launch_.samples && result.trap == Trap::kNone && !result.interrupted && lane_.space.lane == choice.leader)
      add_sample(launch_, window_, cpu_.pc, interpreter::SampleKind::kSliceEnd);
  }

 private:
  using Region = interpreter::LaneRegion;

  // Goes on as long as the lanes stay together.
  template <class Together>
  KVRM_INLINE void run_together(const Together& together, const Choice& choice, u32 index, u32 length,
                                const LaneRun& run, SliceController<Warp>& controller, SliceResult& result) {
    interpreter::WordEntry* code = window_.entries;
    u32 next_poll = kSlowPollInterval;
    bool go_on = true;
    while (go_on) {
      LaneLoop* loop = nullptr;
      if constexpr (Together::kAlone) {
        if (launch_.loop_count != 0) loop = loop_at(launch_, window_, code + index);
        if (loop && !step_loop(*loop, length, run, result)) return;
      }
      const Region* const region = find_common_region(together, choice, index, code);
      // Where there is no region, an iteration of the loop runs from the words without regions and loops.
      const u32 rest = length - result.ran;
      const Quota quota = quota_for(together, region, loop && !region && loop->body < rest ? loop->body : rest);
      const SliceExit exit =
          region ? run_region(*region, quota, choice, result) : run_words(together, quota, choice, code, index);
      result.ran += exit.retired;
      cpu_.clock_ns += exit.retired;
      result.trap = classify_exit(exit, region, result);
      if (result.trap == Trap::kFallback) run_fallback(result);
      // A lane runs its private code alone, so it may go from line to line.
      if (window_.watched && cpu_.pc - window_.start >= memory::kCodeLineBytes &&
          window_changes_ == lane_.space.changes) {
        (void)private_code_.find(window_);
        code = window_.entries;
      }
      if (loop) code = window_.entries;
      if (result.slow >= next_poll) {
        next_poll = result.slow + kSlowPollInterval;
        controller.report(run.retired_before + run.retired + result.ran);
        result.interrupted = (poll_host(warp_, launch_) & (launch_.samples ? u32{kCancel} : ~0u)) != 0;
      }
      const u64 offset = cpu_.pc - window_.start;
      index = static_cast<u32>(offset / 4);
      go_on =
          together.agree(result.trap == Trap::kNone && !exit.too_short && result.ran < length && !result.interrupted &&
                             window_changes_ == lane_.space.changes && offset < u64{window_.words} * 4 &&
                             offset % 4 == 0 && index - choice.from < choice.until - choice.from,
                         index);
    }
  }

  // Before the head of a proven loop. A bulk step takes little time, so it need not end with the slice: only with the
  // budget, and where timers are due. Samples are taken where slices end. False: the slice is over.
  KVRM_INLINE bool step_loop(LaneLoop& loop, u32 length, const LaneRun& run, SliceResult& result) {
    constexpr u64 kMost = 1u << 30;  // instructions
    u64 most = length - result.ran;
    if (!launch_.samples && (run.deadline > cpu_.clock_ns || run.deadline == kNoDeadline)) {
      most = run.left - result.ran < kMost ? run.left - result.ran : kMost;
      if (run.deadline - cpu_.clock_ns < most) most = run.deadline - cpu_.clock_ns;
    }
    const u32 done = kernel::run_bulk_step(Warp(warp_), launch_, lane_, home_, seat_, loop, static_cast<u32>(most));
    result.ran += done;
    cpu_.clock_ns += done;
    return result.ran < length && window_changes_ == lane_.space.changes;
  }

  // The region at this word, if all of the lanes may run it. Otherwise the code is the one without regions: the same
  // words may be mapped at different addresses.
  template <class Together>
  KVRM_INLINE const Region* find_common_region(const Together& together, const Choice& choice, u32 index,
                                               interpreter::WordEntry*& code) const {
    if (!is_region_entry(code + index)) return nullptr;
    const Region* const region = find_region(launch_, window_, code + index, choice);
    if (!together.any(region == nullptr)) return region;
    code = launch_.plain + (window_.entries - launch_.decoded);
    return nullptr;
  }

  // Instructions the lanes run at a time: what is left of the slice, or less in a region that may be slow. Lanes may
  // diverge in a region, so each has its own count, and the smallest rest is the quota of all.
  struct Quota {
    u32 instructions;
    bool may_be_slow, is_limited;
  };
  template <class Together>
  KVRM_INLINE Quota quota_for(const Together& together, const Region* region, u32 rest) const {
    const bool may_be_slow = region && region->most != Region::kNoLimit;
    const u32 limit = !may_be_slow ? ~0u : region->most < region_quota_ ? region_quota_ : region->most;
    const bool is_limited = limit < rest;
    return {together.least(is_limited ? limit : rest), may_be_slow, is_limited};
  }

  KVRM_INLINE SliceExit run_region(const Region& region, const Quota& quota, const Choice& choice,
                                   SliceResult& result) {
    const u64 before = quota.may_be_slow ? warp_.cycles() : 0;
    const interpreter::RegionEnd end = home_.run_region(region, quota.instructions);
    const u32 retired = quota.instructions - end.left;
    if (quota.may_be_slow) {
      const u32 took = static_cast<u32>((warp_.cycles() - before) / kCyclesPerInstruction) + 1;
      result.slow += took;
      region_quota_ = retired * (2 * kSlowPollInterval) / took;
    }
    if (launch_.samples && lane_.space.lane == choice.leader) {
      // A limited region may have used up its quota instead.
      const bool is_left = !quota.is_limited || end.left >= quota.instructions / 2;
      if (end.trap == Trap::kNone && retired != 0 && is_left) add_exit(launch_, window_, cpu_.pc, region);
      if (end.trap == Trap::kFallback) add_sample(launch_, window_, cpu_.pc, interpreter::SampleKind::kRegionFallback);
    }
    return {end.trap, retired, end.trap == Trap::kNone && retired == 0 && result.ran != 0};
  }

  template <class Together>
  KVRM_INLINE SliceExit run_words(const Together& together, const Quota& quota, const Choice& choice,
                                  interpreter::WordEntry* code, u32 index) {
    const u32 most = launch_.samples ? until_sample(together, quota.instructions, choice) : quota.instructions;
    interpreter::LoopEnd end =
        Together::kAlone && launch_.crowded
            ? interpreter::run_lone_lane(home_, window_.start, window_.words, code, index, most)
            : interpreter::run_lane_loop<Together>(home_, window_.start, window_.words, code, index, most, choice.from,
                                                   choice.until, choice.lanes);
    interpreted_ += end.retired;
    // The loop came to a region, which is next. The fallback would run the word that the region replaces.
    if (end.trap == Trap::kFallback && is_region_entry(code + (cpu_.pc - window_.start) / 4)) end.trap = Trap::kNone;
    return {end.trap, end.retired, false};
  }

  // Counts the word at pc if a sample is due. Returns how many instructions the interpreter may run until the next one.
  template <class Together>
  KVRM_INLINE u32 until_sample(const Together& together, u32 most, const Choice& choice) {
    constexpr u32 kShortest = 16;  // the loop stops where a basic block would be too long
    if (interpreted_ + kShortest > interpreter::kSamplePeriod) {
      interpreted_ = 0;
      if (lane_.space.lane == choice.leader)
        add_sample(launch_, window_, cpu_.pc, interpreter::SampleKind::kInterpreted);
    }
    const u32 rest = interpreter::kSamplePeriod - interpreted_;
    return together.least(rest < most ? rest : most);
  }

  // What follows an exit. kNone: continue; kFallback: the next instruction needs the whole memory; or the guest's trap.
  KVRM_INLINE Trap classify_exit(const SliceExit& exit, const Region* region, SliceResult& result) {
    Trap trap = exit.trap;
    if (trap == Trap::kTlbMiss) {
      result.slow += kSlowStepCost;
      trap = refill_tlb(region);
      if (launch_.prefetchers && trap == Trap::kNone) prefetch_after_miss(launch_, lane_, cpu_, memory_);
      // A region may access more than the page has, and would not get further the next time either.
      if (region && exit.retired == 0) trap = Trap::kFallback;
    } else if (trap == Trap::kDiverged) {
      trap = Trap::kNone;
    } else if (trap == Trap::kNone && exit.retired == 0 && !exit.too_short) {
      trap = Trap::kFallback;
    }
    if (trap != Trap::kFallback || !window_.watched) return trap;
    // Sequential code may have run off the end of its line.
    if (cpu_.pc - window_.start >= memory::kCodeLineBytes) return Trap::kNone;
    const Trap fault = private_code_.decode_at_pc(window_);
    return fault != Trap::kNone ? fault : Trap::kFallback;
  }

  // kNone: the TLB has the page now. kFallback: the access faults, or neither the loop nor a region can do it.
  KVRM_INLINE Trap refill_tlb(const Region* region) {
    const auto page = memory_.resolve(cpu_.fault_address, static_cast<Access>(cpu_.fault_access));
    const bool is_watched_write =
        page.entry & memory::kEntryWatched && cpu_.fault_access == static_cast<u32>(Access::kWrite);
    // Only regions access shared pages, and only without locks.
    const bool is_cached = page.entry & memory::kEntryShared ? region && !launch_.world->shared_locks
                                                             : (page.entry & memory::kEntryRead) != 0;
    return page.trap == Trap::kNone && is_cached && !is_watched_write ? Trap::kNone : Trap::kFallback;
  }

  KVRM_INLINE void run_fallback(SliceResult& result) {
    result.slow += kSlowStepCost;
    interpreted_ += kSlowStepCost;
    result.trap = interpreter::run_one(cpu_, memory_, window_);
    const u32 retired = result.trap == Trap::kNone || result.trap == Trap::kSystemCall ? 1 : 0;
    result.ran += retired;
    cpu_.clock_ns += retired;
  }

  const Warp& warp_;
  const Launch& launch_;
  Lane& lane_;
  const Home home_;
  Cpu& cpu_;
  memory::LaneMemory& memory_;
  PrivateCode& private_code_;
  interpreter::CodeWindow& window_;
  const u32 seat_;
  u32 window_changes_;  // lane.space.changes when the window was found
  u32 region_quota_ = 0;  // instructions at a time in regions that may be slow
  u32 interpreted_ = 0;  // instructions in the interpreter since its last sample
};

}  // namespace kvrm::backend::kernel
