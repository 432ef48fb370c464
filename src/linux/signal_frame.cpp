// The signal frame of arm64 Linux: built when a handler starts, read back by rt_sigreturn.
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "linux/freestanding/layout.h"
#include "linux/kernel_state.h"

namespace kvrm::linux_abi {
namespace {

struct FrameRecord {
  u64 fp, lr;
};

struct ContextHeader {
  u32 magic, size;
};

void save_registers(const Cpu& cpu, const SignalState& signals, GuestSigcontext& context) {
  context.fault_address = signals.fault_address;
  std::copy_n(cpu.x, 31, context.regs);
  context.sp = cpu.x[kSpSlot];
  context.pc = cpu.pc;
  context.pstate = pack_nzcv(cpu);
  GuestFpsimdContext fpsimd{};
  fpsimd.magic = kFpsimdMagic;
  fpsimd.size = sizeof fpsimd;
  fpsimd.fpsr = cpu.fpsr;
  fpsimd.fpcr = cpu.fpcr;
  std::copy_n(cpu.q, 32, fpsimd.v);
  // The terminator after it is already there: zeros.
  std::memcpy(context.reserved, &fpsimd, sizeof fpsimd);
}

// False: the stack cannot take the frame.
bool push_frame(Kernel& kernel, Cpu& cpu, memory::GuestMemory& memory, const GuestSiginfo& info,
                const GuestSigaction& action) {
  SignalState& signals = kernel.signals;
  u64 sp = cpu.x[kSpSlot];
  const bool enabled = signals.alternate.size != 0 && !(signals.alternate.flags & kStackDisable);
  if ((action.flags & kSaOnstack) && enabled && !signals.on_alternate(sp))
    sp = signals.alternate.sp + signals.alternate.size;
  const u64 record_at = (sp - sizeof(FrameRecord)) & ~u64{15};
  const u64 frame_at = record_at - sizeof(GuestSigframe);

  GuestSigframe frame{};
  if (action.flags & kSaSiginfo) frame.info = info;
  frame.uc.stack = signals.alternate;
  frame.uc.sigmask = signals.saved_mask.value_or(signals.blocked);
  save_registers(cpu, signals, frame.uc.mcontext);
  const FrameRecord record{cpu.x[29], cpu.x[30]};
  if (!copy_out(memory, record_at, record) || !copy_out(memory, frame_at, frame)) return false;

  cpu.x[0] = u64(info.signo);
  if (action.flags & kSaSiginfo) {
    cpu.x[1] = frame_at + offsetof(GuestSigframe, info);
    cpu.x[2] = frame_at + offsetof(GuestSigframe, uc);
  }
  cpu.x[29] = record_at;
  cpu.x[30] = action.flags & kSaRestorer ? action.restorer : kTrampoline;
  cpu.x[kSpSlot] = frame_at;
  cpu.pc = action.handler;
  if (signals.alternate.flags & kStackAutodisarm) signals.alternate = {0, kStackDisable, 0, 0};
  return true;
}

Outcome killed(Kernel& kernel, int signal) {
  kernel.ended = Outcome{Outcome::Kind::kSignal, signal};
  return *kernel.ended;
}

// Starts the handler for a signal that has one.
std::optional<Outcome> start_handler(Kernel& kernel, Cpu& cpu, memory::GuestMemory& memory, const GuestSiginfo& info) {
  SignalState& signals = kernel.signals;
  const GuestSigaction action = signals.actions[std::size_t(info.signo)];
  if (action.flags & kSaResethand) signals.actions[std::size_t(info.signo)].handler = kHandlerDefault;
  if (!push_frame(kernel, cpu, memory, info, action)) {
    // No room for the frame is a fault of its own; for SIGSEGV itself it is the end.
    if (info.signo == kSigsegv) return killed(kernel, kSigsegv);
    return force_signal(kernel, cpu, memory, make_siginfo(kSigsegv, kSiKernel));
  }
  signals.saved_mask.reset();
  u64 blocked = signals.blocked | action.mask;
  if (!(action.flags & kSaNodefer)) blocked |= signal_bit(info.signo);
  signals.blocked = blocked & ~kUnblockable;
  return std::nullopt;
}

// Finds the vector registers among the records after the general ones; false: not a frame of ours.
bool find_fpsimd(const GuestSigcontext& context, GuestFpsimdContext& fpsimd) {
  bool found = false;
  std::size_t at = 0;
  for (;;) {
    ContextHeader header;
    if (at % 16 != 0 || at + sizeof header > sizeof context.reserved) return false;
    std::memcpy(&header, context.reserved + at, sizeof header);
    if (header.magic == 0) return header.size == 0 && found;
    if (header.size < sizeof header || header.size > sizeof context.reserved - at) return false;
    if (header.magic == kFpsimdMagic) {
      if (found || header.size != sizeof fpsimd) return false;
      std::memcpy(&fpsimd, context.reserved + at, sizeof fpsimd);
      found = true;
    } else if (header.magic != kEsrMagic) {
      return false;
    }
    at += header.size;
  }
}

constexpr u32 kFpcrBits = 0x07c80000;   // AHP, DN, FZ, RMode, FZ16
constexpr u32 kFpsrBits = 0x0800009f;   // QC and the cumulative exceptions
constexpr u64 kForbiddenState = 0x3df;  // exception level, AArch32, interrupt masks

bool restore(Kernel& kernel, Cpu& cpu, const memory::GuestMemory& memory) {
  const u64 sp = cpu.x[kSpSlot];
  GuestSigframe frame;
  if (sp % 16 != 0 || !copy_in(memory, sp, frame)) return false;
  const GuestSigcontext& context = frame.uc.mcontext;
  GuestFpsimdContext fpsimd;
  if ((context.pstate & kForbiddenState) != 0 || !find_fpsimd(context, fpsimd)) return false;

  kernel.signals.blocked = frame.uc.sigmask & ~kUnblockable;
  std::copy_n(context.regs, 31, cpu.x);
  cpu.x[kSpSlot] = context.sp;
  cpu.pc = context.pc;
  unpack_nzcv(cpu, u32(context.pstate));
  cpu.fpcr = fpsimd.fpcr & kFpcrBits;
  cpu.fpsr = fpsimd.fpsr & kFpsrBits;
  std::copy_n(fpsimd.v, 32, cpu.q);
  (void)kernel.signals.set_alternate(frame.uc.stack, cpu.x[kSpSlot]);  // Linux ignores a refusal here too
  return true;
}

}  // namespace

std::optional<Outcome> force_signal(Kernel& kernel, Cpu& cpu, memory::GuestMemory& memory, GuestSiginfo info) {
  SignalState& signals = kernel.signals;
  kernel.trace_signal(info);
  const bool blocked = (signals.blocked & signal_bit(info.signo)) != 0;
  if (blocked || !signals.has_handler(info.signo)) return killed(kernel, info.signo);
  return start_handler(kernel, cpu, memory, info);
}

std::optional<Outcome> deliver_signals(Kernel& kernel, Cpu& cpu, memory::GuestMemory& memory,
                                       std::optional<u64> interrupted_x0) {
  SignalState& signals = kernel.signals;
  const auto make_call_again = [&] {
    cpu.x[0] = *interrupted_x0;
    cpu.pc -= 4;
  };
  while (auto info = signals.take(~signals.blocked)) {
    if (signals.has_no_effect(info->signo)) continue;
    kernel.trace_signal(*info);
    if (!signals.has_handler(info->signo)) return killed(kernel, info->signo);
    if (interrupted_x0) {
      if (signals.actions[std::size_t(info->signo)].flags & kSaRestart)
        make_call_again();
      else
        cpu.x[0] = u64(i64{-EINTR});
      interrupted_x0.reset();
    }
    if (auto outcome = start_handler(kernel, cpu, memory, *info)) return outcome;
  }
  if (interrupted_x0) make_call_again();
  if (signals.saved_mask) {
    signals.blocked = *signals.saved_mask;
    signals.saved_mask.reset();
  }
  return std::nullopt;
}

i64 sys_rt_sigreturn(Kernel& kernel, Call& call) {
  kernel.keep_x0 = true;
  if (restore(kernel, call.cpu, call.memory)) return 0;
  GuestSiginfo info = make_siginfo(kSigsegv, kSegvMaperr);
  info.detail = call.cpu.x[kSpSlot];
  (void)force_signal(kernel, call.cpu, call.memory, info);  // the end, if it is one, is in kernel.ended
  return 0;
}

}  // namespace kvrm::linux_abi
