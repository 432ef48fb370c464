// Signals as system calls: actions, masks, waiting, sending to oneself.
#include <cerrno>

#include "linux/kernel_state.h"

namespace kvrm::linux_abi {
namespace {

constexpr u64 kSetSize = 8;

// There is one process with one thread; its number, its group's and 0 all mean itself.
i64 send_self(Kernel& kernel, int signal, int code) {
  if (signal < 0 || signal > kSignals) return -EINVAL;
  if (signal == 0) return 0;
  GuestSiginfo info = make_siginfo(signal, code);
  info.detail = u64{kernel.uid} << 32 | u64{kPid};
  return kernel.signals.post(info) ? 0 : -EAGAIN;
}

i64 queue_info(Kernel& kernel, Call& call, int signal, u64 pointer) {
  GuestSiginfo info;
  if (!copy_in(call.memory, pointer, info)) return -EFAULT;
  if (signal < 0 || signal > kSignals) return -EINVAL;
  if (signal == 0) return 0;
  info.signo = signal;
  return kernel.signals.post(info) ? 0 : -EAGAIN;
}

}  // namespace

i64 sys_rt_sigaction(Kernel& kernel, Call& call) {
  if (call.a[3] != kSetSize) return -EINVAL;
  const int signal = call.int_arg(0);
  const bool sets = call.a[1] != 0;
  GuestSigaction action{};
  if (sets && !copy_in(call.memory, call.a[1], action)) return -EFAULT;
  if (signal < 1 || signal > kSignals || (sets && (kUnblockable & signal_bit(signal)))) return -EINVAL;
  GuestSigaction& current = kernel.signals.actions[std::size_t(signal)];
  const GuestSigaction before = current;
  if (sets) {
    action.mask &= ~kUnblockable;
    current = action;
    if (kernel.signals.has_no_effect(signal)) kernel.signals.forget(signal);
  }
  if (call.a[2] != 0 && !copy_out(call.memory, call.a[2], before)) return -EFAULT;
  return 0;
}

i64 sys_rt_sigprocmask(Kernel& kernel, Call& call) {
  if (call.a[3] != kSetSize) return -EINVAL;
  const u64 before = kernel.signals.blocked;
  if (call.a[1] != 0) {
    u64 set = 0;
    if (!copy_in(call.memory, call.a[1], set)) return -EFAULT;
    set &= ~kUnblockable;
    switch (call.int_arg(0)) {
      case 0: kernel.signals.blocked |= set; break;
      case 1: kernel.signals.blocked &= ~set; break;
      case 2: kernel.signals.blocked = set; break;
      default: return -EINVAL;
    }
  }
  if (call.a[2] != 0 && !copy_out(call.memory, call.a[2], before)) return -EFAULT;
  return 0;
}

i64 sys_rt_sigpending(Kernel& kernel, Call& call) {
  if (call.a[1] > kSetSize) return -EINVAL;
  const u64 set = kernel.signals.pending_mask() & kernel.signals.blocked;
  return call.memory.write(call.a[0], &set, call.a[1]) ? 0 : -EFAULT;
}

i64 sys_rt_sigsuspend(Kernel& kernel, Call& call) {
  u64 mask = 0;
  if (call.a[1] != kSetSize) return -EINVAL;
  if (!copy_in(call.memory, call.a[0], mask)) return -EFAULT;
  kernel.signals.suspend_mask(mask);
  const Wait wait = wait_for(kernel, call.cpu, {}, false, std::nullopt);
  if (wait == Wait::kInterrupted) return -EINTR;
  kernel.signals.blocked = *kernel.signals.saved_mask;
  kernel.signals.saved_mask.reset();
  return kernel.after_wait(wait, kNoSignal);
}

i64 sys_rt_sigtimedwait(Kernel& kernel, Call& call) {
  u64 set = 0;
  if (call.a[3] != kSetSize) return -EINVAL;
  if (!copy_in(call.memory, call.a[0], set)) return -EFAULT;
  set &= ~kUnblockable;
  std::optional<u64> deadline;
  if (const i64 error = read_timeout(kernel, call, call.a[2], deadline)) return error;
  auto info = kernel.signals.take(set);
  if (!info) {
    // The signals waited for must end the wait, though not run their handlers.
    const u64 blocked = kernel.signals.blocked;
    kernel.signals.blocked &= ~set;
    const Wait wait = wait_for(kernel, call.cpu, {}, false, deadline);
    kernel.signals.blocked = blocked;
    info = kernel.signals.take(set);
    if (!info && wait == Wait::kTimedOut) return -EAGAIN;
    if (!info && wait == Wait::kInterrupted) return -EINTR;
    if (!info) return kernel.after_wait(wait, kNoSignal);
  }
  if (call.a[1] != 0 && !copy_out(call.memory, call.a[1], *info)) return -EFAULT;
  return info->signo;
}

i64 sys_sigaltstack(Kernel& kernel, Call& call) {
  const u64 sp = call.cpu.x[kSpSlot];
  SignalState& signals = kernel.signals;
  GuestStack before = signals.alternate;
  if (signals.alternate.size == 0)
    before.flags |= kStackDisable;
  else if (signals.on_alternate(sp))
    before.flags |= kStackOnstack;
  if (call.a[0] != 0) {
    GuestStack stack{};
    if (!copy_in(call.memory, call.a[0], stack)) return -EFAULT;
    if (const i64 error = signals.set_alternate(stack, sp)) return error;
  }
  if (call.a[1] != 0 && !copy_out(call.memory, call.a[1], before)) return -EFAULT;
  return 0;
}

i64 sys_kill(Kernel& kernel, Call& call) {
  const i32 pid = call.int_arg(0);
  if (call.int_arg(1) < 0 || call.int_arg(1) > kSignals) return -EINVAL;
  // -1 means every process but this one, and there is no other.
  if (pid != 0 && pid != kPid && pid != -kPid) return -ESRCH;
  return send_self(kernel, call.int_arg(1), kSiUser);
}

i64 sys_tkill(Kernel& kernel, Call& call) {
  if (call.int_arg(0) <= 0) return -EINVAL;
  if (call.int_arg(0) != kPid) return -ESRCH;
  return send_self(kernel, call.int_arg(1), kSiTkill);
}

i64 sys_tgkill(Kernel& kernel, Call& call) {
  if (call.int_arg(0) <= 0 || call.int_arg(1) <= 0) return -EINVAL;
  if (call.int_arg(0) != kPid || call.int_arg(1) != kPid) return -ESRCH;
  return send_self(kernel, call.int_arg(2), kSiTkill);
}

i64 sys_rt_sigqueueinfo(Kernel& kernel, Call& call) {
  if (call.int_arg(0) != kPid) return -ESRCH;
  return queue_info(kernel, call, call.int_arg(1), call.a[2]);
}

i64 sys_rt_tgsigqueueinfo(Kernel& kernel, Call& call) {
  if (call.int_arg(0) <= 0 || call.int_arg(1) <= 0) return -EINVAL;
  if (call.int_arg(0) != kPid || call.int_arg(1) != kPid) return -ESRCH;
  return queue_info(kernel, call, call.int_arg(2), call.a[3]);
}

}  // namespace kvrm::linux_abi
