// What system calls allocate on the host counts against the guest's memory.
#include <cerrno>

#include "guest.h"

namespace kvrm::linux_abi::test {
namespace {

constexpr u64 kPipe2 = 59;

struct LimitedGuest {
  explicit LimitedGuest(u64 limit) : account(std::make_shared<memory::Account>(limit)), guest(options()) {}
  ProcessOptions options() const {
    ProcessOptions result;
    result.account = account;
    return result;
  }
  memory::AccountPointer account;
  Guest guest;
};

TEST(Limits, TextsOfTheMapCount) {
  constexpr u64 kLimit = 1 << 20;
  LimitedGuest limited(kLimit);
  Guest& guest = limited.guest;
  for (u64 i = 0; i < 4000; ++i) {
    ASSERT_TRUE(guest.memory().map(0x10000000 + i * 0x2000, 0x1000, memory::kRead));
  }
  std::vector<i64> open;
  i64 fd = 0;
  while (open.size() < 100 && (fd = guest.open("/proc/self/maps")) >= 0) open.push_back(fd);
  EXPECT_EQ(fd, -ENOMEM);
  EXPECT_GE(open.size(), 2u) << "each is about 200 KB";
  EXPECT_LE(open.size(), 10u);
  EXPECT_LE(limited.account->used(), kLimit);
  EXPECT_EQ(guest.call(kClose, u64(open.back())), 0);
  EXPECT_EQ(guest.open("/proc/self/maps"), open.back()) << "and what is closed does not";
  for (const i64 each : open) EXPECT_EQ(guest.call(kClose, u64(each)), 0);
  EXPECT_EQ(limited.account->used(), 0u);
}

TEST(Limits, PipesCount) {
  LimitedGuest limited(1 << 20);
  Guest& guest = limited.guest;
  u64 pipes = 0;
  i64 result = 0;
  while (pipes < 100 && (result = guest.call(kPipe2, kScratch, 0)) == 0) ++pipes;
  EXPECT_EQ(result, -ENFILE);
  EXPECT_EQ(pipes, 16u) << "64 KiB each";
  const auto first = guest.get<i32>(kScratch), second = guest.get<i32>(kScratch + 4);
  EXPECT_EQ(guest.call(kClose, u64(first)), 0);
  EXPECT_EQ(guest.call(kPipe2, kScratch, 0), -ENFILE) << "the other end still holds it";
  EXPECT_EQ(guest.call(kClose, u64(second)), 0);
  EXPECT_EQ(guest.call(kPipe2, kScratch, 0), 0);
}

TEST(Limits, OpenFilesCount) {
  LimitedGuest limited(64 << 10);
  i64 fd = 0;
  u64 open = 0;
  while (open < 1000 && (fd = limited.guest.open("/dev/null")) >= 0) ++open;
  EXPECT_EQ(fd, -ENOMEM);
  EXPECT_EQ(open, 64u);
}

}  // namespace
}  // namespace kvrm::linux_abi::test
