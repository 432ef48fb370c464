// Standard files that lead into memory behave as pipes between two shell commands do.
#include <poll.h>
#include <sys/stat.h>

#include <cerrno>

#include "guest.h"

namespace kvrm::linux_abi::test {
namespace {

// What QEMU shows of `printf hello | program | cat`.
class MemoryPipes : public ::testing::Test {
 protected:
  static ProcessOptions options(std::string& output, std::string& errors) {
    const auto into = [](std::string& text) {
      return [&text](std::span<const u8> bytes) { text.append(bytes.begin(), bytes.end()); };
    };
    ProcessOptions options;
    options.input = std::make_shared<const std::string>("hello");
    options.output = into(output);
    options.errors = into(errors);
    return options;
  }
  std::string output_, errors_;
  Guest guest_{options(output_, errors_)};
};

TEST_F(MemoryPipes, InputEndsAndIsSharedByDuplicates) {
  EXPECT_EQ(guest_.call(kRead, 0, kScratch, 2), 2);
  EXPECT_EQ(guest_.get_text(kScratch, 2), "he");
  const i64 copy = guest_.call(kDup, 0);
  ASSERT_GE(copy, 3);
  EXPECT_EQ(guest_.call(kRead, u64(copy), kScratch, 100), 3);
  EXPECT_EQ(guest_.get_text(kScratch, 3), "llo");
  EXPECT_EQ(guest_.call(kRead, 0, kScratch, 100), 0);
  EXPECT_EQ(guest_.call(kRead, 0, 0x10, 100), -EFAULT);
  EXPECT_EQ(guest_.call(kWrite, 0, kScratch, 1), -EBADF);
}

TEST_F(MemoryPipes, OutputGoesWhereItBelongs) {
  const u64 text = guest_.text("one two");
  EXPECT_EQ(guest_.call(kWrite, 1, text, 3), 3);
  EXPECT_EQ(guest_.call(kWrite, 2, text + 4, 3), 3);
  EXPECT_EQ(guest_.call(kDup3, 1, 7, 0), 7);
  EXPECT_EQ(guest_.call(kWrite, 7, text + 3, 1), 1);
  EXPECT_EQ(output_, "one ");
  EXPECT_EQ(errors_, "two");
  EXPECT_EQ(guest_.call(kRead, 1, kScratch, 1), -EBADF);
}

TEST_F(MemoryPipes, StatShowsAPipeThatIsTheSameInEveryRun) {
  for (u64 fd = 0; fd < 3; ++fd) {
    ASSERT_EQ(guest_.call(kFstat, fd, kScratch), 0);
    const auto stat = guest_.get<GuestStat>(kScratch);
    EXPECT_EQ(stat.mode, u32{S_IFIFO | 0600});
    EXPECT_EQ(stat.ino, 1 + fd);
    EXPECT_EQ(stat.nlink, 1u);
    EXPECT_EQ(stat.uid, 1000u);
    EXPECT_EQ(stat.size, 0);
    EXPECT_EQ(stat.blksize, 4096);
    EXPECT_EQ(stat.mtime, 1'704'067'200);
    constexpr u64 kEmptyPath = 0x1000, kBasic = 0x7ff;
    ASSERT_EQ(guest_.call(kStatx, fd, guest_.text("", 0x1000), kEmptyPath, kBasic, kScratch), 0);
    const auto more = guest_.get<GuestStatx>(kScratch);
    EXPECT_EQ(more.mode, S_IFIFO | 0600);
    EXPECT_EQ(more.ino, stat.ino);
    EXPECT_EQ(more.dev_minor, stat.dev);
    EXPECT_EQ(more.mtime.seconds, stat.mtime);
  }
}

TEST_F(MemoryPipes, WhatAPipeCannotDo) {
  constexpr u64 kFsync = 82, kFallocate = 47, kFadvise = 223;
  for (u64 fd = 0; fd < 2; ++fd) {
    EXPECT_EQ(guest_.call(kLseek, fd, 0, 1), -ESPIPE);
    EXPECT_EQ(guest_.call(kFtruncate, fd, 0), -EINVAL);
    EXPECT_EQ(guest_.call(kFsync, fd), -EINVAL);
    EXPECT_EQ(guest_.call(kFadvise, fd, 0, 0, 0), -ESPIPE);
    EXPECT_EQ(guest_.call(kFchmod, fd, 0777), -EPERM);
    constexpr u64 kGetModes = 0x5401;
    EXPECT_EQ(guest_.call(kIoctl, fd, kGetModes, kScratch), -ENOTTY);
  }
  EXPECT_EQ(guest_.call(kPread64, 0, kScratch, 1, 0), -ESPIPE);
  EXPECT_EQ(guest_.call(kPwrite64, 1, kScratch, 1, 0), -ESPIPE);
  EXPECT_EQ(guest_.call(kFallocate, 1, 0, 0, 1), -ESPIPE);
  EXPECT_EQ(guest_.call(kMmap, 0, 4096, 1, 2, 0, 0), -ENODEV);
  EXPECT_EQ(guest_.call(kMmap, 0, 4096, 1, 2, 1, 0), -EACCES);
}

TEST_F(MemoryPipes, PollAndTheUnreadCount) {
  constexpr u64 kUnread = 0x541b;
  const GuestPollfd asked[2] = {{0, POLLIN | POLLOUT, 0}, {1, POLLIN | POLLOUT, 0}};
  const auto poll = [&] {
    const u64 at = guest_.put(0x100, asked, sizeof asked);
    EXPECT_EQ(guest_.call(kPpoll, at, 2, 0, 0, 8), 2);
    return std::pair(guest_.get<GuestPollfd>(at).revents, guest_.get<GuestPollfd>(at + sizeof(GuestPollfd)).revents);
  };
  EXPECT_EQ(poll(), std::pair(i16(POLLIN | POLLHUP), i16(POLLOUT)));
  EXPECT_EQ(guest_.call(kIoctl, 0, kUnread, kScratch), 0);
  EXPECT_EQ(guest_.get<i32>(kScratch), 5);
  EXPECT_EQ(guest_.call(kRead, 0, kScratch, 5), 5);
  EXPECT_EQ(poll(), std::pair(i16(POLLHUP), i16(POLLOUT)));
  EXPECT_EQ(guest_.call(kIoctl, 0, kUnread, kScratch), 0);
  EXPECT_EQ(guest_.get<i32>(kScratch), 0);
}

TEST_F(MemoryPipes, FlagsCanBeAskedAndSet) {
  constexpr u64 kGetFlags = 3, kSetFlags = 4, kNonblock = 04000;
  EXPECT_EQ(guest_.call(kFcntl, 0, kGetFlags), 0);
  EXPECT_EQ(guest_.call(kFcntl, 1, kGetFlags), 1);
  EXPECT_EQ(guest_.call(kFcntl, 1, kSetFlags, kNonblock), 0);
  EXPECT_EQ(guest_.call(kFcntl, 1, kGetFlags), i64(1 | kNonblock));
  EXPECT_EQ(guest_.call(kWrite, 1, kScratch, 4), 4);
}

}  // namespace
}  // namespace kvrm::linux_abi::test
