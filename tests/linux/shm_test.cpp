// System V shared memory of one process.
#include <cerrno>

#include "guest.h"

namespace kvrm::linux_abi::test {
namespace {

enum : u64 { kShmget = 194, kShmctl = 195, kShmat = 196, kShmdt = 197 };
constexpr u64 kPage = memory::kPageSize;
constexpr u64 kCreate = 01000, kExclusive = 02000, kReadOnly = 010000, kRound = 020000, kRemap = 040000;
constexpr u64 kRemove = 0, kSet = 1, kStat = 2;
constexpr u64 kKey = 1234, kBase = 0x40000000;

class ShmTest : public ::testing::Test {
 protected:
  i64 get(u64 key, u64 size, u64 flags) { return guest_.call(kShmget, key, size, flags); }
  i64 attach(i64 segment, u64 address = 0, u64 flags = 0) { return guest_.call(kShmat, u64(segment), address, flags); }
  i64 detach(i64 address) { return guest_.call(kShmdt, u64(address)); }
  i64 control(i64 segment, u64 command) { return guest_.call(kShmctl, u64(segment), command, kScratch); }
  GuestShmid stat(i64 segment) {
    EXPECT_EQ(control(segment, kStat), 0);
    return guest_.get<GuestShmid>(kScratch);
  }
  void put(i64 address, const std::string& text) {
    EXPECT_TRUE(guest_.memory().write(u64(address), text.data(), text.size()));
  }
  Guest guest_;
};

TEST_F(ShmTest, ContentsOutliveTheirAttachments) {
  const i64 segment = get(0, 5000, 0600);
  const i64 first = attach(segment);
  ASSERT_GT(first, 0);
  EXPECT_EQ(guest_.get<u64>(u64(first)), 0u);
  put(first, "one");
  put(first + 4999, "two");  // the last page is whole
  const u64 attached_bytes = guest_.memory().private_bytes();
  EXPECT_EQ(detach(first), 0);
  EXPECT_FALSE(guest_.memory().is_mapped(u64(first), kPage));
  EXPECT_EQ(guest_.memory().private_bytes(), attached_bytes - 2 * kPage);
  const i64 second = attach(segment, kBase);
  EXPECT_EQ(second, i64(kBase));
  EXPECT_EQ(guest_.get_text(kBase, 3), "one");
  EXPECT_EQ(guest_.get_text(kBase + 4999, 3), "two");
  EXPECT_EQ(detach(second), 0);
  EXPECT_EQ(detach(second), -EINVAL);
}

TEST_F(ShmTest, KeysNameSegments) {
  EXPECT_EQ(get(kKey, kPage, 0), -ENOENT);
  const i64 segment = get(kKey, 5000, kCreate | 0600);
  ASSERT_GE(segment, 0);
  EXPECT_EQ(get(kKey, 5000, 0), segment);
  EXPECT_EQ(get(kKey, 0, kCreate), segment);
  EXPECT_EQ(get(kKey, 5001, 0), -EINVAL);
  EXPECT_EQ(get(kKey, 5000, kCreate | kExclusive), -EEXIST);
  EXPECT_EQ(get(kKey, 5000, 0111), -EACCES);
  EXPECT_NE(get(0, kPage, 0600), get(0, kPage, 0600));
  EXPECT_EQ(get(0, 0, 0600), -EINVAL);
  EXPECT_EQ(get(0, ~u64{0}, 0600), -EINVAL);
  EXPECT_EQ(get(0, u64{1} << 45, 0600), -ENOMEM);
  EXPECT_EQ(get(0, kPage, 04600), -EPERM);  // SHM_HUGETLB
}

TEST_F(ShmTest, AddressesAreChecked) {
  const i64 segment = get(0, 2 * kPage, 0600);
  EXPECT_EQ(attach(-1), -EINVAL);
  EXPECT_EQ(attach(segment + 1), -EINVAL);
  EXPECT_EQ(attach(segment, kBase + 1), -EINVAL);
  EXPECT_EQ(attach(segment, 0, kRemap), -EINVAL);
  EXPECT_EQ(attach(segment, 1, kRemap | kRound), -EINVAL);
  EXPECT_EQ(attach(segment, kScratch), -EINVAL);  // something is there
  EXPECT_EQ(attach(segment, kScratch - kPage), -EINVAL);
  EXPECT_EQ(attach(segment, u64{1} << 48), -ENOMEM);
  EXPECT_EQ(attach(segment, kBase + 123, kRound), i64(kBase));
  EXPECT_EQ(attach(segment), -ENOMEM);  // at one address at a time
  EXPECT_EQ(detach(i64(kBase) + 1), -EINVAL);
  EXPECT_EQ(detach(i64(kBase) + 4096), -EINVAL);
  EXPECT_EQ(detach(i64(kScratch)), -EINVAL);
  EXPECT_EQ(detach(i64(kBase)), 0);
  EXPECT_EQ(attach(segment, kScratch + kPage, kRemap), i64(kScratch + kPage));
}

TEST_F(ShmTest, ReadOnlyStaysReadOnly) {
  const i64 segment = get(0, kPage, 0600);
  const i64 address = attach(segment, 0, kReadOnly);
  EXPECT_FALSE(guest_.memory().write(u64(address), "x", 1));
  EXPECT_EQ(guest_.call(kMprotect, u64(address), kPage, 3), -EACCES);
  EXPECT_EQ(detach(address), 0);
  const i64 write_only = get(0, kPage, 0200);
  EXPECT_EQ(attach(write_only), -EACCES);
  EXPECT_EQ(control(write_only, kStat), -EACCES);
  const i64 read_only = get(0, kPage, 0400);
  EXPECT_EQ(attach(read_only), -EACCES);
  EXPECT_GT(attach(read_only, 0, kReadOnly), 0);
}

TEST_F(ShmTest, RemovalWaitsForTheLastDetach) {
  const i64 segment = get(kKey, kPage, kCreate | 0600);
  const i64 address = attach(segment);
  put(address, "still here");
  EXPECT_EQ(control(segment, kRemove), 0);
  EXPECT_EQ(guest_.get_text(u64(address), 10), "still here");
  EXPECT_EQ(get(kKey, kPage, 0), -ENOENT);
  const GuestShmid facts = stat(segment);
  EXPECT_EQ(facts.permissions.mode, 01600u);
  EXPECT_EQ(facts.permissions.key, 0);
  EXPECT_EQ(detach(address), 0);
  EXPECT_EQ(control(segment, kStat), -EINVAL);
  EXPECT_EQ(control(segment, kRemove), -EINVAL);
  const i64 other = get(0, kPage, 0600);
  EXPECT_EQ(control(other, kRemove), 0);
  EXPECT_EQ(attach(other), -EINVAL);
}

TEST_F(ShmTest, StatCountsWhatTheMapShows) {
  guest_.cpu().clock_ns = 5'000'000'000;
  const i64 segment = get(kKey, 3 * kPage + 1, kCreate | 0640);
  GuestShmid facts = stat(segment);
  EXPECT_EQ(facts.size, 3 * kPage + 1);
  EXPECT_EQ(facts.permissions.key, i32(kKey));
  EXPECT_EQ(facts.permissions.mode, 0640u);
  EXPECT_EQ(facts.permissions.uid, 1000u);
  EXPECT_EQ(facts.creator, 1000);
  EXPECT_EQ(facts.last_user, 0);
  EXPECT_EQ(facts.attached, 0u);
  EXPECT_EQ(facts.attach_time, 0);
  EXPECT_NE(facts.change_time, 0);
  const u64 address = u64(attach(segment));
  put(i64(address), "first");
  put(i64(address + 2 * kPage), "third");
  EXPECT_EQ(stat(segment).attached, 1u);
  EXPECT_EQ(guest_.call(kMprotect, address + kPage, kPage, 1), 0);
  EXPECT_EQ(stat(segment).attached, 3u);
  EXPECT_EQ(guest_.call(kMunmap, address, kPage), 0);
  facts = stat(segment);
  EXPECT_EQ(facts.attached, 2u);
  EXPECT_EQ(facts.detach_time, facts.attach_time);
  EXPECT_EQ(guest_.call(kMremap, address + kPage, kPage, kPage, 3, kBase), i64(kBase));
  EXPECT_EQ(stat(segment).attached, 2u);
  EXPECT_EQ(detach(i64(address)), 0);  // the piece that is where it was
  EXPECT_EQ(stat(segment).attached, 1u);
  EXPECT_EQ(detach(i64(kBase - kPage)), 0);  // and the one that was moved
  const u64 again = u64(attach(segment));
  EXPECT_EQ(guest_.get_text(again, 5), "first");
  EXPECT_EQ(guest_.get_text(again + 2 * kPage, 5), "third");
}

TEST_F(ShmTest, WhateverCoversASegmentKeepsIt) {
  const i64 segment = get(0, kPage, 0600);
  const auto comes_back = [&](const std::string& text) {
    const i64 address = attach(segment, kBase);
    EXPECT_EQ(address, i64(kBase));
    EXPECT_EQ(guest_.get_text(kBase, text.size()), text);
  };
  EXPECT_EQ(attach(segment, kBase), i64(kBase));
  put(i64(kBase), "munmap");
  EXPECT_EQ(guest_.call(kMunmap, kBase, kPage), 0);
  comes_back("munmap");
  put(i64(kBase), "mmap");
  EXPECT_EQ(guest_.call(kMmap, kBase, kPage, 3, 0x32, ~u64{0}, 0), i64(kBase));
  EXPECT_EQ(guest_.get<u64>(kBase), 0u);
  EXPECT_EQ(guest_.call(kMunmap, kBase, kPage), 0);
  comes_back("mmap");
  put(i64(kBase), "mremap");
  EXPECT_EQ(guest_.call(kMremap, kScratch, kPage, kPage, 3, kBase), i64(kBase));
  EXPECT_EQ(guest_.call(kMunmap, kBase, kPage), 0);
  comes_back("mremap");
  EXPECT_EQ(guest_.call(kMadvise, kBase, kPage, 4), 0);
  EXPECT_EQ(guest_.get_text(kBase, 6), "mremap");
  EXPECT_EQ(guest_.call(kMadvise, kBase, kPage, 9), 0);
  EXPECT_EQ(guest_.get<u64>(kBase), 0u);
}

TEST_F(ShmTest, SetAndLock) {
  const i64 segment = get(0, kPage, 0600);
  GuestShmid facts = stat(segment);
  facts.permissions.mode = 0440;
  facts.permissions.gid = 7;
  guest_.put(0, facts);
  EXPECT_EQ(control(segment, kSet), 0);
  EXPECT_EQ(stat(segment).permissions.mode, 0440u);
  EXPECT_EQ(stat(segment).permissions.gid, 7u);
  EXPECT_EQ(stat(segment).permissions.creator_gid, 1000u);
  EXPECT_EQ(control(segment, 11), 0);
  EXPECT_EQ(stat(segment).permissions.mode, 02440u);
  EXPECT_EQ(control(segment, 12), 0);
  EXPECT_EQ(guest_.call(kShmctl, u64(segment), kSet, 8), -EFAULT);
  EXPECT_EQ(guest_.call(kShmctl, u64(segment), kStat, 8), -EFAULT);
  EXPECT_EQ(control(segment, 99), -EINVAL);
  EXPECT_EQ(control(segment, ~u64{0}), -EINVAL);
  EXPECT_EQ(control(-1, kStat), -EINVAL);
  EXPECT_EQ(control(segment + 1, kStat), -EINVAL);
}

TEST_F(ShmTest, TotalsAndIndexes) {
  const i64 first = get(0, kPage, 0600), second = get(0, 3 * kPage, 0600);
  EXPECT_EQ(control(0, 3), second);  // IPC_INFO: the highest index
  EXPECT_EQ(guest_.get<GuestShmLimits>(kScratch).smallest, 1u);
  EXPECT_EQ(guest_.get<GuestShmLimits>(kScratch).segments, 4096u);
  EXPECT_EQ(control(0, 14), second);  // SHM_INFO
  EXPECT_EQ(guest_.get<GuestShmUsage>(kScratch).segments, 2);
  EXPECT_EQ(guest_.get<GuestShmUsage>(kScratch).pages, 4u);
  EXPECT_EQ(control(first, 13), first);  // SHM_STAT
  EXPECT_EQ(control(second, 15), second);
  EXPECT_EQ(guest_.get<GuestShmid>(kScratch).size, 3 * kPage);
  EXPECT_EQ(control(second + 1, 13), -EINVAL);
}

TEST_F(ShmTest, ThereMayBeSoMany) {
  i64 result = 0;
  int made = 0;
  for (; made < 5000 && (result = get(0, kPage, 0600)) >= 0; ++made) continue;
  EXPECT_EQ(result, -ENOSPC);
  EXPECT_EQ(made, 4096);
}

// A page that was unmapped comes back when the mapping grows over it again, and counts once.
TEST_F(ShmTest, GrowingBringsUnmappedPagesBack) {
  const i64 segment = get(0, 3 * kPage, 0600);
  ASSERT_EQ(attach(segment, kBase), i64(kBase));
  put(i64(kBase), "first");
  put(i64(kBase + kPage), "second");
  put(i64(kBase + 2 * kPage), "third");
  EXPECT_EQ(guest_.call(kMunmap, kBase + kPage, 2 * kPage), 0);
  EXPECT_EQ(guest_.call(kMremap, kBase, kPage, 2 * kPage, 0), i64(kBase));
  EXPECT_EQ(guest_.get_text(kBase + kPage, 6), "second");
  put(i64(kBase + kPage), "SECOND");
  // Another address: the growth is mapped before the rest moves.
  EXPECT_EQ(guest_.call(kMremap, kBase, 2 * kPage, 3 * kPage, 3, 2 * kBase), i64(2 * kBase));
  EXPECT_EQ(guest_.get_text(2 * kBase, 5), "first");
  EXPECT_EQ(guest_.get_text(2 * kBase + kPage, 6), "SECOND");
  EXPECT_EQ(guest_.get_text(2 * kBase + 2 * kPage, 5), "third");
  EXPECT_EQ(detach(i64(2 * kBase)), 0);
  EXPECT_EQ(attach(segment, kBase), i64(kBase));
  EXPECT_EQ(guest_.get_text(kBase + kPage, 6), "SECOND");
}

// A guest whose whole memory is so many pages.
struct SmallGuest {
  explicit SmallGuest(u64 pages)
      : account(std::make_shared<memory::Account>(pages * kPage)), guest(options(pages), account) {}
  ProcessOptions options(u64 pages) const {
    ProcessOptions options;
    options.memory_limit = pages * kPage;
    options.account = account;
    return options;
  }
  u64 pages() const { return account->used() / kPage; }
  void fill(u64 address, u64 count) {
    for (u64 i = 0; i < count; ++i) EXPECT_TRUE(guest.memory().write(address + i * kPage, "x", 1)) << i;
  }
  // A segment of four pages that are all in use, detached.
  void use() {
    const i64 segment = guest.call(kShmget, 0, 4 * kPage, 0600), address = guest.call(kShmat, u64(segment), 0, 0);
    ASSERT_GT(address, 0);
    fill(u64(address), 4);
    EXPECT_EQ(guest.call(kShmdt, u64(address)), 0);
  }
  memory::AccountPointer account;
  Guest guest;
};

// Attached or not, a page of a segment is on the one account of its guest.
TEST(Shm, DetachedSegmentsAreOnTheGuestsAccount) {
  SmallGuest small(8);
  Guest& guest = small.guest;
  EXPECT_EQ(guest.call(kShmget, 0, 9 * kPage, 0600), -ENOMEM);
  small.use();
  EXPECT_EQ(small.pages(), 4u);
  small.use();
  EXPECT_EQ(small.pages(), 8u);
  EXPECT_EQ(guest.outcome().kind, Outcome::Kind::kContinue);
  EXPECT_FALSE(guest.memory().write(kScratch, "x", 1)) << "segments hold all of it";
  // A full account is no obstacle to attaching, nor to detaching again.
  const i64 address = guest.call(kShmat, 0, 0, 0);
  EXPECT_EQ(small.pages(), 8u);
  EXPECT_EQ(guest.call(kShmdt, u64(address)), 0);
  EXPECT_EQ(guest.outcome().kind, Outcome::Kind::kContinue);
  EXPECT_EQ(guest.call(kShmctl, 0, kRemove, 0), 0);
  EXPECT_EQ(small.pages(), 4u);
  small.fill(kScratch, 4);
}

TEST(Shm, PagesThatGrowBackCountOnce) {
  SmallGuest small(8);
  Guest& guest = small.guest;
  const i64 segment = guest.call(kShmget, 0, 4 * kPage, 0600);
  ASSERT_EQ(guest.call(kShmat, u64(segment), kBase, 0), i64(kBase));
  small.fill(kBase, 4);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(guest.call(kMunmap, kBase + kPage, 3 * kPage), 0);
    EXPECT_EQ(guest.call(kMremap, kBase, kPage, 4 * kPage, 0), i64(kBase));
    EXPECT_EQ(small.pages(), 4u);
  }
}

}  // namespace
}  // namespace kvrm::linux_abi::test
