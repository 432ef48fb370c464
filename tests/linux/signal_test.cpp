// Signals: frames, masks, faults, and the way back.
#include <cerrno>
#include <cstring>

#include "guest.h"

namespace kvrm::linux_abi::test {
namespace {

constexpr u64 kHandler = 0x500000;
constexpr u64 kSiginfoFlag = 4, kOnstack = 0x08000000, kRestartFlag = 0x10000000, kNodefer = 0x40000000,
              kResethand = 0x80000000;

class SignalTest : public ::testing::Test {
 protected:
  SignalTest() {
    Cpu& cpu = guest_.cpu();
    for (u64 i = 0; i < 31; ++i) cpu.x[i] = 0x1000 + i;
    for (u64 i = 0; i < 32; ++i) cpu.q[i] = {i * 3 + 1, ~i};
    cpu.n = 1;
    cpu.c = 1;
    cpu.fpcr = 0x01000000;
    cpu.fpsr = 0x0800001f;
  }
  i64 handle(int signal, u64 flags, u64 mask = 0, u64 handler = kHandler) {
    const GuestSigaction action{handler, flags, 0, mask};
    const Cpu before = guest_.cpu();
    const i64 result = guest_.call(kRtSigaction, u64(signal), guest_.put(0, action), 0, 8);
    guest_.cpu() = before;
    return result;
  }
  Outcome fault(Trap trap, u64 address) {
    guest_.cpu().fault_address = address;
    return guest_.process().fault(guest_.cpu(), guest_.memory(), trap);
  }
  i64 mask(u64 how, u64 set) { return guest_.call(kRtSigprocmask, how, guest_.put(0, set), kScratch + 8, 8); }
  Outcome sigreturn() {
    guest_.cpu().x[8] = kRtSigreturn;
    return guest_.process().system_call(guest_.cpu(), guest_.memory());
  }

  Guest guest_;
};

TEST_F(SignalTest, FrameIsLinuxsAndReturnsEverything) {
  ASSERT_EQ(handle(11, kSiginfoFlag, 0x6), 0);
  Cpu& cpu = guest_.cpu();
  const Cpu before = cpu;
  ASSERT_EQ(fault(Trap::kUnmapped, 0x1234).kind, Outcome::Kind::kContinue);
  const u64 sp = cpu.x[kSpSlot];
  EXPECT_EQ(sp % 16, 0u);
  EXPECT_EQ(sp, before.x[kSpSlot] - 16 - sizeof(GuestSigframe));
  EXPECT_EQ(cpu.pc, kHandler);
  EXPECT_EQ(cpu.x[0], 11u);
  EXPECT_EQ(cpu.x[1], sp);
  EXPECT_EQ(cpu.x[2], sp + 128);
  EXPECT_EQ(cpu.x[29], sp + sizeof(GuestSigframe));
  EXPECT_EQ(cpu.x[30], kTrampoline);
  const auto frame = guest_.get<GuestSigframe>(sp);
  EXPECT_EQ(frame.info.signo, 11);
  EXPECT_EQ(frame.info.code, 1);
  EXPECT_EQ(frame.info.detail, 0x1234u);
  EXPECT_EQ(frame.uc.sigmask, 0u);
  EXPECT_EQ(frame.uc.mcontext.fault_address, 0x1234u);
  EXPECT_EQ(frame.uc.mcontext.pc, before.pc);
  EXPECT_EQ(frame.uc.mcontext.sp, before.x[kSpSlot]);
  EXPECT_EQ(frame.uc.mcontext.pstate, 0xa0000000u);
  EXPECT_EQ(0, std::memcmp(frame.uc.mcontext.regs, before.x, 31 * 8));
  EXPECT_EQ(guest_.get<u32>(sp + 128 + 176 + 288), 0x46508001u);
  EXPECT_EQ(guest_.get<u32>(sp + 128 + 176 + 292), 0x210u);
  EXPECT_EQ(guest_.get<u64>(sp + 128 + 176 + 288 + 0x210), 0u);
  EXPECT_EQ(guest_.get<u64>(cpu.x[29]), before.x[29]);
  EXPECT_EQ(guest_.get<u64>(cpu.x[29] + 8), before.x[30]);
  // While the handler runs its mask and the signal itself are blocked.
  const Cpu in_handler = cpu;
  mask(0, 0);
  EXPECT_EQ(guest_.get<u64>(kScratch + 8), 0x6u | 1u << 10);
  cpu = in_handler;

  for (auto& x : cpu.x) x = 7;
  for (auto& q : cpu.q) q = {9, 9};
  cpu.x[kSpSlot] = sp;
  cpu.fpsr = cpu.fpcr = 0;
  cpu.n = cpu.c = 0;
  cpu.z = 1;
  ASSERT_EQ(sigreturn().kind, Outcome::Kind::kContinue);
  EXPECT_EQ(0, std::memcmp(cpu.x, before.x, 31 * 8));
  EXPECT_EQ(cpu.x[kSpSlot], before.x[kSpSlot]);
  EXPECT_EQ(cpu.pc, before.pc);
  EXPECT_EQ(0, std::memcmp(cpu.q, before.q, sizeof cpu.q));
  EXPECT_EQ(cpu.fpcr, before.fpcr);
  EXPECT_EQ(cpu.fpsr, before.fpsr);
  EXPECT_EQ(pack_nzcv(cpu), pack_nzcv(before));
  mask(0, 0);
  EXPECT_EQ(guest_.get<u64>(kScratch + 8), 0u);
}

TEST_F(SignalTest, ARestoredX0IsNotAResult) {
  ASSERT_EQ(handle(11, 0), 0);
  guest_.cpu().x[0] = u64(i64{-512});
  const u64 pc = guest_.cpu().pc;
  fault(Trap::kUnmapped, 0);
  ASSERT_EQ(sigreturn().kind, Outcome::Kind::kContinue);
  EXPECT_EQ(guest_.cpu().x[0], u64(i64{-512}));
  EXPECT_EQ(guest_.cpu().pc, pc);
}

TEST_F(SignalTest, FaultsAreTheSignalsLinuxSends) {
  struct Case {
    Trap trap;
    int signal, code;
    bool at_pc;
  };
  const Case cases[] = {{Trap::kUnmapped, 11, 1, false}, {Trap::kPermission, 11, 2, false},
                        {Trap::kAlignment, 7, 1, false}, {Trap::kPcAlignment, 7, 1, true},
                        {Trap::kUndefined, 4, 1, true},  {Trap::kHalt, 4, 1, true},
                        {Trap::kBreakpoint, 5, 1, true}};
  for (const auto& one : cases) {
    ASSERT_EQ(handle(one.signal, kSiginfoFlag | kNodefer), 0);
    const Cpu before = guest_.cpu();
    guest_.cpu().exclusive_size = 8;
    ASSERT_EQ(fault(one.trap, 0xab00'0000'0000'4321).kind, Outcome::Kind::kContinue);
    EXPECT_EQ(guest_.cpu().exclusive_size, 0u);
    const auto info = guest_.get<GuestSiginfo>(guest_.cpu().x[1]);
    EXPECT_EQ(info.signo, one.signal);
    EXPECT_EQ(info.code, one.code);
    EXPECT_EQ(info.detail, one.at_pc ? before.pc : 0x4321u);  // the tag does not show
    guest_.cpu() = before;
  }
}

TEST_F(SignalTest, UnhandledFaultsKill) {
  EXPECT_EQ(fault(Trap::kUnmapped, 0), (Outcome{Outcome::Kind::kSignal, 11}));
  Guest memory;
  EXPECT_EQ(memory.process().fault(memory.cpu(), memory.memory(), Trap::kOutOfMemory),
            (Outcome{Outcome::Kind::kSignal, 9}));
  EXPECT_NE(memory.process().message(), "");
}

TEST_F(SignalTest, BlockedOrIgnoredFaultsKill) {
  ASSERT_EQ(handle(11, 0), 0);
  mask(0, u64{1} << 10);
  EXPECT_EQ(fault(Trap::kUnmapped, 0), (Outcome{Outcome::Kind::kSignal, 11}));
  SetUp();
  Guest other;
  const GuestSigaction ignore{1, 0, 0, 0};
  other.call(kRtSigaction, 11, other.put(0, ignore), 0, 8);
  EXPECT_EQ(other.process().fault(other.cpu(), other.memory(), Trap::kUnmapped), (Outcome{Outcome::Kind::kSignal, 11}));
}

TEST_F(SignalTest, NoRoomForTheFrameKills) {
  ASSERT_EQ(handle(11, 0), 0);
  guest_.cpu().x[kSpSlot] = 0x10;
  EXPECT_EQ(fault(Trap::kUnmapped, 0), (Outcome{Outcome::Kind::kSignal, 11}));
}

TEST_F(SignalTest, NoRoomForAnotherSignalsFrameIsASegv) {
  ASSERT_EQ(handle(10, 0), 0);
  ASSERT_EQ(handle(11, kOnstack | kSiginfoFlag, 0, 0x600000), 0);
  const GuestStack stack{kScratch + 0x10000, 0, 0, 0x8000};
  ASSERT_EQ(guest_.call(kSigaltstack, guest_.put(0x100, stack), 0), 0);
  guest_.cpu().x[kSpSlot] = 0x10;
  guest_.call(kTgkill, 1000, 1000, 10);
  EXPECT_EQ(guest_.outcome().kind, Outcome::Kind::kContinue);
  EXPECT_EQ(guest_.cpu().pc, 0x600000u);
  EXPECT_EQ(guest_.cpu().x[0], 11u);
}

TEST_F(SignalTest, AlternateStack) {
  const GuestStack stack{kScratch + 0x10000, 0, 0, 0x8000};
  const GuestStack small{kScratch + 0x10000, 0, 0, 100};
  EXPECT_EQ(guest_.call(kSigaltstack, guest_.put(0x100, small), 0), -ENOMEM);
  ASSERT_EQ(guest_.call(kSigaltstack, guest_.put(0x100, stack), kScratch + 0x200), 0);
  EXPECT_EQ(guest_.get<GuestStack>(kScratch + 0x200).flags, 2);
  ASSERT_EQ(handle(11, kOnstack | kSiginfoFlag), 0);
  const u64 sp = guest_.cpu().x[kSpSlot];
  ASSERT_EQ(fault(Trap::kUnmapped, 0).kind, Outcome::Kind::kContinue);
  EXPECT_EQ(guest_.cpu().x[kSpSlot], kScratch + 0x18000 - 16 - sizeof(GuestSigframe));
  EXPECT_EQ(guest_.get<GuestSigframe>(guest_.cpu().x[kSpSlot]).uc.stack.sp, stack.sp);
  const Cpu in_handler = guest_.cpu();
  EXPECT_EQ(guest_.call(kSigaltstack, guest_.put(0x100, stack), 0), -EPERM);
  EXPECT_EQ(guest_.call(kSigaltstack, 0, kScratch + 0x200), 0);
  EXPECT_EQ(guest_.get<GuestStack>(kScratch + 0x200).flags, 1);
  guest_.cpu() = in_handler;
  ASSERT_EQ(sigreturn().kind, Outcome::Kind::kContinue);
  EXPECT_EQ(guest_.cpu().x[kSpSlot], sp);
}

TEST_F(SignalTest, BadFramesAreASegv) {
  guest_.cpu().x[kSpSlot] = kScratch + 8;  // not aligned
  EXPECT_EQ(sigreturn(), (Outcome{Outcome::Kind::kSignal, 11}));
  Guest zeros;  // no vector registers in the frame
  zeros.cpu().x[kSpSlot] = kScratch;
  zeros.cpu().x[8] = kRtSigreturn;
  EXPECT_EQ(zeros.process().system_call(zeros.cpu(), zeros.memory()), (Outcome{Outcome::Kind::kSignal, 11}));
}

TEST_F(SignalTest, FramesCannotRaisePrivilege) {
  for (const u64 pstate : {u64{5}, u64{0x10}, u64{0x3c0}}) {
    Guest guest;
    const GuestSigaction action{kHandler, 0, 0, 0};
    guest.call(kRtSigaction, 10, guest.put(0, action), 0, 8);
    guest.call(kTgkill, 1000, 1000, 10);
    ASSERT_EQ(guest.cpu().pc, kHandler);
    const u64 at = guest.cpu().x[kSpSlot] + 128 + 176 + 272;
    ASSERT_TRUE(guest.memory().write(at, &pstate, 8));
    guest.cpu().x[8] = kRtSigreturn;
    EXPECT_EQ(guest.process().system_call(guest.cpu(), guest.memory()), (Outcome{Outcome::Kind::kSignal, 11}));
  }
}

TEST_F(SignalTest, RandomFramesNeverCrash) {
  u64 state = 1;
  for (int round = 0; round < 2000; ++round) {
    Guest guest;
    std::vector<u8> bytes(sizeof(GuestSigframe));
    for (auto& byte : bytes) byte = u8((state = state * 6364136223846793005u + 1) >> 40) & u8(round % 3 ? 0xff : 0);
    const u32 headers[] = {0x46508001, 0x45535201, 0, 0x53564501};
    for (std::size_t at = 592; at < 1400; at += 16) {
      const u32 header[2] = {headers[state >> 33 & 3], u32(state >> 50) & 0x3f0};
      std::memcpy(bytes.data() + at, header, 8);
      state = state * 6364136223846793005u + 1;
    }
    guest.put(0, bytes.data(), bytes.size());
    guest.cpu().x[kSpSlot] = kScratch;
    guest.cpu().x[8] = kRtSigreturn;
    (void)guest.process().system_call(guest.cpu(), guest.memory());
  }
}

TEST_F(SignalTest, KillingOneself) {
  EXPECT_EQ(guest_.call(kKill, 1000, 0), 0);
  EXPECT_EQ(guest_.call(kKill, 1, 0), -ESRCH);
  EXPECT_EQ(guest_.call(kKill, 1000, 65), -EINVAL);
  EXPECT_EQ(guest_.call(kKill, 1000, 17), 0);  // SIGCHLD is ignored by default
  EXPECT_EQ(guest_.outcome().kind, Outcome::Kind::kContinue);
  guest_.call(kKill, 1000, 15);
  EXPECT_EQ(guest_.outcome(), (Outcome{Outcome::Kind::kSignal, 15}));
}

TEST_F(SignalTest, BlockedSignalsWait) {
  ASSERT_EQ(handle(10, kSiginfoFlag), 0);
  ASSERT_EQ(handle(12, kSiginfoFlag), 0);
  EXPECT_EQ(mask(0, u64{3} << 9 | u64{1} << 11), 0);
  EXPECT_EQ(guest_.call(kKill, 1000, 12), 0);
  EXPECT_EQ(guest_.call(kKill, 1000, 10), 0);
  EXPECT_EQ(guest_.call(kKill, 1000, 10), 0);
  EXPECT_EQ(guest_.call(kRtSigpending, kScratch + 0x40, 8), 0);
  EXPECT_EQ(guest_.get<u64>(kScratch + 0x40), u64{1} << 9 | u64{1} << 11);
  const u64 pc = guest_.cpu().pc;
  guest_.call(kRtSigprocmask, 1, guest_.put(0, ~u64{0}), 0, 8);
  // Both are delivered, one frame on top of the other; the second runs first.
  EXPECT_EQ(guest_.cpu().x[0], 12u);
  const auto top = guest_.get<GuestSigframe>(guest_.cpu().x[kSpSlot]);
  EXPECT_EQ(top.uc.mcontext.pc, kHandler);
  EXPECT_EQ(top.uc.mcontext.regs[0], 10u);
  EXPECT_EQ(top.info.code, 0);
  EXPECT_EQ(top.info.detail & 0xffffffff, 1000u);
  ASSERT_EQ(sigreturn().kind, Outcome::Kind::kContinue);
  ASSERT_EQ(sigreturn().kind, Outcome::Kind::kContinue);
  EXPECT_EQ(guest_.cpu().pc, pc);
  EXPECT_EQ(guest_.cpu().x[0], 0u);  // the result of rt_sigprocmask
}

TEST_F(SignalTest, ResethandAndNodefer) {
  ASSERT_EQ(handle(10, kResethand | kNodefer), 0);
  guest_.call(kKill, 1000, 10);
  EXPECT_EQ(guest_.cpu().pc, kHandler);
  guest_.call(kKill, 1000, 10);
  EXPECT_EQ(guest_.outcome(), (Outcome{Outcome::Kind::kSignal, 10}));
}

TEST_F(SignalTest, SigactionErrors) {
  EXPECT_EQ(guest_.call(kRtSigaction, 9, kScratch, 0, 8), -EINVAL);
  EXPECT_EQ(guest_.call(kRtSigaction, 9, 0, kScratch, 8), 0);
  EXPECT_EQ(guest_.call(kRtSigaction, 0, 0, kScratch, 8), -EINVAL);
  EXPECT_EQ(guest_.call(kRtSigaction, 65, 0, kScratch, 8), -EINVAL);
  EXPECT_EQ(guest_.call(kRtSigaction, 1, 0, kScratch, 4), -EINVAL);
  EXPECT_EQ(guest_.call(kRtSigaction, 1, 0x10, 0, 8), -EFAULT);
  EXPECT_EQ(guest_.call(kRtSigprocmask, 7, kScratch, 0, 8), -EINVAL);
}

TEST_F(SignalTest, TimersInterruptAndRestart) {
  ASSERT_EQ(handle(14, kSiginfoFlag | kRestartFlag), 0);
  ASSERT_EQ(guest_.call(kPipe2, kScratch, 0), 0);
  const u64 in = guest_.get<u32>(kScratch);
  const GuestItimerval once{{0, 0}, {2, 0}};
  ASSERT_EQ(guest_.call(kSetitimer, 0, guest_.put(0x100, once), 0), 0);
  const u64 pc = guest_.cpu().pc, clock = guest_.cpu().clock_ns;
  guest_.call(kRead, in, kScratch, 1);
  ASSERT_EQ(guest_.outcome().kind, Outcome::Kind::kContinue);
  EXPECT_EQ(guest_.cpu().pc, kHandler);
  EXPECT_EQ(guest_.cpu().clock_ns, clock + 2'000'000'000);
  ASSERT_EQ(sigreturn().kind, Outcome::Kind::kContinue);
  EXPECT_EQ(guest_.cpu().pc, pc - 4);
  EXPECT_EQ(guest_.cpu().x[0], in);

  ASSERT_EQ(handle(14, kSiginfoFlag), 0);
  ASSERT_EQ(guest_.call(kSetitimer, 0, guest_.put(0x100, once), 0), 0);
  guest_.cpu().pc = pc;
  guest_.call(kRead, in, kScratch, 1);
  EXPECT_EQ(guest_.cpu().pc, kHandler);
  sigreturn();
  EXPECT_EQ(guest_.cpu().pc, pc);
  EXPECT_EQ(i64(guest_.cpu().x[0]), -EINTR);
}

TEST_F(SignalTest, SigsuspendWaitsUnderItsMask) {
  ASSERT_EQ(handle(14, kSiginfoFlag), 0);
  const u64 alarm = u64{1} << 13;
  mask(0, alarm);
  const GuestItimerval once{{0, 0}, {1, 0}};
  guest_.call(kSetitimer, 0, guest_.put(0x100, once), 0);
  guest_.call(kRtSigsuspend, guest_.put(0x200, u64{0}), 8);
  EXPECT_EQ(guest_.cpu().pc, kHandler);
  EXPECT_EQ(guest_.get<GuestSigframe>(guest_.cpu().x[kSpSlot]).uc.sigmask, alarm);
  sigreturn();
  EXPECT_EQ(i64(guest_.cpu().x[0]), -EINTR);
  mask(0, 0);
  EXPECT_EQ(guest_.get<u64>(kScratch + 8), alarm);
  guest_.call(kRtSigsuspend, guest_.put(0x200, u64{0}), 8);
  EXPECT_EQ(guest_.outcome().kind, Outcome::Kind::kDeadlock);
}

TEST_F(SignalTest, SigtimedwaitTakesWithoutAHandler) {
  mask(0, u64{1} << 9);
  EXPECT_EQ(guest_.call(kKill, 1000, 10), 0);
  EXPECT_EQ(guest_.call(kRtSigtimedwait, guest_.put(0, u64{1} << 9), kScratch + 0x100, 0, 8), 10);
  const GuestTimespec second{1, 0};
  EXPECT_EQ(guest_.call(kRtSigtimedwait, kScratch, 0, guest_.put(0x200, second), 8), -EAGAIN);
}

TEST_F(SignalTest, TickDeliversOnTimeInALoop) {
  ASSERT_EQ(handle(14, kSiginfoFlag), 0);
  const GuestItimerval every{{0, 500'000}, {1, 0}};
  guest_.call(kSetitimer, 0, guest_.put(0x100, every), 0);
  const auto deadline = guest_.process().next_deadline_ns();
  ASSERT_TRUE(deadline);
  EXPECT_EQ(*deadline, guest_.cpu().clock_ns + 1'000'000'000);
  const u64 pc = guest_.cpu().pc;
  EXPECT_EQ(guest_.process().tick(guest_.cpu(), guest_.memory()).kind, Outcome::Kind::kContinue);
  EXPECT_EQ(guest_.cpu().pc, pc);
  guest_.cpu().clock_ns = *deadline;
  guest_.process().tick(guest_.cpu(), guest_.memory());
  EXPECT_EQ(guest_.cpu().pc, kHandler);
  EXPECT_EQ(*guest_.process().next_deadline_ns(), *deadline + 500'000'000);
}

}  // namespace
}  // namespace kvrm::linux_abi::test
