// What a lane does besides running instructions: system calls, faults, the mailbox, stopping, and the next job.
// Freestanding. Nothing here blocks: a lane that has to wait says so with its status, and tries again later.
#pragma once

#include "backend/kernel/snapshot.h"

namespace kvrm::backend::kernel {

// Sets the address of vector registers that are kept apart.
KVRM_INLINE void set_vectors(BasicCpu<U128*>& cpu, U128* vectors) { cpu.q = vectors; }
KVRM_INLINE void set_vectors(WholeCpu&, U128*) {}

class TrapHandler {
 public:
  KVRM_INLINE TrapHandler(const Launch& launch, Lane& lane, Cpu& cpu, memory::LaneMemory& memory)
      : launch_(launch), lane_(lane), cpu_(cpu), memory_(memory) {}

  // After a slice that ended with a trap.
  KVRM_COLD void take_trap(Trap trap) {
    cpu_.exclusive_size = 0;
    if (!lane_.is_process) {
      if (trap == Trap::kSystemCall && launch_.raw_calls) return ask_host(RequestKind::kSystemCall, trap);
      return stop({StopKind::kTrap, trap, 0, 0});
    }
    if (trap == Trap::kSystemCall) {
      lane_.status = Status::kCall;
      return;
    }
    ask_host(RequestKind::kFault, trap);
  }

  // The deadline of the timers is reached.
  void tick() { ask_host(RequestKind::kTick, Trap::kNone); }

  // Continues a call or a request: the lane is neither running nor stopped.
  KVRM_COLD void handle() {
    if (lane_.status == Status::kCall) answer_call();
    if (lane_.status == Status::kNeedsHost) post_request();
    if (lane_.status == Status::kWaiting) serve_host();
  }

  void stop(const Stop& why) {
    lane_.stop = why;
    lane_.status = Status::kStopped;
  }

  // A lane in the middle of a call stops as soon as the call can be undone or ended.
  KVRM_COLD void cancel() {
    switch (lane_.status) {
      case Status::kRunning: break;
      case Status::kCall:
        if (!drop_output(launch_.output, lane_.writing, lane_.output)) return;
        step_back();
        break;
      case Status::kNeedsHost:
        if (lane_.request == RequestKind::kSystemCall) step_back();
        break;
      default: return;  // the host ends what it serves
    }
    stop({StopKind::kCancelled, Trap::kNone, 0, 0});
  }

  // A lane that keeps its state between launches: what it does in this one, and the result.
  KVRM_COLD void apply_order() {
    const Order order = launch_.orders[lane_.number];
    if (order == Order::kStart || order == Order::kStartStopped) {
      begin(lane_.number);
      if (order == Order::kStartStopped) lane_.status = Status::kStopped;
    } else if (order == Order::kContinue) {
      lane_.status = Status::kRunning;
      lane_.stop = {};
    }
    lane_.left = launch_.budget;
    lane_.retired = lane_.shared = lane_.kernel_calls = lane_.host_calls = 0;
  }
  KVRM_COLD void report(u32 number) {
    JobEnd& end = launch_.ends[number];
    end.stop = lane_.stop;
    end.retired = lane_.retired;
    end.shared = lane_.shared;
    end.kernel_calls = lane_.kernel_calls;
    end.host_calls = lane_.host_calls;
    end.private_pages = lane_.space.private_pages;
    end.output_end = lane_.output.end;
    copy_registers(cpu_, end.registers);
    if (!memory_.peek(cpu_.pc, &end.word, sizeof(end.word))) end.word = 0;
  }
  // Reports a stopped lane's job, if it had one.
  KVRM_COLD inline void finish_job();
  // Starts the next one. False: there is none.
  KVRM_COLD inline bool next_job();

 private:
  // The SVC runs again later.
  void step_back() {
    cpu_.pc -= 4;
    --lane_.retired;
    --cpu_.clock_ns;
    ++lane_.left;
  }
  void ask_host(RequestKind kind, Trap trap) {
    lane_.request = kind;
    lane_.stop.trap = trap;
    lane_.status = Status::kNeedsHost;
  }
  void begin(u32 number);
  void answer_call();
  void post_request();
  void serve_host();

  const Launch& launch_;
  Lane& lane_;
  Cpu& cpu_;
  memory::LaneMemory& memory_;
};

// The state as the mailbox copies it.
inline LaneState mailbox_state(Cpu& cpu, linux_abi::LaneProcess& process) {
  constexpr u32 kWords = sizeof(process) / sizeof(u64);
  static_assert(sizeof(process) % sizeof(u64) == 0 && kWords <= kMostProcessWords);
  return {&cpu, reinterpret_cast<u64*>(&process), kWords};
}

// What calls that the lane answers itself need besides memory (linux/freestanding/lane_files.h).
class LaneIo {
 public:
  LaneIo(const Launch& launch, Lane& lane) : launch_(launch), lane_(lane) {}

  template <class Fill>
  linux_abi::Transfer write(u32 fd, u64 size, Fill& fill) {
    const Stream stream = fd == 1 ? Stream::kOut : Stream::kError;
    for (;;) {
      const u64 before = lane_.output.done;
      const bool all =
          write_output(launch_.output, lane_.job, stream, size, lane_.output, [&](u64 offset) { return fill(offset); });
      if (all) return linux_abi::Transfer::kDone;
      if (lane_.output.done == before) {
        lane_.writing = size;
        return linux_abi::Transfer::kWait;
      }
    }
  }
  const linux_abi::GuestStat* stat(u32 fd) { return lane_.start->has_stat[fd] ? &lane_.start->stats[fd] : nullptr; }
  const char* program(u64& size) {
    size = lane_.start->program_size;
    return lane_.start->program;
  }

 private:
  const Launch& launch_;
  Lane& lane_;
};

inline void TrapHandler::answer_call() {
  using Kind = linux_abi::CallOutcome::Kind;
  if (!launch_.orders && is_at_snapshot_point(lane_, cpu_)) take_snapshot(lane_, cpu_, memory_);
  LaneIo io(launch_, lane_);
  const linux_abi::CallOutcome outcome = linux_abi::lane_call(lane_.process, cpu_, memory_, io);
  switch (outcome.kind) {
    case Kind::kDone:
      ++lane_.kernel_calls;
      lane_.status = Status::kRunning;
      break;
    case Kind::kExit:
      ++lane_.kernel_calls;
      stop({StopKind::kExit, Trap::kNone, outcome.code, 0});
      break;
    case Kind::kOutOfMemory: ask_host(RequestKind::kFault, Trap::kOutOfMemory); break;
    case Kind::kHost: ask_host(RequestKind::kSystemCall, Trap::kNone); break;
    case Kind::kWait: break;
  }
}

inline void TrapHandler::post_request() {
  const u32 slot = claim(launch_.mailbox, lane_.number);
  if (slot == kNoSlot) return;
  lane_.slot = slot;
  lane_.status = Status::kWaiting;
  ++lane_.host_calls;
  post(launch_.mailbox, slot,
       {lane_.request, lane_.stop.trap, lane_.number, lane_.job, lane_.output.end, lane_.space.private_pages},
       mailbox_state(cpu_, lane_.process));
}

inline void TrapHandler::serve_host() {
  Outcome outcome;
  const LaneState state = mailbox_state(cpu_, lane_.process);
  if (serve(launch_.mailbox, lane_.slot, memory_, state, outcome) != Poll::kDone) return;
  lane_.status = Status::kRunning;
  switch (outcome.kind) {
    case OutcomeKind::kContinue: break;
    case OutcomeKind::kExit: stop({StopKind::kExit, Trap::kNone, outcome.code, 0}); break;
    case OutcomeKind::kSignal: stop({StopKind::kSignal, lane_.stop.trap, outcome.code, 0}); break;
    case OutcomeKind::kDeadlock: stop({StopKind::kDeadlock, Trap::kNone, 0, 0}); break;
    case OutcomeKind::kCancelled:
      // The host has put pc back to the SVC.
      --lane_.retired;
      ++lane_.left;
      stop({StopKind::kCancelled, Trap::kNone, 0, 0});
      break;
    case OutcomeKind::kStopped: stop({StopKind::kTrap, lane_.stop.trap, 0, 0}); break;
    case OutcomeKind::kFailed: stop({StopKind::kFailed, Trap::kNone, 0, 0}); break;
  }
}

inline void TrapHandler::begin(u32 number) {
  const LaunchJob& job = launch_.jobs[number];
  const Start& start = launch_.starts[job.start];
  const Snapshot* const snapshot = launch_.orders ? nullptr : ready_snapshot(start, launch_.budget);
  const ResumeState& resume_state = snapshot ? snapshot->resume_state : start.resume_state;
  memory_.clear();
  lane_.space.page_limit = launch_.page_limit;  // the last job's host may have held a part of it
  lane_.job = number;
  lane_.start = &start;
  lane_.is_process = start.is_process;
  lane_.process = resume_state.process;
  lane_.process.input = reinterpret_cast<u64>(job.input);
  lane_.process.input_size = job.input_size;
  lane_.output = {};
  lane_.stop = {};
  lane_.retired = lane_.shared = resume_state.retired;
  lane_.kernel_calls = resume_state.kernel_calls;
  lane_.host_calls = 0;
  lane_.left = launch_.budget - lane_.retired;
  lane_.space.areas =
      memory::Areas(launch_.areas + u64{lane_.number} * launch_.area_capacity, 0, launch_.area_capacity);
  lane_.space.areas.assign(resume_state.areas, resume_state.area_count);
  copy_registers(resume_state.registers, cpu_);
  lane_.status = resume_state.status;
  for (u32 i = 0; i < resume_state.page_count; ++i) {
    if (memory_.show(resume_state.pages[i].address, resume_state.pages[i].source)) continue;
    stop({StopKind::kFailed, Trap::kOutOfMemory, 0, 0});
  }
}

void TrapHandler::finish_job() {
  if (lane_.job == kNoJob) return;
  report(lane_.job);
  // The host may read the end once it sees the number.
  const u32 index = sync::add<sync::kRelaxed, sync::kDevice>(launch_.next_finished, 1u);
  sync::store<sync::kRelease, sync::kSystem>(&launch_.finished[index], lane_.job + 1);
  lane_.job = kNoJob;
}

bool TrapHandler::next_job() {
  finish_job();
  const u32 number = sync::add<sync::kRelaxed, sync::kDevice>(launch_.next_job, 1u);
  if (number >= launch_.job_count) {
    memory_.clear();
    return false;
  }
  begin(number);
  return true;
}

}  // namespace kvrm::backend::kernel
