// The loop around the engine: what a trap means to a raw machine and to a Linux program.
#include <chrono>

#include "kvrm/machine.h"
#include "machine/parts.h"
#include "semantics/float_count.h"

namespace kvrm {
namespace {

FaultKind fault_kind(Trap trap) {
  switch (trap) {
    case Trap::kUnmapped: return FaultKind::kUnmapped;
    case Trap::kPermission: return FaultKind::kPermission;
    case Trap::kAlignment: return FaultKind::kAlignment;
    case Trap::kPcAlignment: return FaultKind::kPcAlignment;
    case Trap::kOutOfMemory: return FaultKind::kOutOfMemory;
    default: return FaultKind::kNone;
  }
}

StopReason raw_reason(Trap trap) {
  switch (trap) {
    case Trap::kUndefined: return StopReason::kUndefined;
    case Trap::kBreakpoint: return StopReason::kBreakpoint;
    case Trap::kHalt: return StopReason::kHalt;
    default: return StopReason::kFault;
  }
}

Stop stop_at(const MachineLane& lane, StopReason reason) {
  Stop stop;
  stop.reason = reason;
  stop.pc = lane.device.cpu().pc;
  if (!lane.device.space().peek(stop.pc, &stop.word, sizeof(stop.word))) stop.word = 0;
  return stop;
}

Stop raw_stop(const MachineLane& lane, Trap trap) {
  const Cpu& cpu = lane.device.cpu();
  Stop stop = stop_at(lane, raw_reason(trap));
  if (stop.reason == StopReason::kUndefined) return stop;
  stop.address = cpu.fault_address;
  if (stop.reason == StopReason::kFault) {
    stop.fault = fault_kind(trap);
    stop.fault_is_write = cpu.fault_access == static_cast<u32>(Access::kWrite);
  }
  return stop;
}

// What the process made of a system call, a fault or a timer; no value: the program goes on.
std::optional<Stop> process_stop(MachineLane& lane, const linux_abi::Outcome& outcome) {
  using Kind = linux_abi::Outcome::Kind;
  if (outcome.kind == Kind::kContinue) return std::nullopt;
  if (outcome.kind == Kind::kCancelled) {
    --lane.instructions;  // the SVC will run again
    return stop_at(lane, StopReason::kCancelled);
  }
  Stop stop = stop_at(lane, outcome.kind == Kind::kExit ? StopReason::kExit : StopReason::kSignal);
  stop.message = lane.process->message();
  if (outcome.kind == Kind::kExit) {
    stop.exit_status = outcome.code;
  } else {
    constexpr int kKill = 9;
    stop.signal = outcome.kind == Kind::kDeadlock ? kKill : outcome.code;
  }
  lane.ended = stop;
  return stop;
}

// How far the engine may run before the process wants to look at its timers.
u64 until_deadline(const MachineLane& lane) {
  if (!lane.process) return Machine::kNoLimit;
  const auto deadline = lane.process->next_deadline_ns(&lane.device.cpu());
  if (!deadline) return Machine::kNoLimit;
  const u64 now = lane.device.cpu().clock_ns;
  return *deadline > now ? *deadline - now : 0;
}

// Adds what this thread has counted since `before`.
void add_floats(std::optional<FloatStatistics>& sum, const semantics::FloatCounts& before) {
  if (!semantics::kCountsFloat) return;
  const semantics::FloatCounts now = semantics::counted_floats();
  const u64 slow = now.cold - before.cold;
  if (!sum) sum.emplace();
  sum->fast += now.operations - before.operations - slow;
  sum->slow += slow;
}

}  // namespace

Stop Machine::run(std::uint64_t budget, unsigned index) {
  MachineLane& lane = parts_->lane(index);
  if (lane.ended) return *lane.ended;
  const auto begin = std::chrono::steady_clock::now();
  const semantics::FloatCounts floats = semantics::counted_floats();
  ++parts_->launches;
  Cpu& cpu = lane.device.cpu();
  memory::AddressSpace& space = lane.device.space();

  const auto run_to_stop = [&]() -> Stop {
    for (u64 left = budget;;) {
      const u64 deadline = until_deadline(lane);
      if (deadline == 0) {
        if (auto stop = process_stop(lane, lane.process->tick(cpu, space))) return *stop;
        continue;
      }
      const auto outcome = lane.device.engine().run(cpu, std::min(left, deadline), parts_->cancel);
      lane.instructions += outcome.retired;
      left -= outcome.retired;
      std::optional<Stop> stop;
      if (outcome.cancelled) {
        stop = stop_at(lane, StopReason::kCancelled);
      } else if (outcome.trap == Trap::kSystemCall) {
        ++lane.system_calls;
        const auto immediate = static_cast<std::uint32_t>(cpu.fault_address);
        if (lane.process) {
          stop = process_stop(lane, lane.process->system_call(cpu, space));
        } else if (!parts_->hook || !parts_->hook(*this, index, immediate)) {
          stop = stop_at(lane, StopReason::kSystemCall);
        }
      } else if (outcome.trap != Trap::kNone) {
        stop = lane.process ? process_stop(lane, lane.process->fault(cpu, space, outcome.trap))
                            : raw_stop(lane, outcome.trap);
      }
      if (stop) return *stop;
      if (left == 0) return stop_at(lane, StopReason::kBudget);
    }
  };
  Stop stop = run_to_stop();
  if (stop.reason == StopReason::kCancelled) parts_->cancel.store(false, std::memory_order_relaxed);
  parts_->seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  add_floats(parts_->floats, floats);
  return stop;
}

}  // namespace kvrm
