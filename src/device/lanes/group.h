// The lanes of one warp, from load to end. Freestanding: the kernel is this function with a real warp, and tests run it
// with a simulated one.
#pragma once

#include "device/lanes/attend.h"
#include "device/lanes/meeting.h"
#include "device/lanes/own_code.h"

namespace kvrm::device::lanes {

// Common code that no lane can write is not what was decoded any more: somebody at the host has written to it.
inline bool common_code_written(const Launch& launch) {
  return launch.world->common && sync::load<sync::kRelaxed, sync::kDevice>(&launch.world->common_code_written) != 0;
}

inline constexpr u32 kAttention = 32;  // steps between two looks at lanes that wait while others run

// The window of shared decoded code around pc, if there is one: code of an image that this lane cannot write and has
// not replaced, or of common memory that nobody can write and nobody has.
inline bool find_window(const Launch& launch, const memory::LaneSpace& space, u64 pc, interpreter::CodeWindow& window) {
  const memory::Area* area = space.areas.find(pc);
  if (!area || (area->flags & (memory::kAreaSource | memory::kAreaTouched)) != memory::kAreaSource) return false;
  if ((area->flags & memory::kAreaCommon) && common_code_written(launch)) return false;
  if (!memory::is_fixed_code(area->protection)) return false;
  const u64 offset = area->source - reinterpret_cast<u64>(launch.images);
  if (offset >= launch.image_bytes) return false;
  window = {area->start, static_cast<u32>((area->end - area->start) / 4), launch.decoded + offset / 4, &launch.router};
  return true;
}

// For each word of the images while no lane runs: while lanes run together, what they run must not change.
inline void decode_image_word(const Launch& launch, u64 index) {
  const u32 word = memory::load_global<u32>(launch.images + index * 4);
  // The router may want to know pc: an image is mapped at page boundaries, so its low bits are those of the index.
  interpreter::store_entry(&launch.decoded[index], decode_word(launch, word, index * 4));
}

// Once the word is decoded, and before regions take the places of words.
inline void copy_plain_word(const Launch& launch, u64 index) {
  if (launch.regions) interpreter::store_entry(&launch.plain[index], interpreter::load_entry(&launch.decoded[index]));
}

// The words where regions begin, once all are decoded.
inline void place_region(const Launch& launch, u32 number) {
  interpreter::WordEntry& entry = launch.decoded[launch.regions[number].entry];
  entry.handler = interpreter::kHandleRegion;
  entry.operands = number;
}

inline void count_straight_words(const Launch& launch, u64 index) {
  const u64 words = launch.image_bytes / 4;
  launch.decoded[index].straight = interpreter::straight_words(launch.decoded, index, words);
  if (launch.regions) launch.plain[index].straight = interpreter::straight_words(launch.plain, index, words);
}

inline bool begins_region(const interpreter::WordEntry* entry) {
  return interpreter::load_entry(entry).handler == interpreter::kHandleRegion;
}

// The region that begins at an entry, if these lanes may run it. It must have been made for this window, and as lanes
// do not stop inside of it, they would pass those that wait there.
inline const interpreter::LaneRegion* find_region(const Launch& launch, const interpreter::CodeWindow& window,
                                                  const interpreter::WordEntry* entry, const Choice& choice) {
  const interpreter::LaneRegion& region = launch.regions[interpreter::load_entry(entry).operands];
  if (region.start != window.start || region.words != window.words) return nullptr;
  return launch.meet == 0 || (region.from >= choice.from && region.until <= choice.until) ? &region : nullptr;
}

// Where a lane stands when its turn is over: what it runs most is found there most. So with ways out of regions.
inline void note_place(const Launch& launch, const interpreter::CodeWindow& window, u64 pc, interpreter::Noted what) {
  const u64 index = static_cast<u64>(window.entries - launch.decoded) + (pc - window.start) / 4;
  const u64 all = launch.image_bytes / 4;
  if (pc - window.start >= u64{window.words} * 4 || index >= all) return;
  (void)sync::add<sync::kRelaxed, sync::kDevice>(&launch.heat[index + static_cast<u32>(what) * all], 1u);
}

// The host's memory is far away, and all warps together may look there less than a million times a second
// (docs/performance.md). So whoever finds that the last look was long ago looks for everybody.
template <class Warp>
KVRM_INLINE u32 ask_for_all(const Warp& warp, const Launch& launch) {
  News& news = *launch.news;
  const u64 last = sync::load<sync::kRelaxed, sync::kDevice>(&news.asked_at), now = warp.nanoseconds();
  if (static_cast<i64>(now - last) >= static_cast<i64>(kAskAfter) &&
      sync::compare_exchange<sync::kRelaxed, sync::kDevice>(&news.asked_at, last, now) == last) {
    // Within a launch the host only asks for more.
    const u32 heard = sync::load<sync::kRelaxed, sync::kSystem>(launch.control);
    if (heard != 0) (void)sync::fetch_or<sync::kRelaxed, sync::kDevice>(&news.control, heard);
  }
  return sync::load<sync::kRelaxed, sync::kDevice>(&news.control);
}

// The first look at a lane's record: nothing is in it yet.
inline void prepare_lane(const Launch& launch, u32 number) {
  Lane& lane = launch.lanes[number];
  lane.number = number;
  lane.job = kNoJob;
  lane.status = Status::kStopped;
  lane.space = {
      launch.world,
      launch.directories + (number >> launch.group_shift) * memory::directory_words(launch.world->directory_slots),
      memory::Areas(launch.areas + u64{number} * launch.area_capacity, 0, launch.area_capacity),
      number & ((1u << launch.group_shift) - 1),
      launch.page_limit,
      0,
      0,
      {}};
  lane.process.deadline = kNoDeadline;
  lane.steps = lane.since_by_turns = 0;
  lane.word[0].handler = interpreter::kHandleUndecoded;
}

// Every lane of the group calls this. `seat` is the group's place among those that run at the same time.
template <class Warp, class Home>
KVRM_INLINE void run_group(const Warp& warp, const Launch& launch, Lane& lane, Home home, u32 seat, U128* vectors) {
  u64* const progress = &launch.progress[lane.number];
  Cpu& cpu = home.cpu();
  memory::LaneMemory memory(&lane.space, home.pages());
  Attendant attendant(launch, lane, cpu, memory);
  give_vectors(cpu, vectors);
  copy_registers(lane.registers, cpu);
  memory.know_nothing(launch.far_pages + (u64{seat} * launch.far_slots << launch.group_shift) + lane.space.lane,
                      launch.far_slots, launch.group_shift, launch.group_shift == 0);
  OwnCode own_code(launch, lane, cpu, memory, (seat << launch.group_shift) + lane.space.lane);
  if (launch.orders && !launch.resume) attendant.take_order();

  // What the loop looks at all the time; the lane's record has it whenever the attendant works.
  Status status = lane.status;
  u64 left = lane.left;
  u64 deadline = lane.process.deadline;
  // By this run, up to the last look at the lane's record.
  u64 retired_before = launch.resume ? sync::load<sync::kRelaxed, sync::kSystem>(progress) : 0;
  u64 retired = 0;  // since then
  const auto with_attendant = [&](auto work) {
    lane.retired += retired;
    lane.left = left;
    retired_before += retired;
    retired = 0;
    work();
    status = lane.status;
    left = lane.left;
    deadline = lane.process.deadline;
  };

  interpreter::CodeWindow window{0, 0, nullptr};
  u32 window_changes = ~lane.space.changes;
  u32 since_poll = 0;
  u32 at_a_time = 0;  // instructions in regions that may be slow
  u32 step = lane.steps;
  u32 since_by_turns = lane.since_by_turns;  // instructions since a lane led that the rule did not choose
  u64 told_at = warp.nanoseconds(), asked_at = told_at;
  u32 turn_shift = 0;
  // What the host wants; and the first lane says how long turns are from now on.
  const auto asked_for = [&] {
    constexpr u32 kShiftAt = 8;
    u32 answer = 0;
    if (lane.space.lane == 0) {
      const u64 now = warp.nanoseconds(), took = now - asked_at;
      asked_at = now;
      const bool shorter = took > kTooLong && !launch.heat && launch.turn >> turn_shift >= 2 * kLeastTurn;
      const bool longer = took < kTooShort && turn_shift != 0;
      answer = ask_for_all(warp, launch) | (turn_shift + shorter - longer) << kShiftAt;
    }
    answer = warp.shuffle(answer, 0);
    turn_shift = answer >> kShiftAt;
    return answer;
  };
  bool cancelled = launch.resume && (asked_for() & kCancel) != 0;
  const auto tell = [&](u32 ran) {
    const u64 now = warp.nanoseconds();
    if (now - told_at < kTellAfter) return;
    told_at = now;
    sync::store<sync::kRelaxed, sync::kSystem>(progress, retired_before + retired + ran);
  };
  bool paused = false;
  bool out_of_jobs = launch.orders != nullptr;

  for (;;) {
    ++step;
    if (status == Status::kStopped && !out_of_jobs && !cancelled) {
      // The host's answer may have cancelled a job before the lanes look at the flag: no other begins then.
      with_attendant([&] {
        out_of_jobs = (lane.job != kNoJob && lane.stop.kind == StopKind::kCancelled) || !attendant.next_job();
      });
    }
    const u32 runnable = warp.ballot(status == Status::kRunning);
    const u32 alive = warp.ballot(status != Status::kStopped);
    if (alive == 0) break;

    // Those that wait look after themselves now and then; at once if nobody else can do anything.
    if (runnable != alive && (runnable == 0 || step % kAttention == 0)) {
      if (status != Status::kRunning && status != Status::kStopped) with_attendant([&] { attendant.attend(); });
      if (runnable == 0) {
        since_poll += launch.turn / 64 + 1;
        warp.pause();
      }
    }

    if (runnable != 0) {
      // Where each stands: lanes with the same code at the same place may run together.
      Trap trap = Trap::kNone;
      if (status == Status::kRunning &&
          (window_changes != lane.space.changes || cpu.pc - window.start >= u64{window.words} * 4 || cpu.pc % 4 != 0 ||
           common_code_written(launch))) {
        window_changes = lane.space.changes;
        if (cpu.pc % 4 != 0 || !(own_code.find(window) || find_window(launch, lane.space, cpu.pc, window))) {
          trap = own_code.fetch(window);
          if (trap != Trap::kNone || !window.watched) window_changes = ~lane.space.changes;  // good for this word only
        }
      }
      // A lane that cannot fetch stands alone.
      static_assert(kPlaceStep == sizeof(interpreter::WordEntry));
      const u64 index = (cpu.pc - window.start) / 4;
      const u64 place = trap != Trap::kNone
                            ? reinterpret_cast<u64>(&lane) | 1
                            : reinterpret_cast<u64>(window.entries) + index * sizeof(interpreter::WordEntry);
      const Choice choice = choose(warp, status == Status::kRunning, runnable, place, index << 32 | window.words,
                                   cpu.x[kSpSlot], step, launch.meet != 0);
      const u32 share = since_by_turns / kFairShare + 1, usual = launch.turn >> turn_shift;
      const u32 most = choice.by_turns && share < usual ? share : usual;
      u64 turn = left < most ? left : most;
      if (deadline > cpu.clock_ns && deadline - cpu.clock_ns < turn) turn = deadline - cpu.clock_ns;
      const u32 common_turn = warp.reduce_min(choice.mine ? static_cast<u32>(turn) : ~0u);
      u32 ran = 0, slow = 0;
      bool asked = false;
      if (choice.mine) {
        if (trap == Trap::kNone && common_turn != 0) {
          // What the loop cannot do is done here, and as long as the lanes stay together it goes on.
          const auto run = [&]<class Together>(const Together& together) {
            u32 at = static_cast<u32>(index);
            interpreter::WordEntry* code = window.entries;
            u32 patience = kPatience;
            bool go_on = true;
            while (go_on) {
              interpreter::TurnEnd end;
              bool over = false;
              const interpreter::LaneRegion* region = nullptr;
              if (begins_region(code + at)) {
                region = find_region(launch, window, code + at, choice);
                // All or none: the same words may be seen at other addresses.
                if (together.any(region == nullptr)) {
                  region = nullptr;
                  code = launch.plain + (window.entries - launch.decoded);
                }
              }
              // In a region lanes may part; each has its own count then.
              const bool may_be_slow = region && region->most != interpreter::LaneRegion::kNoLimit;
              const u32 limit = !may_be_slow ? common_turn : region->most < at_a_time ? at_a_time : region->most;
              const bool is_limited = limit < common_turn - ran;
              const u32 room = together.least(is_limited ? limit : common_turn - ran);
              if (region) {
                const u64 before = may_be_slow ? warp.cycles() : 0;
                const interpreter::RegionEnd done = home.run_region(*region, room);
                end = {done.trap, room - done.left};
                if (may_be_slow) {
                  const u32 took = static_cast<u32>((warp.cycles() - before) / kOrdinaryCycles) + 1;
                  slow += took;
                  at_a_time = end.retired * (2 * kPatience) / took;
                }
                // Or that was all it was given.
                const bool is_left = !is_limited || done.left >= room / 2;
                // What is left of the turn is too little for a round of it. The next turn is longer.
                over = end.trap == Trap::kNone && end.retired == 0 && ran != 0;
                if (launch.heat && lane.space.lane == choice.leader) {
                  if (end.trap == Trap::kNone && end.retired != 0 && is_left)
                    note_place(launch, window, cpu.pc, interpreter::Noted::kLeft);
                  if (end.trap == Trap::kNotHere) note_place(launch, window, cpu.pc, interpreter::Noted::kMissed);
                }
              } else {
                end = interpreter::run_turn<Together>(home, window.start, window.words, code, at, room, choice.from,
                                                      choice.until, choice.lanes);
                // It came to a region: that is next, not the word in whose place it is.
                if (end.trap == Trap::kNotHere && begins_region(code + (cpu.pc - window.start) / 4)) {
                  end.trap = Trap::kNone;
                }
              }
              trap = end.trap;
              ran += end.retired;
              cpu.clock_ns += end.retired;
              if (trap == Trap::kNotRecent) {
                slow += kSlowStep;
                const auto page = memory.resolve(cpu.fault_address, static_cast<Access>(cpu.fault_access));
                const bool is_noted =
                    page.entry & memory::kEntryWatched && cpu.fault_access == static_cast<u32>(Access::kWrite);
                // Of common pages only regions know how to access them, of those that cannot be read nobody.
                const bool is_known = page.entry & memory::kEntryCommon ? region && !launch.world->common_locks
                                                                        : (page.entry & memory::kEntryRead) != 0;
                trap = page.trap == Trap::kNone && is_known && !is_noted ? Trap::kNone : Trap::kNotHere;
                // A region may want more of the page than there is, and would not get further the next time either.
                if (region && end.retired == 0) trap = Trap::kNotHere;
              } else if (trap == Trap::kNotTogether) {
                trap = Trap::kNone;
              } else if (trap == Trap::kNone && end.retired == 0 && !over) {
                trap = Trap::kNotHere;
              }
              if (trap == Trap::kNotHere && window.watched) {
                // Straight code may have run off the stretch's end.
                if (cpu.pc - window.start >= memory::kStretchBytes) {
                  trap = Trap::kNone;
                } else if (const Trap fault = own_code.take_word(window); fault != Trap::kNone) {
                  trap = fault;
                }
              }
              if (trap == Trap::kNotHere) {
                slow += kSlowStep;
                trap = interpreter::run_one(cpu, memory, window);
                const u32 one = trap == Trap::kNone || trap == Trap::kSystemCall ? 1 : 0;
                ran += one;
                cpu.clock_ns += one;
              }
              // A lane is alone with its own code, so it may go from stretch to stretch.
              if (window.watched && cpu.pc - window.start >= memory::kStretchBytes &&
                  window_changes == lane.space.changes) {
                (void)own_code.find(window);
                code = window.entries;
              }
              if (slow >= patience) {
                patience = slow + kPatience;
                tell(ran);
                asked = (ask_for_all(warp, launch) & (launch.heat ? u32{kCancel} : ~0u)) != 0;
              }
              const u64 distance = cpu.pc - window.start;
              at = static_cast<u32>(distance / 4);
              go_on = together.agree(trap == Trap::kNone && !over && ran < common_turn && !asked &&
                                         window_changes == lane.space.changes && distance < u64{window.words} * 4 &&
                                         distance % 4 == 0 && at - choice.from < choice.until - choice.from,
                                     at);
            }
          };
          if (launch.group_shift == 0) {
            run(typename Warp::Alone(choice.lanes));
          } else if (choice.lanes == ~0u) {
            run(typename Warp::Whole(choice.lanes));
          } else {
            run(typename Warp::Together(choice.lanes));
          }
          retired += ran;
          left -= ran;
          if (launch.heat && trap == Trap::kNone && !asked && lane.space.lane == choice.leader)
            note_place(launch, window, cpu.pc, interpreter::Noted::kFound);
        }
        if (trap != Trap::kNone) {
          with_attendant([&] { attendant.trapped(trap); });
        } else if (deadline <= cpu.clock_ns) {
          with_attendant([&] { attendant.tick(); });
        }
        if (left == 0 && status == Status::kRunning) {
          with_attendant([&] { attendant.stop({StopKind::kBudget, Trap::kNone, 0, 0}); });
        }
      }
      const u32 most_ran = ~warp.reduce_min(~ran);  // in a region each lane has its own count
      const u32 waited = asked ? launch.turn : launch.heat ? 0 : slow;
      since_poll += most_ran + ~warp.reduce_min(~waited) + 1;
      since_by_turns = choice.by_turns ? 0 : since_by_turns + most_ran;
    }

    if (since_poll >= launch.turn >> turn_shift) {
      since_poll = 0;
      tell(0);
      const u32 asked = asked_for();
      cancelled = (asked & kCancel) != 0;
      if (cancelled && status != Status::kStopped) with_attendant([&] { attendant.cancel(); });
      paused = (asked & kPause) != 0;
      if (paused) break;
    }
  }
  if (paused && (status != Status::kStopped || (!out_of_jobs && !cancelled))) {
    sync::store<sync::kRelaxed, sync::kSystem>(launch.unfinished, 1u);
  }
  with_attendant([&] {
    if (launch.orders) {
      attendant.report(lane.number);
    } else if (status == Status::kStopped) {
      attendant.finish_job();
    }
  });
  own_code.end();
  lane.steps = step;
  lane.since_by_turns = since_by_turns;
  sync::store<sync::kRelaxed, sync::kSystem>(progress, retired_before);
  copy_registers(cpu, lane.registers);
}

}  // namespace kvrm::device::lanes
