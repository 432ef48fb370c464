#include "linux/signal_state.h"

#include <algorithm>
#include <cerrno>

namespace kvrm::linux_abi {
namespace {

constexpr int kFirstRealtime = 32;
constexpr std::size_t kMaxPending = 1024;
constexpr u64 kSynchronous = signal_bit(kSigsegv) | signal_bit(kSigbus) | signal_bit(kSigill) | signal_bit(kSigtrap) |
                             signal_bit(8) | signal_bit(31);
constexpr u64 kHarmless = signal_bit(kSigchld) | signal_bit(kSigcont) | signal_bit(kSigurg) | signal_bit(kSigwinch) |
                          signal_bit(kSigstop) | signal_bit(kSigtstp) | signal_bit(kSigttin) | signal_bit(kSigttou);

}  // namespace

GuestSiginfo make_siginfo(int signal, int code) {
  GuestSiginfo info{};
  info.signo = signal;
  info.code = code;
  return info;
}

bool SignalState::has_no_effect(int signal) const {
  const u64 handler = actions[std::size_t(signal)].handler;
  return handler == kHandlerIgnore || (handler == kHandlerDefault && (kHarmless & signal_bit(signal)) != 0);
}

bool SignalState::post(const GuestSiginfo& info) {
  const u64 bit = signal_bit(info.signo);
  if (has_no_effect(info.signo) && !(blocked & bit)) return true;
  if (info.signo < kFirstRealtime && (pending_mask() & bit)) return true;
  if (pending.size() >= kMaxPending) return false;
  pending.push_back(info);
  return true;
}

u64 SignalState::pending_mask() const {
  u64 mask = 0;
  for (const auto& info : pending) mask |= signal_bit(info.signo);
  return mask;
}

std::optional<GuestSiginfo> SignalState::take(u64 set) {
  u64 candidates = pending_mask() & set;
  if (candidates == 0) return std::nullopt;
  if (candidates & kSynchronous) candidates &= kSynchronous;
  const int signal = __builtin_ctzll(candidates) + 1;
  const auto found =
      std::find_if(pending.begin(), pending.end(), [&](const GuestSiginfo& info) { return info.signo == signal; });
  GuestSiginfo info = *found;
  pending.erase(found);
  return info;
}

i64 SignalState::set_alternate(GuestStack stack, u64 sp) {
  if (on_alternate(sp)) return -EPERM;
  const i32 mode = stack.flags & ~kStackAutodisarm;
  if (mode != 0 && mode != kStackOnstack && mode != kStackDisable) return -EINVAL;
  if (mode == kStackDisable) {
    alternate = {0, stack.flags, 0, 0};
    return 0;
  }
  if (stack.size < kMinAltStack) return -ENOMEM;
  alternate = {stack.sp, stack.flags, 0, stack.size};
  return 0;
}

void SignalState::forget(int signal) {
  std::erase_if(pending, [&](const GuestSiginfo& info) { return info.signo == signal; });
}

}  // namespace kvrm::linux_abi
