// The lanes of one warp, from load to end. Freestanding: the kernel is this function with a real warp, and tests run it
// with a simulated one.
#pragma once

#include "backend/kernel/slice.h"
#include "backend/kernel/trap_handler.h"

namespace kvrm::backend::kernel {

// Initializes a lane's record, before the first launch.
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
      {},
      launch.world->windows.of(number)};
  lane.process.deadline = kNoDeadline;
  lane.steps = lane.since_round_robin = 0;
  lane.word[0].handler = interpreter::kHandleUndecoded;
  lane.word[0].lone = interpreter::kLoneUndecoded;
}

// One lane's part in the run of its group. All lanes of the group call the same functions together.
template <class Warp, class Home>
class GroupRunner {
 public:
  KVRM_INLINE GroupRunner(const Warp& warp, const Launch& launch, Lane& lane, Cpu& cpu, TrapHandler& trap_handler,
                          u64* progress, SliceRunner<Warp, Home>& runner)
      : warp_(warp),
        launch_(launch),
        lane_(lane),
        cpu_(cpu),
        trap_handler_(trap_handler),
        run_{lane.status, lane.left, lane.process.deadline,
             launch.resume ? sync::load<sync::kRelaxed, sync::kSystem>(progress) : 0, 0},
        runner_(runner),
        scheduler_{lane.steps, lane.since_round_robin},
        controller_(warp, launch, lane, progress),
        cancelled_(launch.resume && (controller_.poll() & kCancel) != 0),
        out_of_jobs_(launch.orders != nullptr) {}

  // Runs until all lanes have stopped or the host pauses the launch.
  KVRM_INLINE void run() {
    for (;;) {
      ++scheduler_.step;
      if (run_.status == Status::kStopped && !out_of_jobs_ && !cancelled_) start_next_job();
      const u32 runnable = warp_.ballot(run_.status == Status::kRunning);
      const u32 alive = warp_.ballot(run_.status != Status::kStopped);
      if (alive == 0) break;
      if (runnable != alive && (runnable == 0 || scheduler_.is_waiting_due())) handle_waiting(runnable);
      if (runnable != 0) run_chosen(runnable);
      if (controller_.is_poll_due() && poll_pause()) break;
    }
  }

  // Brings the lane's record up to date and reports what it did.
  KVRM_INLINE void finish(u64* progress) {
    if (paused_ && (run_.status != Status::kStopped || (!out_of_jobs_ && !cancelled_))) {
      sync::store<sync::kRelaxed, sync::kSystem>(launch_.unfinished, 1u);
    }
    with_record([&] {
      if (launch_.orders) {
        trap_handler_.report(lane_.number);
      } else if (run_.status == Status::kStopped) {
        trap_handler_.finish_job();
      }
    });
    if (lane_.space.lane == 0) (void)sync::add<sync::kRelaxed, sync::kDevice>(launch_.warp_instructions, group_ran_);
    lane_.steps = scheduler_.step;
    lane_.since_round_robin = scheduler_.since_round_robin;
    sync::store<sync::kRelaxed, sync::kSystem>(progress, run_.retired_before);
  }

 private:
  // The trap handler works on the lane's record: writes it before the work and reads it after.
  template <class Work>
  KVRM_INLINE void with_record(Work work) {
    lane_.retired += run_.retired;
    lane_.left = run_.left;
    run_.retired_before += run_.retired;
    run_.retired = 0;
    work();
    run_.status = lane_.status;
    run_.left = lane_.left;
    run_.deadline = lane_.process.deadline;
  }

  // A reply of the host may have cancelled a job before the lanes see the control word: then no other job starts.
  KVRM_INLINE void start_next_job() {
    with_record([&] {
      out_of_jobs_ = (lane_.job != kNoJob && lane_.stop.kind == StopKind::kCancelled) || !trap_handler_.next_job();
    });
  }

  // Lanes that wait for the host or for the output ring try again.
  KVRM_INLINE void handle_waiting(u32 runnable) {
    if (run_.status != Status::kRunning && run_.status != Status::kStopped)
      with_record([&] { trap_handler_.handle(); });
    if (runnable != 0) return;
    controller_.advance_idle();
    warp_.pause();
  }

  // The scheduler chooses some of the runnable lanes, which run one slice.
  KVRM_INLINE void run_chosen(u32 runnable) {
    const bool is_runnable = run_.status == Status::kRunning;
    SliceResult result{Trap::kNone};
    if (is_runnable) result.trap = runner_.fetch();
    const CodePosition position = runner_.position(result.trap);
    const Choice choice =
        choose(warp_, is_runnable, runnable, position, cpu_.x[kSpSlot], scheduler_.step, launch_.reconverge != 0);
    const u32 mine = slice_length(scheduler_.quota(choice, controller_.length()));
    const u32 length = warp_.reduce_min(choice.runs ? mine : ~0u);
    if (choice.runs) {
      if (result.trap == Trap::kNone && length != 0) {
        runner_.run_slice(choice, position.index(), length, run_, controller_, result);
        run_.retired += result.ran;
        run_.left -= result.ran;
      }
      handle_slice_end(result.trap);
    }
    const u32 most_ran = ~warp_.reduce_min(~result.ran);  // in a region each lane has its own count
    group_ran_ += most_ran;
    const u32 waited = result.interrupted ? launch_.slice : launch_.samples ? 0 : result.slow;
    controller_.advance(most_ran + ~warp_.reduce_min(~waited) + 1);
    scheduler_.advance(choice, most_ran);
  }

  // No more instructions than the budget has, nor than there are nanoseconds until the deadline.
  KVRM_INLINE u32 slice_length(u32 quota) const {
    u64 length = run_.left < quota ? run_.left : quota;
    if (run_.deadline > cpu_.clock_ns && run_.deadline - cpu_.clock_ns < length) length = run_.deadline - cpu_.clock_ns;
    return static_cast<u32>(length);
  }

  KVRM_INLINE void handle_slice_end(Trap trap) {
    if (trap != Trap::kNone) {
      with_record([&] { trap_handler_.take_trap(trap); });
    } else if (run_.deadline <= cpu_.clock_ns) {
      with_record([&] { trap_handler_.tick(); });
    }
    if (run_.left == 0 && run_.status == Status::kRunning) {
      with_record([&] { trap_handler_.stop({StopKind::kBudget, Trap::kNone, 0, 0}); });
    }
  }

  // Does what the host asks of all lanes. True: they leave the kernel.
  KVRM_INLINE bool poll_pause() {
    controller_.report(run_.retired_before + run_.retired);
    const u32 control = controller_.poll();
    cancelled_ = (control & kCancel) != 0;
    if (cancelled_ && run_.status != Status::kStopped) with_record([&] { trap_handler_.cancel(); });
    paused_ = (control & kPause) != 0;
    return paused_;
  }

  const Warp& warp_;
  const Launch& launch_;
  Lane& lane_;
  Cpu& cpu_;
  TrapHandler& trap_handler_;
  LaneRun run_;
  SliceRunner<Warp, Home>& runner_;
  Scheduler scheduler_;
  SliceController<Warp> controller_;
  bool cancelled_;
  bool out_of_jobs_;
  bool paused_ = false;
  u64 group_ran_ = 0;  // instructions, each once for the lanes that ran it together
};

// Every lane of the group calls this. `seat` is the number of the group among those that run at the same time.
template <class Warp, class Home>
KVRM_INLINE void run_group(const Warp& warp, const Launch& launch, Lane& lane, Home home, u32 seat, U128* vectors) {
  u64* const progress = &launch.progress[lane.number];
  Cpu& cpu = home.cpu();
  memory::LaneMemory memory(&lane.space, home.pages());
  TrapHandler trap_handler(launch, lane, cpu, memory);
  set_vectors(cpu, vectors);
  copy_registers(lane.registers, cpu);
  memory.reset_tlb(launch.l2_tlb + (u64{seat} * launch.l2_slots << launch.group_shift) + lane.space.lane,
                   launch.l2_slots, launch.group_shift, launch.group_shift == 0);
  PrivateCode private_code(launch, lane, cpu, memory, (seat << launch.group_shift) + lane.space.lane);
  if (launch.orders && !launch.resume) trap_handler.apply_order();

  interpreter::CodeWindow window{0, 0, nullptr};
  SliceRunner<Warp, Home> runner(warp, launch, lane, home, memory, private_code, window, seat);
  GroupRunner<Warp, Home> group(warp, launch, lane, cpu, trap_handler, progress, runner);
  group.run();
  group.finish(progress);
  private_code.end();
  copy_registers(cpu, lane.registers);
}

}  // namespace kvrm::backend::kernel
