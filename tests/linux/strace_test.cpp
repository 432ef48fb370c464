// Calls and signals as strace prints them.
#include "linux/strace.h"

#include <cerrno>

#include "guest.h"
#include "linux/syscall_table.h"

namespace kvrm::linux_abi::test {
namespace {

class StraceTest : public ::testing::Test {
 protected:
  StraceTest() : guest_(traced()) {}
  ProcessOptions traced() {
    ProcessOptions options = rooted(folder_);
    options.trace = [this](std::string_view line) { lines_.emplace_back(line); };
    return options;
  }
  // The line of one call.
  std::string trace(u64 number, u64 a0 = 0, u64 a1 = 0, u64 a2 = 0, u64 a3 = 0, u64 a4 = 0, u64 a5 = 0) {
    lines_.clear();
    guest_.call(number, a0, a1, a2, a3, a4, a5);
    return lines_.empty() ? "" : lines_[0];
  }

  TemporaryFolder folder_;
  std::vector<std::string> lines_;
  Guest guest_;
};

TEST_F(StraceTest, FilesAndErrors) {
  folder_.write("x", "hello\n");
  EXPECT_EQ(trace(kOpenat, kCwd, guest_.text("/x"), kOpenCloexec), "openat(AT_FDCWD, \"/x\", O_RDONLY|O_CLOEXEC) = 3");
  EXPECT_EQ(trace(kOpenat, kCwd, guest_.text("/no"), 0),
            "openat(AT_FDCWD, \"/no\", O_RDONLY) = -1 ENOENT (No such file or directory)");
  EXPECT_EQ(trace(kOpenat, 3, guest_.text("y"), kOpenReadWrite | kOpenCreate, 0640),
            "openat(3, \"y\", O_RDWR|O_CREAT, 0640) = -1 ENOTDIR (Not a directory)");
  EXPECT_EQ(trace(kOpenat, kCwd, 8, 0), "openat(AT_FDCWD, 0x8, O_RDONLY) = -1 EFAULT (Bad address)");
  EXPECT_EQ(trace(kRead, 3, kScratch, 100), "read(3, \"hello\\n\", 100) = 6");
  EXPECT_EQ(trace(kRead, 99, kScratch, 100), "read(99, 0x200000, 100) = -1 EBADF (Bad file descriptor)");
  EXPECT_EQ(trace(kLseek, 3, u64(-i64{2}), 2), "lseek(3, -2, SEEK_END) = 4");
  EXPECT_EQ(trace(kFcntl, 3, 3), "fcntl(3, F_GETFL) = 0x20000 (flags O_RDONLY|O_LARGEFILE)");
  EXPECT_EQ(trace(kFcntl, 3, 4, kOpenNonblock), "fcntl(3, F_SETFL, O_RDONLY|O_NONBLOCK) = 0");
  EXPECT_EQ(trace(kFstat, 3, kScratch), "fstat(3, {st_mode=S_IFREG|0644, st_size=6, ...}) = 0");
  EXPECT_EQ(trace(kClose, 3), "close(3) = 0");
  EXPECT_EQ(trace(kUnlinkat, kCwd, guest_.text("/x"), 0), "unlinkat(AT_FDCWD, \"/x\", 0) = 0");
  EXPECT_EQ(trace(kGetcwd, kScratch, 100), "getcwd(\"/\", 100) = 2");
  EXPECT_EQ(trace(kPipe2, kScratch, 0), "pipe2([3, 4], O_RDONLY) = 0");
}

TEST_F(StraceTest, StringsAreQuotedAndCut) {
  EXPECT_EQ(trace(kWrite, 1, guest_.text("0123456789012345678901234567890123456789"), 40),
            "write(1, \"01234567890123456789012345678901\"..., 40) = 40");
  const char odd[] =
      "\"\\\n\t\x01\x01"
      "7\xff";
  EXPECT_EQ(trace(kWrite, 1, guest_.put(0, odd, 8), 8), "write(1, \"\\\"\\\\\\n\\t\\1\\0017\\377\", 8) = 8");
  // Names of files are shown whole.
  const std::string name = "/" + std::string(60, 'n');
  EXPECT_NE(trace(kOpenat, kCwd, guest_.text(name), 0).find(name + "\""), std::string::npos);
  const GuestIovec vectors[2] = {{kScratch, 3}, {kScratch + 1, 2}};
  guest_.text("abc");
  EXPECT_EQ(trace(kWritev, 1, guest_.put(0x100, vectors), 2),
            "writev(1, [{iov_base=\"abc\", iov_len=3}, {iov_base=\"bc\", iov_len=2}], 2) = 5");
}

TEST_F(StraceTest, Memory) {
  EXPECT_EQ(
      trace(kMmap, 0, 8192, 3, 0x22, ~u64{0}, 0),
      "mmap(NULL, 8192, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = " + pointer_text(kMmapTop - 8192));
  EXPECT_EQ(trace(kMadvise, kScratch, 4096, 4), "madvise(0x200000, 4096, MADV_DONTNEED) = 0");
  EXPECT_EQ(trace(kMadvise, kScratch, 4096, 77),
            "madvise(0x200000, 4096, 0x4d /* MADV_??? */) = -1 EINVAL (Invalid argument)");
  EXPECT_EQ(trace(kMremap, 0x1000, 4096, 8192, 1),
            "mremap(0x1000, 4096, 8192, MREMAP_MAYMOVE) = -1 EFAULT (Bad address)");
  EXPECT_EQ(trace(kMremap, 0x1000, 4096, 8192, 3, 0x5000),
            "mremap(0x1000, 4096, 8192, MREMAP_MAYMOVE|MREMAP_FIXED, 0x5000) = -1 EFAULT (Bad address)");
  EXPECT_EQ(trace(kMprotect, kScratch, 4096, 0), "mprotect(0x200000, 4096, PROT_NONE) = 0");
  EXPECT_EQ(trace(kBrk, 0), "brk(NULL) = 0");
  EXPECT_EQ(trace(194, 0, 100, 01600), "shmget(IPC_PRIVATE, 100, IPC_CREAT|0600) = 0");
}

TEST_F(StraceTest, TimesSignalsAndLimits) {
  const GuestTimespec time{1, 500};
  EXPECT_EQ(trace(kNanosleep, guest_.put(0, time), 0), "nanosleep({tv_sec=1, tv_nsec=500}, NULL) = 0");
  EXPECT_EQ(trace(kClockGettime, 1, kScratch), "clock_gettime(CLOCK_MONOTONIC, {tv_sec=1, tv_nsec=500}) = 0");
  EXPECT_EQ(trace(kPrlimit64, 0, 3, 0, kScratch),
            "prlimit64(0, RLIMIT_STACK, NULL, {rlim_cur=8192*1024, rlim_max=RLIM64_INFINITY}) = 0");
  const u64 set = u64{1} << 9 | u64{1} << 14;
  EXPECT_EQ(trace(kRtSigprocmask, 0, guest_.put(0, set), kScratch + 8, 8),
            "rt_sigprocmask(SIG_BLOCK, [USR1 TERM], [], 8) = 0");
  EXPECT_EQ(trace(kRtSigaction, 10, 0, kScratch, 8),
            "rt_sigaction(SIGUSR1, NULL, {sa_handler=SIG_DFL, sa_mask=[], sa_flags=0}, 8) = 0");
  EXPECT_EQ(trace(kUname, kScratch), "uname({sysname=\"Linux\", nodename=\"kvrm\", ...}) = 0");
  EXPECT_EQ(trace(kGetrandom, kScratch, 2, 0).substr(0, 13), "getrandom(\"\\x");
  EXPECT_EQ(trace(kFutex, kScratch, 129, 1), "futex(0x200000, FUTEX_WAKE_PRIVATE, 1) = 0");
}

TEST_F(StraceTest, UnknownCalls) {
  EXPECT_EQ(trace(500, 1, 2, 3, 0xffff, 0, 6),
            "syscall_0x1f4(0x1, 0x2, 0x3, 0xffff, 0, 0x6) = "
            "-1 ENOSYS (Function not implemented)");
  EXPECT_EQ(trace(kClone, 0x50f00, 0, 0, 0, 0),
            "clone(CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_SIGHAND|CLONE_THREAD|CLONE_SYSVSEM, NULL, NULL, NULL, NULL) = "
            "-1 ENOSYS (Function not implemented)");
  EXPECT_EQ(trace(kClone, 17, 0, 0, 0, 0).substr(0, 14), "clone(SIGCHLD,");
}

TEST_F(StraceTest, SignalsAndTheEnd) {
  const GuestSigaction action{0x401000, 0, 0, 0};
  guest_.call(kRtSigaction, 10, guest_.put(0, action), 0, 8);
  trace(kTgkill, 1000, 1000, 10);
  ASSERT_EQ(lines_.size(), 2u);
  EXPECT_EQ(lines_[0], "tgkill(1000, 1000, SIGUSR1) = 0");
  EXPECT_EQ(lines_[1].substr(0, 65), "--- SIGUSR1 {si_signo=SIGUSR1, si_code=SI_TKILL, si_pid=1000, si_");
  guest_.cpu().x[0] = 5;
  lines_.clear();
  guest_.cpu().fault_address = 0x10;
  EXPECT_EQ(guest_.process().fault(guest_.cpu(), guest_.memory(), Trap::kUnmapped),
            (Outcome{Outcome::Kind::kSignal, 11}));
  ASSERT_EQ(lines_.size(), 2u);
  EXPECT_EQ(lines_[0], "--- SIGSEGV {si_signo=SIGSEGV, si_code=SEGV_MAPERR, si_addr=0x10} ---");
  EXPECT_EQ(lines_[1], "+++ killed by SIGSEGV +++");
}

TEST_F(StraceTest, Exit) {
  EXPECT_EQ(trace(kExitGroup, 7), "exit_group(7) = ?");
  EXPECT_EQ(lines_.at(1), "+++ exited with 7 +++");
}

TEST_F(StraceTest, AWaitWithoutEnd) {
  EXPECT_EQ(trace(kPpoll, 0, 0, 0, 0, 0), "ppoll(NULL, 0, NULL, NULL, 0) = ? <unfinished ...>");
  EXPECT_EQ(lines_.at(1), "+++ killed by SIGKILL +++");
}

TEST_F(StraceTest, AnInterruptedCall) {
  const GuestSigaction action{0x401000, 0, 0, 0};
  guest_.call(kRtSigaction, 14, guest_.put(0, action), 0, 8);
  const GuestItimerval timer{{0, 0}, {0, 5}};
  guest_.call(kSetitimer, 0, guest_.put(0, timer), 0);
  guest_.call(kPipe2, kScratch, 0);
  EXPECT_EQ(trace(kRead, 3, kScratch, 1),
            "read(3, 0x200000, 1) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)");
  EXPECT_EQ(lines_.at(1), "--- SIGALRM {si_signo=SIGALRM, si_code=SI_KERNEL} ---");
}

// Tracing changes nothing: the same calls with and without it.
TEST_F(StraceTest, ResultsAreTheSame) {
  TemporaryFolder folder;
  Guest plain(rooted(folder));
  for (u64 number = 0; number < kCallNumbers; ++number) {
    if (number == kExit || number == kExitGroup || number == kRtSigreturn) continue;
    for (Guest* guest : {&guest_, &plain}) guest->call(number, 3, kScratch, kScratch + 64, 2, kScratch + 128, 8);
    ASSERT_EQ(std::memcmp(&guest_.cpu(), &plain.cpu(), sizeof(Cpu)), 0) << call_name(u32(number));
    ASSERT_EQ(guest_.memory().private_bytes(), plain.memory().private_bytes()) << call_name(u32(number));
    ASSERT_EQ(guest_.outcome(), plain.outcome());
    if (guest_.outcome().kind != Outcome::Kind::kContinue) break;
  }
}

TEST(Strace, EveryCallHasItsArguments) {
#define KVRM_CALL(number, name) EXPECT_TRUE(has_argument_kinds(number)) << #name;
#define KVRM_LANE(number, name) EXPECT_TRUE(has_argument_kinds(number)) << #name;
#define KVRM_SAME(number, name, handler) EXPECT_TRUE(has_argument_kinds(number)) << #name;
#define KVRM_LANE_SAME(number, name, handler) EXPECT_TRUE(has_argument_kinds(number)) << #name;
#define KVRM_FIXED(number, name, result) EXPECT_TRUE(has_argument_kinds(number)) << #name;
#define KVRM_REFUSED(number, name, result, what) EXPECT_TRUE(has_argument_kinds(number)) << #name;
#include "linux/syscalls.inc"
}

}  // namespace
}  // namespace kvrm::linux_abi::test
