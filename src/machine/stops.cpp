#include "machine/stops.h"

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

}  // namespace

u32 word_at(const Cpu& cpu, const memory::GuestMemory& memory) {
  u32 word = 0;
  return memory.peek(cpu.pc, &word, sizeof(word)) ? word : 0;
}

Stop stop_at(const Cpu& cpu, u32 word, StopReason reason) {
  Stop stop;
  stop.reason = reason;
  stop.pc = cpu.pc;
  stop.word = word;
  return stop;
}

Stop raw_stop(const Cpu& cpu, u32 word, Trap trap) {
  Stop stop = stop_at(cpu, word, raw_reason(trap));
  if (stop.reason == StopReason::kUndefined) return stop;
  stop.address = cpu.fault_address;
  if (stop.reason == StopReason::kFault) {
    stop.fault = fault_kind(trap);
    stop.fault_is_write = cpu.fault_access == static_cast<u32>(Access::kWrite);
  }
  return stop;
}

Stop device_stop(const Error& error) {
  Stop stop;
  stop.reason = StopReason::kDevice;
  stop.message = error.message;
  return stop;
}

std::optional<Stop> process_stop(const Cpu& cpu, const memory::GuestMemory& memory, const linux_abi::Process& process,
                                 const linux_abi::Outcome& outcome) {
  using Kind = linux_abi::Outcome::Kind;
  constexpr int kKill = 9;
  if (outcome.kind == Kind::kContinue) return std::nullopt;
  const u32 word = word_at(cpu, memory);
  if (outcome.kind == Kind::kCancelled) return stop_at(cpu, word, StopReason::kCancelled);
  Stop stop = stop_at(cpu, word, outcome.kind == Kind::kExit ? StopReason::kExit : StopReason::kSignal);
  stop.message = process.message();
  if (outcome.kind == Kind::kExit) {
    stop.exit_status = outcome.code;
  } else {
    stop.signal = outcome.kind == Kind::kDeadlock ? kKill : outcome.code;
  }
  return stop;
}

Registers registers_of(const Cpu& cpu) {
  Registers result;
  for (unsigned i = 0; i < 31; ++i) result.x[i] = cpu.x[i];
  for (unsigned i = 0; i < 32; ++i) result.v[i] = {cpu.q[i].lo, cpu.q[i].hi};
  result.sp = cpu.x[kSpSlot];
  result.pc = cpu.pc;
  result.nzcv = pack_nzcv(cpu);
  result.fpcr = cpu.fpcr;
  result.fpsr = cpu.fpsr;
  result.tpidr_el0 = cpu.tpidr_el0;
  return result;
}

}  // namespace kvrm
