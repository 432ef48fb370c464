// Files: what the calls return, and what they do.
#include <sys/stat.h>

#include <cerrno>

#include "guest.h"

namespace kvrm::linux_abi::test {
namespace {

class FilesTest : public ::testing::Test {
 protected:
  FilesTest() : guest_(rooted(folder_)) {}
  i64 open(const std::string& path, u32 flags = 0, u32 mode = 0644) { return guest_.open(path, flags, mode); }
  i64 call(u64 number, u64 a0 = 0, u64 a1 = 0, u64 a2 = 0, u64 a3 = 0, u64 a4 = 0, u64 a5 = 0) {
    return guest_.call(number, a0, a1, a2, a3, a4, a5);
  }
  u64 text(const std::string& value, u64 offset = 0) { return guest_.text(value, offset); }
  i64 write(i64 fd, const std::string& value) { return call(kWrite, u64(fd), text(value, 0x2000), value.size()); }

  TemporaryFolder folder_;
  Guest guest_;
};

TEST_F(FilesTest, OpenFlagsAreArm64s) {
  folder_.write("f", "hello");
  std::filesystem::create_directory(folder_ / "d");
  std::filesystem::create_symlink("f", folder_ / "l");
  EXPECT_EQ(open("f", 040000), -ENOTDIR);  // O_DIRECTORY here, O_DIRECT on x86-64
  EXPECT_EQ(open("l", 0100000), -ELOOP);   // O_NOFOLLOW here, O_LARGEFILE there
  EXPECT_GE(open("f", 0400000), 0);        // O_LARGEFILE here, O_NOFOLLOW there
  EXPECT_GE(open("f", 0200000), 0);        // O_DIRECT here, O_DIRECTORY there
  EXPECT_EQ(open("d", kOpenReadWrite), -EISDIR);
  EXPECT_EQ(open("f", kOpenCreate | kOpenExclusive), -EEXIST);
  EXPECT_EQ(open("none"), -ENOENT);
  EXPECT_EQ(open("f/x"), -ENOTDIR);
  EXPECT_EQ(open(""), -ENOENT);
  EXPECT_EQ(call(kOpenat, kCwd, text(std::string(5000, 'x')), 0), -ENAMETOOLONG);
  EXPECT_EQ(open(std::string(300, 'x')), -ENAMETOOLONG);
  EXPECT_EQ(call(kOpenat, kCwd, 0xdead0000, 0), -EFAULT);
}

TEST_F(FilesTest, ReadAndWriteMoveBytesAndPosition) {
  const i64 fd = open("new", kOpenReadWrite | kOpenCreate, 0640);
  ASSERT_EQ(fd, 3);
  EXPECT_EQ(write(fd, "hello world"), 11);
  EXPECT_EQ(call(kLseek, u64(fd), 6, 0), 6);
  EXPECT_EQ(call(kRead, u64(fd), kScratch, 100), 5);
  EXPECT_EQ(guest_.get_text(kScratch, 5), "world");
  EXPECT_EQ(call(kRead, u64(fd), kScratch, 100), 0);
  EXPECT_EQ(call(kPread64, u64(fd), kScratch, 3, 1), 3);
  EXPECT_EQ(guest_.get_text(kScratch, 3), "ell");
  EXPECT_EQ(call(kPwrite64, u64(fd), text("J"), 1, 0), 1);
  EXPECT_EQ(folder_.read("new"), "Jello world");
  EXPECT_EQ(call(kPread64, u64(fd), kScratch, 3, ~u64{0}), -EINVAL);
  EXPECT_EQ(call(kFtruncate, u64(fd), 4), 0);
  EXPECT_EQ(folder_.read("new"), "Jell");
  EXPECT_EQ(call(kClose, u64(fd)), 0);
  EXPECT_EQ(call(kClose, u64(fd)), -EBADF);
  EXPECT_EQ(call(kRead, u64(fd), kScratch, 1), -EBADF);
  struct stat info{};
  ASSERT_EQ(::stat((folder_ / "new").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0640u);
}

TEST_F(FilesTest, TheGuestsUmaskCountsAndNotTheHosts) {
  EXPECT_EQ(call(kUmask, 0), 022);
  open("a", kOpenCreate | kOpenWriteOnly, 0666);
  call(kMkdirat, kCwd, text("b"), 0777);
  EXPECT_EQ(call(kUmask, 077), 0);
  open("c", kOpenCreate | kOpenWriteOnly, 0666);
  struct stat info{};
  ::stat((folder_ / "a").c_str(), &info);
  EXPECT_EQ(info.st_mode & 0777, 0666u);
  ::stat((folder_ / "b").c_str(), &info);
  EXPECT_EQ(info.st_mode & 0777, 0777u);
  ::stat((folder_ / "c").c_str(), &info);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(FilesTest, HugeLengthsAreCapped) {
  folder_.write("f", "hello");
  const i64 fd = open("f", kOpenReadWrite);
  // The buffer ends with the scratch area: as much as fits is written.
  const u64 near_end = kScratch + kScratchSize - 8;
  EXPECT_EQ(call(kPwrite64, u64(fd), near_end, u64{1} << 60, 0), 8);
  EXPECT_EQ(call(kWrite, u64(fd), kScratch, ~u64{0}), i64{kScratchSize});
  EXPECT_EQ(call(kLseek, u64(fd), 0, 0), 0);
  EXPECT_EQ(call(kRead, u64(fd), kScratch + 16, u64{1} << 60), i64{kScratchSize} - 16);
  EXPECT_EQ(call(kRead, u64(fd), 0x10, 10), -EFAULT);
  EXPECT_EQ(call(kWrite, u64(fd), 0x10, 10), -EFAULT);
  EXPECT_EQ(call(kWrite, u64(fd), 0x10, 0), 0);
  const i64 zero = open("/dev/zero");
  EXPECT_EQ(call(kRead, u64(zero), kScratch, u64{1} << 62), i64{kScratchSize});
}

TEST_F(FilesTest, VectorsGatherAndScatter) {
  const i64 fd = open("v", kOpenReadWrite | kOpenCreate);
  text("abcdefgh");
  const GuestIovec out[4] = {{kScratch, 2}, {0x10, 0}, {kScratch + 4, 3}, {kScratch + 2, 1}};
  EXPECT_EQ(call(kWritev, u64(fd), guest_.put(0x1000, out, sizeof out), 4), 6);
  EXPECT_EQ(folder_.read("v"), "abefgc");
  call(kLseek, u64(fd), 0, 0);
  const GuestIovec in[2] = {{kScratch + 0x100, 4}, {kScratch + 0x200, 100}};
  EXPECT_EQ(call(kReadv, u64(fd), guest_.put(0x1000, in, sizeof in), 2), 6);
  EXPECT_EQ(guest_.get_text(kScratch + 0x100, 4) + guest_.get_text(kScratch + 0x200, 2), "abefgc");
  EXPECT_EQ(call(kWritev, u64(fd), kScratch, 1025), -EINVAL);
  EXPECT_EQ(call(kWritev, u64(fd), 0x10, 1), -EFAULT);
  const GuestIovec bad{kScratch, u64{1} << 63};
  EXPECT_EQ(call(kWritev, u64(fd), guest_.put(0x1000, bad), 1), -EINVAL);
  // A bad second buffer: the first one still counts.
  const GuestIovec half[2] = {{kScratch, 2}, {0x10, 5}};
  EXPECT_EQ(call(kWritev, u64(fd), guest_.put(0x1000, half, sizeof half), 2), 2);
}

TEST_F(FilesTest, DescriptorsAreTheLowestFreeAndLimited) {
  EXPECT_EQ(call(kDup, 1), 3);
  EXPECT_EQ(call(kClose, 0), 0);
  EXPECT_EQ(call(kDup, 1), 0);
  EXPECT_EQ(call(kDup3, 1, 1, 0), -EINVAL);
  EXPECT_EQ(call(kDup3, 1, 7, kOpenCloexec), 7);
  EXPECT_EQ(call(kFcntl, 7, 1), 1);
  EXPECT_EQ(call(kFcntl, 7, 2, 0), 0);
  EXPECT_EQ(call(kFcntl, 7, 1), 0);
  EXPECT_EQ(call(kDup3, 1, 5000, 0), -EBADF);
  EXPECT_EQ(call(kFcntl, 1, 0, 100), 100);
  EXPECT_EQ(call(kFcntl, 1, 0, 5000), -EINVAL);
  i64 last = 0;
  for (int i = 0; i < 1100 && last >= 0; ++i) last = call(kDup, 1);
  EXPECT_EQ(last, -EMFILE);
  EXPECT_EQ(open("/dev/null"), -EMFILE);
  EXPECT_EQ(call(kPipe2, kScratch, 0), -EMFILE);
}

TEST_F(FilesTest, PipesCarryBytesAndBreak) {
  ASSERT_EQ(call(kPipe2, kScratch, 0), 0);
  const u64 in = guest_.get<u32>(kScratch), out = guest_.get<u32>(kScratch + 4);
  EXPECT_EQ(write(i64(out), "ping"), 4);
  EXPECT_EQ(call(kRead, in, kScratch, 100), 4);
  EXPECT_EQ(call(kLseek, in, 0, 0), -ESPIPE);
  EXPECT_EQ(call(kRead, out, kScratch, 1), -EBADF);
  EXPECT_EQ(call(kFcntl, in, 4, kOpenNonblock), 0);
  EXPECT_EQ(call(kRead, in, kScratch, 100), -EAGAIN);
  EXPECT_EQ(call(kClose, out), 0);
  EXPECT_EQ(call(kRead, in, kScratch, 100), 0);
}

TEST_F(FilesTest, ReadingAnEmptyPipeOfOnesOwnIsADeadlock) {
  ASSERT_EQ(call(kPipe2, kScratch, 0), 0);
  call(kRead, guest_.get<u32>(kScratch), kScratch, 1);
  EXPECT_EQ(guest_.outcome().kind, Outcome::Kind::kDeadlock);
  EXPECT_NE(guest_.process().message().find("pipe"), std::string::npos);
}

TEST_F(FilesTest, FillingAPipeOfOnesOwnIsADeadlock) {
  ASSERT_EQ(call(kPipe2, kScratch, 0), 0);
  const u64 out = guest_.get<u32>(kScratch + 4);
  call(kWrite, out, kScratch, 200'000);
  EXPECT_EQ(guest_.outcome().kind, Outcome::Kind::kDeadlock);
}

TEST_F(FilesTest, WritingToABrokenPipeRaisesSigpipe) {
  int host[2];
  ASSERT_EQ(::pipe2(host, O_CLOEXEC), 0);
  ::close(host[0]);
  ProcessOptions options;
  options.stdout_fd = host[1];
  Guest guest(options);
  guest.call(kWrite, 1, kScratch, 10);
  EXPECT_EQ(guest.outcome(), (Outcome{Outcome::Kind::kSignal, 13}));
  Guest ignoring(options);
  const GuestSigaction ignore{1, 0, 0, 0};
  EXPECT_EQ(ignoring.call(kRtSigaction, 13, ignoring.put(0, ignore), 0, 8), 0);
  EXPECT_EQ(ignoring.call(kWrite, 1, kScratch, 10), -EPIPE);
  EXPECT_EQ(ignoring.outcome().kind, Outcome::Kind::kContinue);
  ::close(host[1]);
}

TEST_F(FilesTest, StandardFilesStayOpenForTheHost) {
  int host[2];
  ASSERT_EQ(::pipe2(host, O_CLOEXEC), 0);
  {
    ProcessOptions options;
    options.stdout_fd = host[1];
    Guest guest(options);
    EXPECT_EQ(guest.call(kWrite, 1, guest.text("hi"), 2), 2);
    EXPECT_EQ(guest.call(kFcntl, 1, 4, kOpenNonblock), 0);
    EXPECT_EQ(guest.call(kClose, 1), 0);
  }
  EXPECT_EQ(::fcntl(host[1], F_GETFL) & O_NONBLOCK, 0);
  char bytes[2];
  EXPECT_EQ(::read(host[0], bytes, 2), 2);
  ::close(host[0]);
  ::close(host[1]);
}

TEST_F(FilesTest, CancellingEndsAWait) {
  int host[2];
  ASSERT_EQ(::pipe2(host, O_CLOEXEC), 0);
  const std::atomic<bool> cancel{true};
  ProcessOptions options;
  options.stdin_fd = host[0];
  options.cancel = &cancel;
  Guest guest(options);
  const u64 pc = guest.cpu().pc;
  EXPECT_EQ(guest.call(kRead, 0, kScratch, 10), 0);
  EXPECT_EQ(guest.outcome().kind, Outcome::Kind::kCancelled);
  EXPECT_EQ(guest.cpu().pc, pc - 4);
  ASSERT_EQ(::write(host[1], "x", 1), 1);
  EXPECT_EQ(guest.call(kRead, 0, kScratch, 10), 1);
  ::close(host[0]);
  ::close(host[1]);
}

TEST_F(FilesTest, StatSpeaksArm64) {
  folder_.write("f", "hello");
  struct stat host{};
  ::stat((folder_ / "f").c_str(), &host);
  ASSERT_EQ(call(kNewfstatat, kCwd, text("f", 0x1000), kScratch, 0), 0);
  const auto guest = guest_.get<GuestStat>(kScratch);
  EXPECT_EQ(guest.ino, host.st_ino);
  EXPECT_EQ(guest.mode, host.st_mode);
  EXPECT_EQ(guest.size, 5);
  EXPECT_EQ(guest.mtime, host.st_mtim.tv_sec);
  EXPECT_EQ(guest_.get<u32>(kScratch + 16), host.st_mode);
  EXPECT_EQ(guest_.get<u64>(kScratch + 48), 5u);
  const i64 fd = open("f");
  EXPECT_EQ(call(kFstat, u64(fd), kScratch + 0x200), 0);
  EXPECT_EQ(guest_.get<u64>(kScratch + 0x200 + 8), host.st_ino);
  EXPECT_EQ(call(kNewfstatat, u64(fd), text("", 0x1000), kScratch, kAtEmptyPath), 0);
  EXPECT_EQ(call(kNewfstatat, u64(fd), text("", 0x1000), kScratch, 0), -ENOENT);
  EXPECT_EQ(call(kNewfstatat, kCwd, text("f", 0x1000), 0x10, 0), -EFAULT);
  EXPECT_EQ(call(kNewfstatat, kCwd, text("f", 0x1000), kScratch, 0x80000000), -EINVAL);
  EXPECT_EQ(call(kStatx, kCwd, text("f", 0x1000), 0, 0x7ff, kScratch), 0);
  EXPECT_EQ(guest_.get<GuestStatx>(kScratch).size, 5u);
  EXPECT_EQ(call(kFaccessat, kCwd, text("f", 0x1000), 4), 0);
  EXPECT_EQ(call(kFaccessat, kCwd, text("g", 0x1000), 0), -ENOENT);
  EXPECT_EQ(call(kFaccessat, kCwd, text("f", 0x1000), 8), -EINVAL);
  EXPECT_EQ(call(kNewfstatat, kCwd, text("/dev/null", 0x1000), kScratch, 0), 0);
  EXPECT_EQ(guest_.get<u32>(kScratch + 16) & S_IFMT, u32{S_IFCHR});
}

TEST_F(FilesTest, FoldersListTheirEntries) {
  folder_.write("one", "");
  folder_.write("two", "");
  const i64 fd = open("/", kOpenDirectory);
  std::string names;
  const i64 n = call(kGetdents64, u64(fd), kScratch, 4096);
  ASSERT_GT(n, 0);
  for (i64 at = 0; at < n; at += guest_.get<u16>(kScratch + u64(at) + 16))
    names += guest_.get_text(kScratch + u64(at) + 19, 3) + " ";
  EXPECT_NE(names.find("one"), std::string::npos);
  EXPECT_NE(names.find("two"), std::string::npos);
  EXPECT_EQ(call(kGetdents64, u64(fd), kScratch, 4096), 0);
  call(kLseek, u64(fd), 0, 0);
  EXPECT_EQ(call(kGetdents64, u64(fd), 0x10, 4096), -EFAULT);
  EXPECT_EQ(call(kGetdents64, u64(fd), kScratch, 4096), n);
  EXPECT_EQ(call(kGetdents64, u64(fd), kScratch, 1), 0);
  call(kLseek, u64(fd), 0, 0);
  EXPECT_EQ(call(kGetdents64, u64(fd), kScratch, 1), -EINVAL);
  EXPECT_EQ(call(kGetdents64, u64(open("one")), kScratch, 4096), -ENOTDIR);
}

TEST_F(FilesTest, NamesChange) {
  EXPECT_EQ(call(kMkdirat, kCwd, text("d"), 0755), 0);
  EXPECT_EQ(call(kMkdirat, kCwd, text("d"), 0755), -EEXIST);
  EXPECT_EQ(call(kMkdirat, kCwd, text("e/"), 0755), 0);
  EXPECT_EQ(call(kChdir, text("d")), 0);
  EXPECT_EQ(call(kGetcwd, kScratch, 100), 3);
  EXPECT_EQ(call(kGetcwd, kScratch, 2), -ERANGE);
  open("f", kOpenCreate | kOpenWriteOnly);
  EXPECT_EQ(call(kLinkat, kCwd, text("f"), kCwd, text("../g", 0x1000), 0), 0);
  EXPECT_EQ(call(kRenameat, kCwd, text("f"), kCwd, text("h", 0x1000)), 0);
  EXPECT_EQ(call(kUnlinkat, kCwd, text("h"), kAtRemovedir), -ENOTDIR);
  EXPECT_EQ(call(kUnlinkat, kCwd, text("h"), 0), 0);
  EXPECT_EQ(call(kUnlinkat, kCwd, text("../d"), kAtRemovedir), 0);
  EXPECT_EQ(call(kGetcwd, kScratch, 100), -ENOENT);
  EXPECT_EQ(open("x", kOpenCreate | kOpenWriteOnly), -ENOENT);
  EXPECT_EQ(call(kChdir, text("/g")), -ENOTDIR);
  EXPECT_EQ(call(kChdir, text("/")), 0);
  EXPECT_EQ(call(kSymlinkat, text("target"), kCwd, text("link", 0x1000)), 0);
  EXPECT_EQ(call(kReadlinkat, kCwd, text("link"), kScratch + 0x1000, 100), 6);
  EXPECT_EQ(guest_.get_text(kScratch + 0x1000, 6), "target");
  EXPECT_EQ(call(kReadlinkat, kCwd, text("g"), kScratch + 0x1000, 100), -EINVAL);
  EXPECT_EQ(call(kReadlinkat, kCwd, text("link"), kScratch + 0x1000, 0), -EINVAL);
  EXPECT_EQ(call(kReadlinkat, kCwd, text("link"), kScratch + 0x1000, 3), 3);
}

TEST_F(FilesTest, SendfileCopies) {
  folder_.write("from", "0123456789");
  const u64 in = u64(open("from")), out = u64(open("to", kOpenCreate | kOpenReadWrite));
  EXPECT_EQ(call(kSendfile, out, in, 0, 4), 4);
  EXPECT_EQ(call(kSendfile, out, in, 0, 100), 6);
  EXPECT_EQ(call(kSendfile, out, in, guest_.put(0, u64{7}), 100), 3);
  EXPECT_EQ(guest_.get<u64>(kScratch), 10u);
  EXPECT_EQ(folder_.read("to"), "0123456789789");
}

TEST_F(FilesTest, PollKnowsWhatIsReady) {
  ASSERT_EQ(call(kPipe2, kScratch, 0), 0);
  const i32 in = guest_.get<i32>(kScratch), out = guest_.get<i32>(kScratch + 4);
  GuestPollfd fds[3] = {{in, 1, 0}, {out, 4, 0}, {77, 1, 0}};
  EXPECT_EQ(call(kPpoll, guest_.put(0x100, fds, sizeof fds), 3, 0, 0, 8), 2);
  EXPECT_EQ(guest_.get<i16>(kScratch + 0x100 + 6), 0);
  EXPECT_EQ(guest_.get<i16>(kScratch + 0x100 + 14), 4);
  EXPECT_EQ(guest_.get<i16>(kScratch + 0x100 + 22), 0x20);
  // Nothing but the own empty pipe: the timeout passes at once in virtual time.
  const u64 before = guest_.cpu().clock_ns;
  const GuestTimespec hour{3600, 0};
  EXPECT_EQ(call(kPpoll, guest_.put(0x100, fds, 8), 1, guest_.put(0x200, hour), 0, 8), 0);
  EXPECT_EQ(guest_.cpu().clock_ns - before, u64{3600} * 1'000'000'000);
  EXPECT_EQ(call(kPpoll, kScratch, 5000, 0, 0, 8), -EINVAL);
  u64 set[16] = {u64{1} << in | u64{1} << out};
  guest_.put(0x300, set, sizeof set);
  guest_.put(0x400, set, sizeof set);
  EXPECT_EQ(call(kPselect6, u64(out) + 1, kScratch + 0x300, kScratch + 0x400, 0, 0, 0), 1);
  EXPECT_EQ(guest_.get<u64>(kScratch + 0x300), 0u);
  EXPECT_EQ(guest_.get<u64>(kScratch + 0x400), u64{1} << out);
  set[0] = u64{1} << 40;
  EXPECT_EQ(call(kPselect6, 64, guest_.put(0x300, set, sizeof set), 0, 0, 0, 0), -EBADF);
  call(kPpoll, guest_.put(0x100, fds, 8), 1, 0, 0, 8);
  EXPECT_EQ(guest_.outcome().kind, Outcome::Kind::kDeadlock);
}

TEST_F(FilesTest, TerminalCallsOnOtherThings) {
  EXPECT_EQ(call(kIoctl, 1, 0x5401, kScratch), -ENOTTY);
  EXPECT_EQ(call(kIoctl, 1, 0x5413, kScratch), -ENOTTY);
  EXPECT_EQ(call(kIoctl, 99, 0x5401, kScratch), -EBADF);
  folder_.write("f", "hello");
  EXPECT_EQ(call(kIoctl, u64(open("f")), 0x541b, kScratch), 0);
  EXPECT_EQ(guest_.get<u32>(kScratch), 5u);
}

}  // namespace
}  // namespace kvrm::linux_abi::test
