#include "memory/frame_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

namespace kvrm::memory {
namespace {

constexpr u64 kPage = 4096;
constexpr u64 kMiB = u64{1} << 20;

u64 host_addend(const u8* frame, u64 address) { return reinterpret_cast<u64>(frame) - address; }

TEST(FramePool, NeighborsHaveOneHostAddendInAnyOrder) {
  FramePool pool(256 * kMiB);
  const u64 heap = 0x4f0000;
  const u64 expected = host_addend(pool.allocate(heap), heap);
  // Across windows, and with pages of other areas in between.
  for (u64 i = 1; i < 40; ++i) {
    const u64 address = heap + i * 7 % 40 * kMiB;
    ASSERT_EQ(host_addend(pool.allocate(address), address), expected) << i;
    ASSERT_NE(pool.allocate(0x7fff'0000'0000 - i * kPage), nullptr);
  }
}

TEST(FramePool, ATakenSlotGivesAnotherFrame) {
  FramePool pool(kMiB);
  std::set<u8*> frames;
  for (int i = 0; i < 256; ++i) {
    u8* frame = pool.allocate(0x10000);
    ASSERT_NE(frame, nullptr);
    std::memset(frame, i, kPage);
    EXPECT_TRUE(frames.insert(frame).second);
  }
  EXPECT_EQ(pool.allocate(0x10000), nullptr);
  EXPECT_EQ(pool.bytes_in_use(), kMiB);
  for (u8* frame : frames) pool.release(frame);
  EXPECT_EQ(pool.bytes_in_use(), 0u);
}

TEST(FramePool, TheLimitIsExactAndChargesCount) {
  FramePool pool(16 * kPage);
  Account& account = *pool.account();
  EXPECT_TRUE(account.charge(6 * kPage));
  EXPECT_EQ(account.room(), 10 * kPage);
  for (u64 i = 0; i < 10; ++i) ASSERT_NE(pool.allocate(i << 30), nullptr);
  EXPECT_EQ(pool.allocate(0), nullptr);
  EXPECT_FALSE(account.charge(kPage));
  account.release(kPage);
  EXPECT_NE(pool.allocate(0), nullptr);
}

// A guest that goes on to new addresses all the time takes no more of the host than it ever had at once, and no more
// address space than it is given.
TEST(FramePool, AWanderingGuestKeepsLittle) {
  FramePool pool(8 * kMiB);
  std::vector<u8*> frames;
  for (u64 round = 0; round < 2000; ++round) {
    for (u8* frame : frames) pool.release(frame);
    frames.clear();
    for (u64 i = 0; i < 64; ++i) {
      frames.push_back(pool.allocate((round << 25) + i * kPage));
      ASSERT_NE(frames.back(), nullptr) << round;
      *frames.back() = 1;
    }
    ASSERT_LE(pool.bytes_kept(), 64 * kPage + kMiB);
  }
}

// What the host still has of pages that a guest released goes before the guest gets more of another kind.
TEST(FramePool, IdleFramesCountUntilTheyAreReclaimed) {
  FramePool pool(8 * kMiB);
  Account& account = *pool.account();
  std::vector<u8*> frames;
  for (u64 i = 0; i < 2048; ++i) frames.push_back(pool.allocate(i * kPage));
  for (u8* frame : frames) pool.release(frame);
  EXPECT_EQ(pool.bytes_kept(), 8 * kMiB) << "for what the guest touches next";
  EXPECT_EQ(account.used(), 0u);
  EXPECT_EQ(account.room(), 8 * kMiB);
  EXPECT_TRUE(account.charge(kPage));
  EXPECT_LE(pool.bytes_kept() + account.used(), 8 * kMiB);
  // A guest at its limit has its own frames back without a call for each.
  account.release(kPage);
  for (u64 i = 0; i < 2048; ++i) ASSERT_NE(frames[i] = pool.allocate(i * kPage), nullptr);
  pool.release(frames[7]);
  EXPECT_EQ(pool.allocate(7 * kPage), frames[7]);
  pool.release(frames[8]);
  EXPECT_NE(pool.allocate(9 * kPage), nullptr);
  EXPECT_EQ(pool.bytes_kept(), 8 * kMiB);
  EXPECT_FALSE(account.charge(1));
}

TEST(FramePool, PagesFarApartShareWindowsInTheEnd) {
  FramePool pool(64 * kMiB);
  std::set<u8*> frames;
  for (u64 i = 0; i < 16384; ++i) {
    u8* frame = pool.allocate(i << 32);
    ASSERT_NE(frame, nullptr) << i;
    ASSERT_TRUE(frames.insert(frame).second);
  }
  EXPECT_EQ(pool.allocate(0x1000), nullptr);
  for (u8* frame : frames) pool.release(frame);
  EXPECT_NE(pool.allocate(0x1000), nullptr);
}

TEST(FramePool, ManySmallGuests) {
  std::vector<std::unique_ptr<FramePool>> pools;
  for (int i = 0; i < 20000; ++i) {
    pools.push_back(std::make_unique<FramePool>(64 * kMiB));
    for (const u64 address : {0x400000ull, 0x4c0000ull, 0x7f00'0000'0000ull, 0x7fff'ffff'0000ull}) {
      u8* frame = pools.back()->allocate(address);
      ASSERT_NE(frame, nullptr) << i;
    }
  }
}

}  // namespace
}  // namespace kvrm::memory
