// Clocks and waiting: virtual by default, and then free.
#include <cerrno>
#include <chrono>
#include <limits>

#include "guest.h"

namespace kvrm::linux_abi::test {
namespace {

TEST(Time, VirtualClocksFollowTheCpusClock) {
  Guest guest;
  guest.cpu().clock_ns = 1'500'000'000;
  EXPECT_EQ(guest.call(kClockGettime, 1, kScratch), 0);
  EXPECT_EQ(guest.get<u64>(kScratch), 1u);
  EXPECT_EQ(guest.get<u64>(kScratch + 8), 500'000'000u);
  EXPECT_EQ(guest.call(kClockGettime, 0, kScratch), 0);
  EXPECT_EQ(guest.get<u64>(kScratch), 1'704'067'201u);
  EXPECT_EQ(guest.call(kClockGettime, 77, kScratch), -EINVAL);
  EXPECT_EQ(guest.call(kClockGettime, 1, 0x10), -EFAULT);
}

TEST(Time, SleepingIsInstantAndMovesTheClock) {
  Guest guest;
  const auto start = std::chrono::steady_clock::now();
  const GuestTimespec day{86400, 5};
  EXPECT_EQ(guest.call(kNanosleep, guest.put(0, day), 0), 0);
  EXPECT_EQ(guest.cpu().clock_ns, u64{86400} * 1'000'000'000 + 5);
  EXPECT_EQ(guest.call(kClockNanosleep, 1, 1, guest.put(0, GuestTimespec{100000, 0}), 0), 0);
  EXPECT_EQ(guest.cpu().clock_ns, u64{100000} * 1'000'000'000);
  EXPECT_EQ(guest.call(kNanosleep, guest.put(0, GuestTimespec{0, 1'000'000'000}), 0), -EINVAL);
  EXPECT_EQ(guest.call(kNanosleep, guest.put(0, GuestTimespec{-1, 0}), 0), -EINVAL);
  EXPECT_EQ(guest.call(kNanosleep, 0x10, 0), -EFAULT);
  const GuestTimespec forever{std::numeric_limits<i64>::max(), 0};
  EXPECT_EQ(guest.call(kNanosleep, guest.put(0, forever), 0), 0);
  EXPECT_EQ(guest.call(kNanosleep, guest.put(0, forever), 0), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(Time, TheHostsClockIsTheHosts) {
  ProcessOptions options;
  options.clock = ClockSource::kHost;
  Guest guest(options);
  EXPECT_EQ(guest.call(kClockGettime, 0, kScratch), 0);
  EXPECT_NEAR(double(guest.get<i64>(kScratch)), double(::time(nullptr)), 2);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(guest.call(kNanosleep, guest.put(0, GuestTimespec{0, 30'000'000}), 0), 0);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(29));
}

TEST(Time, FutexesOfASingleThread) {
  Guest guest;
  const u64 word = guest.put(0, u32{5});
  EXPECT_EQ(guest.call(kFutex, word, 1, 10), 0);
  EXPECT_EQ(guest.call(kFutex, word, 128, 4, 0), -EAGAIN);
  EXPECT_EQ(guest.call(kFutex, word, 128, 5, guest.put(0x100, GuestTimespec{3, 0})), -ETIMEDOUT);
  EXPECT_EQ(guest.cpu().clock_ns, 3'000'000'000u);
  EXPECT_EQ(guest.call(kFutex, word, 9 | 128, 5, guest.put(0x100, GuestTimespec{4, 0}), 0, ~u64{0}), -ETIMEDOUT);
  EXPECT_EQ(guest.cpu().clock_ns, 4'000'000'000u);
  EXPECT_EQ(guest.call(kFutex, word + 1, 0, 5, 0), -EINVAL);
  EXPECT_EQ(guest.call(kFutex, 0x10, 0, 5, 0), -EFAULT);
  guest.call(kFutex, word, 0, 5, 0);
  EXPECT_EQ(guest.outcome().kind, Outcome::Kind::kDeadlock);
  EXPECT_NE(guest.process().message().find("futex"), std::string::npos);
}

TEST(Time, WaitingForTheHostTakesRealTime) {
  int host[2];
  ASSERT_EQ(::pipe2(host, O_CLOEXEC), 0);
  ProcessOptions options;
  options.stdin_fd = host[0];
  Guest guest(options);
  const GuestPollfd input{0, 1, 0};
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(guest.call(kPpoll, guest.put(0, input), 1, guest.put(0x100, GuestTimespec{0, 40'000'000}), 0, 8), 0);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(39));
  EXPECT_EQ(guest.cpu().clock_ns, 40'000'000u);
  ASSERT_EQ(::write(host[1], "x", 1), 1);
  EXPECT_EQ(guest.call(kPpoll, guest.put(0, input), 1, 0, 0, 8), 1);
  ::close(host[0]);
  ::close(host[1]);
}

}  // namespace
}  // namespace kvrm::linux_abi::test
