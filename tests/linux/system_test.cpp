// Identity, limits, randomness, and starting a process.
#include <cerrno>

#include "guest.h"

namespace kvrm::linux_abi::test {
namespace {

TEST(System, ExitEnds) {
  Guest guest;
  guest.call(kExitGroup, 0x1234);
  EXPECT_EQ(guest.outcome(), (Outcome{Outcome::Kind::kExit, 0x34}));
}

TEST(System, UnameSaysAarch64) {
  Guest guest;
  ASSERT_EQ(guest.call(kUname, kScratch), 0);
  EXPECT_EQ(guest.get_text(kScratch, 6), std::string("Linux\0", 6));
  EXPECT_EQ(guest.get_text(kScratch + 130, 6), std::string("6.1.0\0", 6));
  EXPECT_EQ(guest.get_text(kScratch + 260, 8), std::string("aarch64\0", 8));
}

TEST(System, RandomnessRepeatsForASeed) {
  const auto bytes = [](u64 seed) {
    ProcessOptions options;
    options.seed = seed;
    Guest guest(options);
    EXPECT_EQ(guest.call(kGetrandom, kScratch, 100, 0), 100);
    const i64 fd = guest.open("/dev/urandom");
    EXPECT_EQ(guest.call(kRead, u64(fd), kScratch + 100, 50), 50);
    return guest.get_text(kScratch, 150);
  };
  EXPECT_EQ(bytes(1), bytes(1));
  EXPECT_NE(bytes(1), bytes(2));
  Guest guest;
  EXPECT_EQ(guest.call(kGetrandom, kScratch, ~u64{0}, 0), i64{kScratchSize});
  EXPECT_EQ(guest.call(kGetrandom, 0x10, 1, 0), -EFAULT);
  EXPECT_EQ(guest.call(kGetrandom, kScratch, 1, 8), -EINVAL);
}

TEST(System, WhatIsNotHereSaysSo) {
  std::vector<std::string> lines;
  ProcessOptions options;
  options.verbose = true;
  options.log = [&](std::string_view line) { lines.emplace_back(line); };
  Guest guest(options);
  EXPECT_EQ(guest.call(kClone), -ENOSYS);
  EXPECT_EQ(guest.call(kClone), -ENOSYS);
  EXPECT_EQ(guest.call(9999), -ENOSYS);
  EXPECT_EQ(guest.call(293), -ENOSYS);  // rseq: known, and known not to be here
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NE(lines[0].find("clone"), std::string::npos);
  EXPECT_NE(lines[1].find("9999"), std::string::npos);
  EXPECT_EQ(guest.call(kWait4, ~u64{0}, 0, 0, 0), -ECHILD);
  EXPECT_EQ(guest.call(198, 2, 1, 0), -EAFNOSUPPORT);
  EXPECT_EQ(guest.call(203, 1, kScratch, 16), -ENOTSOCK);
  EXPECT_EQ(guest.call(203, 99, kScratch, 16), -EBADF);
}

// A death that may have come of it says so, without --verbose.
TEST(System, DeathNamesTheLastCallThatIsNotHere) {
  Guest guest;
  EXPECT_EQ(guest.call(19), -ENOSYS);  // eventfd2
  EXPECT_EQ(guest.call(kClone), -ENOSYS);
  EXPECT_EQ(guest.call(293), -ENOSYS);  // rseq: every libc can do without
  EXPECT_EQ(guest.process().message(), "");
  guest.call(kTgkill, 1000, 1000, 6);
  EXPECT_EQ(guest.outcome(), (Outcome{Outcome::Kind::kSignal, 6}));
  EXPECT_EQ(guest.process().message(), "clone is not supported: threads and processes");

  Guest faulting;
  faulting.call(500);
  EXPECT_EQ(faulting.process().fault(faulting.cpu(), faulting.memory(), Trap::kUnmapped).code, 11);
  EXPECT_EQ(faulting.process().message(), "system call 500 is not supported");

  Guest waiting;
  EXPECT_EQ(waiting.call(198, 2, 1, 0), -EAFNOSUPPORT);
  waiting.call(kPpoll, 0, 0, 0, 0, 0);
  EXPECT_EQ(waiting.process().message(),
            "the program waits for something that can never happen: a signal, with no timer running; "
            "socket is not supported: sockets");

  Guest exiting;
  exiting.call(kClone);
  exiting.call(kExitGroup, 1);
  EXPECT_EQ(exiting.process().message(), "");
}

TEST(System, AWaitForNothingIsAWaitForASignal) {
  const auto message = [](u64 number, u64 a0, u64 a1, u64 a2) {
    Guest guest;
    EXPECT_EQ(guest.call(kPipe2, kScratch, 0), 0);
    const GuestPollfd poll{3, 1, 0};
    guest.put(8, poll);
    guest.put(16, u64{8});
    guest.call(number, a0, a1, a2, 0, 0, 0);
    EXPECT_EQ(guest.outcome().kind, Outcome::Kind::kDeadlock);
    return guest.process().message();
  };
  EXPECT_NE(message(kPpoll, 0, 0, 0).find("a signal"), std::string::npos);  // pause()
  EXPECT_NE(message(kPselect6, 0, 0, 0).find("a signal"), std::string::npos);
  EXPECT_NE(message(kPpoll, kScratch + 8, 1, 0).find("files"), std::string::npos);
  EXPECT_NE(message(kPselect6, 4, kScratch + 16, 0).find("files"), std::string::npos);
}

TEST(System, NamesAndLimits) {
  Guest guest;
  EXPECT_EQ(guest.call(kGetpid), 1000);
  EXPECT_EQ(guest.call(kPrctl, 15, guest.text("a name that is too long")), 0);
  EXPECT_EQ(guest.call(kPrctl, 16, kScratch + 0x100), 0);
  EXPECT_EQ(guest.get_text(kScratch + 0x100, 16), std::string("a name that is \0", 16));
  EXPECT_EQ(guest.call(kPrlimit64, 0, 3, 0, kScratch), 0);
  EXPECT_EQ(guest.get<u64>(kScratch), 8u << 20);
  const GuestRlimit four{4, 1024};
  EXPECT_EQ(guest.call(kPrlimit64, 0, 7, guest.put(0, four), 0), 0);
  EXPECT_EQ(guest.call(kDup, 1), 3);
  EXPECT_EQ(guest.call(kDup, 1), -EMFILE);
  EXPECT_EQ(guest.call(kPrlimit64, 0, 99, 0, kScratch), -EINVAL);
  EXPECT_EQ(guest.call(kPrlimit64, 1, 3, 0, kScratch), -ESRCH);
}

TEST(System, StartSetsTheWholeCpu) {
  // One page of code, nothing else.
  std::vector<u8> bytes(0x100);
  const u8 ident[16] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
  const u16 kinds[2] = {2, 183}, counts[2] = {56, 1};
  const u32 version = 1, type = 1, flags = 5;
  const u64 entry = 0x400080, offset = 64, words[6] = {0, 0x400000, 0, 0x100, 0x100, 0x1000};
  std::memcpy(bytes.data(), ident, 16);
  std::memcpy(bytes.data() + 16, kinds, 4);
  std::memcpy(bytes.data() + 20, &version, 4);
  std::memcpy(bytes.data() + 24, &entry, 8);
  std::memcpy(bytes.data() + 32, &offset, 8);
  std::memcpy(bytes.data() + 54, counts, 4);
  std::memcpy(bytes.data() + 64, &type, 4);
  std::memcpy(bytes.data() + 68, &flags, 4);
  std::memcpy(bytes.data() + 72, words, sizeof words);
  auto program = parse_elf(bytes);
  ASSERT_TRUE(program.ok()) << program.error().message;

  ProcessOptions options;
  options.args = {"/bin/prog", "x"};
  options.env = {"HOME=/"};
  auto process = Process::create(Guest::quiet(options));
  ASSERT_TRUE(process.ok());
  memory::AddressSpace memory(64 << 20);
  Cpu cpu;
  std::memset(static_cast<void*>(&cpu), 0xee, sizeof cpu);
  cpu.clock_ns = 5;
  ASSERT_TRUE(process->start(*program, cpu, memory).ok());
  EXPECT_EQ(cpu.pc, entry);
  EXPECT_EQ(cpu.x[0], 0u);
  EXPECT_EQ(cpu.x[kZeroSlot], 0u);
  EXPECT_EQ(cpu.clock_ns, 5u);
  EXPECT_EQ(pack_nzcv(cpu), 0u);
  u64 argc = 0;
  ASSERT_TRUE(memory.read(cpu.x[kSpSlot], &argc, 8));
  EXPECT_EQ(argc, 2u);

  // The heap begins after the image.
  const auto brk = [&](u64 to) {
    cpu.x[8] = kBrk;
    cpu.x[0] = to;
    process->system_call(cpu, memory);
    return cpu.x[0];
  };
  EXPECT_EQ(brk(0), 0x401000u);
  EXPECT_EQ(brk(0x403123), 0x403123u);
  EXPECT_TRUE(memory.write(0x403fff, "x", 1));
  EXPECT_EQ(brk(0x401000), 0x401000u);
  EXPECT_FALSE(memory.write(0x401000, "x", 1));
  EXPECT_EQ(brk(0x100), 0x401000u);
  EXPECT_EQ(brk(kStackTop), 0x401000u);
}

}  // namespace
}  // namespace kvrm::linux_abi::test
