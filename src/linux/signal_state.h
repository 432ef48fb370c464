// Which signals wait, which are blocked, and what the guest wants done with them.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "base/types.h"
#include "linux/freestanding/abi.h"

namespace kvrm::linux_abi {

// The numbers the layer itself needs; x86-64 and arm64 agree on them.
enum SignalNumber : int {
  kSigill = 4,
  kSigtrap = 5,
  kSigabrt = 6,
  kSigbus = 7,
  kSigkill = 9,
  kSigsegv = 11,
  kSigpipe = 13,
  kSigalrm = 14,
  kSigchld = 17,
  kSigcont = 18,
  kSigstop = 19,
  kSigtstp = 20,
  kSigttin = 21,
  kSigttou = 22,
  kSigurg = 23,
  kSigvtalrm = 26,
  kSigprof = 27,
  kSigwinch = 28,
};
enum SignalCode : int {
  kSiUser = 0,
  kSiKernel = 0x80,
  kSiTkill = -6,
  kIllIllopc = 1,
  kTrapBrkpt = 1,
  kBusAdraln = 1,
  kSegvMaperr = 1,
  kSegvAccerr = 2,
};
enum ActionFlag : u64 {
  kSaSiginfo = 4,
  kSaRestorer = 0x04000000,
  kSaOnstack = 0x08000000,
  kSaRestart = 0x10000000,
  kSaNodefer = 0x40000000,
  kSaResethand = 0x80000000,
};
inline constexpr u64 kHandlerDefault = 0, kHandlerIgnore = 1;
inline constexpr i32 kStackOnstack = 1, kStackDisable = 2;
inline constexpr i32 kStackAutodisarm = i32(0x80000000u);
inline constexpr u64 kMinAltStack = 5120;  // MINSIGSTKSZ of arm64

constexpr u64 signal_bit(int signal) { return u64{1} << (signal - 1); }
// No mask may hold these two.
inline constexpr u64 kUnblockable = signal_bit(kSigkill) | signal_bit(kSigstop);

GuestSiginfo make_siginfo(int signal, int code);

struct SignalState {
  std::array<GuestSigaction, kSignals + 1> actions{};
  u64 blocked = 0;
  // The mask to return to once a call that swapped it (sigsuspend, ppoll) is over.
  std::optional<u64> saved_mask;
  GuestStack alternate{0, kStackDisable, 0, 0};
  std::vector<GuestSiginfo> pending;
  u64 fault_address = 0;  // of the last memory fault, for sigcontext

  // Without a handler, and the default is not to die: true also for the stop signals, since no
  // other process could continue it.
  bool has_no_effect(int signal) const;
  bool has_handler(int signal) const { return actions[std::size_t(signal)].handler > kHandlerIgnore; }
  // False: too many real-time signals wait (EAGAIN). A signal without effect is dropped, as Linux does.
  bool post(const GuestSiginfo& info);
  u64 pending_mask() const;
  // True if something waits that will run a handler or kill.
  bool deliverable() const { return (pending_mask() & ~blocked) != 0; }
  // Takes the next one in the given set: synchronous ones first, then the lowest number.
  std::optional<GuestSiginfo> take(u64 set);
  void forget(int signal);
  // Swaps the mask for the time of one call.
  void suspend_mask(u64 mask) {
    saved_mask = blocked;
    blocked = mask & ~kUnblockable;
  }
  // sigaltstack's rules: 0, -EPERM, -EINVAL or -ENOMEM.
  i64 set_alternate(GuestStack stack, u64 sp);
  bool on_alternate(u64 sp) const {
    return !(alternate.flags & kStackAutodisarm) && sp > alternate.sp && sp - alternate.sp <= alternate.size;
  }
};

}  // namespace kvrm::linux_abi
