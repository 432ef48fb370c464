// The calls that change the guest's map.
#include <cerrno>
#include <chrono>

#include "guest.h"

namespace kvrm::linux_abi::test {
namespace {

constexpr u64 kPage = memory::kPageSize;
constexpr u64 kReadWrite = 3, kAnonymousPrivate = 0x22;

class MemoryTest : public ::testing::Test {
 protected:
  MemoryTest() : guest_(rooted(folder_)) {}
  u64 map(u64 size, u64 prot = kReadWrite, u64 flags = kAnonymousPrivate, u64 at = 0) {
    return u64(guest_.call(kMmap, at, size, prot, flags, ~u64{0}, 0));
  }
  TemporaryFolder folder_;
  Guest guest_;
};

TEST_F(MemoryTest, MapsAreDeterministicAndTopDown) {
  const u64 first = map(10 * kPage);
  EXPECT_EQ(first, kMmapTop - 10 * kPage);
  EXPECT_EQ(map(1), first - kPage);
  EXPECT_TRUE(guest_.memory().write(first, "x", 1));
  EXPECT_EQ(guest_.call(kMunmap, first, 10 * kPage), 0);
  EXPECT_FALSE(guest_.memory().write(first, "x", 1));
  EXPECT_EQ(map(10 * kPage), first);
  EXPECT_EQ(guest_.get<u64>(first), 0u);
}

TEST_F(MemoryTest, MmapErrorsAreLinuxs) {
  EXPECT_EQ(i64(map(0)), -EINVAL);
  EXPECT_EQ(i64(map(~u64{0})), -ENOMEM);
  EXPECT_EQ(i64(map(kPage, 3, 0x20)), -EINVAL);
  EXPECT_EQ(i64(map(kPage, 3, 0x32, 0x100001)), -EINVAL);
  EXPECT_EQ(i64(map(kPage, 3, 0x32, 0)), -EPERM);
  EXPECT_EQ(i64(map(kPage, 3, 0x32, u64{1} << 52)), -ENOMEM);
  EXPECT_EQ(i64(map(kPage, 3, 0x100022, kScratch)), -EEXIST);
  EXPECT_EQ(guest_.call(kMmap, 0, kPage, 3, 0x2, 99, 0), -EBADF);
  EXPECT_EQ(guest_.call(kMmap, 0, kPage, 3, 0x22, 0, 1), -EINVAL);
  EXPECT_EQ(guest_.call(kMunmap, 1, kPage), -EINVAL);
  EXPECT_EQ(guest_.call(kMunmap, kScratch, 0), -EINVAL);
  EXPECT_EQ(guest_.call(kMprotect, 0x100000000, kPage, 1), -ENOMEM);
  EXPECT_EQ(guest_.call(kMprotect, kScratch + 1, kPage, 1), -EINVAL);
  EXPECT_EQ(guest_.call(kMadvise, kScratch, kPage, 999), -EINVAL);
  EXPECT_EQ(guest_.call(kMadvise, 0x100000000, kPage, 4), -ENOMEM);
}

TEST_F(MemoryTest, HintsAndFixedAddresses) {
  EXPECT_EQ(map(kPage, 3, 0x22, 0x10000000), 0x10000000u);
  EXPECT_NE(map(kPage, 3, 0x22, 0x10000000), 0x10000000u);
  EXPECT_EQ(map(kPage, 3, 0x32, 0x10000000), 0x10000000u);
  EXPECT_EQ(map(kPage, 3, 0x100022, 0x20000000), 0x20000000u);
  EXPECT_EQ(map(kPage, 3, 0x22, 0x30000123), 0x30001000u);
}

TEST_F(MemoryTest, ProtectionIsWhatThePageTablesCanDo) {
  const u64 at = map(kPage, 2);  // PROT_WRITE alone can be read
  EXPECT_EQ(guest_.get<u8>(at), 0);
  u8 byte = 0;
  EXPECT_TRUE(guest_.memory().read(at, &byte, 1));
  EXPECT_EQ(guest_.call(kMprotect, at, kPage, 0), 0);
  EXPECT_FALSE(guest_.memory().read(at, &byte, 1));
  EXPECT_EQ(guest_.call(kMprotect, at, kPage, 5), 0);
  EXPECT_TRUE(guest_.memory().read(at, &byte, 1));
  EXPECT_FALSE(guest_.memory().write(at, &byte, 1));
  EXPECT_EQ(guest_.call(kMprotect, at, kPage, 0x40), -EINVAL);
}

TEST_F(MemoryTest, FilesAreReadIntoPages) {
  folder_.write("f", std::string(5000, 'a') + "end");
  const u64 fd = u64(guest_.open("f", kOpenReadWrite));
  const i64 at = guest_.call(kMmap, 0, 3 * kPage, 3, 2, fd, kPage);
  ASSERT_GT(at, 0);
  EXPECT_EQ(guest_.get_text(u64(at) + 904, 4), std::string("end\0", 4));
  EXPECT_TRUE(guest_.memory().write(u64(at), "X", 1));
  EXPECT_EQ(folder_.read("f").find('X'), std::string::npos);
  EXPECT_EQ(guest_.call(kMmap, 0, kPage, 3, 1, fd, 0), -ENODEV);  // shared and writable: not here
  EXPECT_GT(guest_.call(kMmap, 0, kPage, 1, 1, fd, 0), 0);
  const u64 read_only = u64(guest_.open("f"));
  EXPECT_EQ(guest_.call(kMmap, 0, kPage, 3, 1, read_only, 0), -EACCES);
  const u64 write_only = u64(guest_.open("f", kOpenWriteOnly));
  EXPECT_EQ(guest_.call(kMmap, 0, kPage, 1, 2, write_only, 0), -EACCES);
  const u64 folder = u64(guest_.open("/", kOpenDirectory));
  EXPECT_EQ(guest_.call(kMmap, 0, kPage, 1, 2, folder, 0), -ENODEV);
  const u64 zero = u64(guest_.open("/dev/zero", kOpenReadWrite));
  EXPECT_GT(guest_.call(kMmap, 0, kPage, 3, 1, zero, 0), 0);
}

TEST_F(MemoryTest, AHugeSparseFileDoesNotEatTheHost) {
  const u64 fd = u64(guest_.open("f", kOpenReadWrite | kOpenCreate));
  ASSERT_EQ(guest_.call(kFtruncate, fd, u64{1} << 40), 0);
  EXPECT_EQ(guest_.call(kMmap, 0, u64{1} << 40, 1, 2, fd, 0), -ENOMEM);
}

TEST_F(MemoryTest, Mremap) {
  const u64 at = map(2 * kPage);
  guest_.memory().write(at, "first", 5);
  guest_.memory().write(at + kPage, "second", 6);
  map(kPage, 3, 0x32, at + 2 * kPage);  // something in the way of growing
  EXPECT_EQ(guest_.call(kMremap, at, 2 * kPage, 4 * kPage, 0), -ENOMEM);
  const u64 moved = u64(guest_.call(kMremap, at, 2 * kPage, 4 * kPage, 1));
  ASSERT_NE(moved, at);
  EXPECT_EQ(guest_.get_text(moved, 5), "first");
  EXPECT_EQ(guest_.get_text(moved + kPage, 6), "second");
  EXPECT_EQ(guest_.get<u64>(moved + 3 * kPage), 0u);
  EXPECT_TRUE(guest_.memory().write(moved + 3 * kPage, "x", 1));
  EXPECT_TRUE(guest_.memory().is_free(at, 2 * kPage));
  EXPECT_EQ(u64(guest_.call(kMremap, moved, 4 * kPage, kPage, 0)), moved);
  EXPECT_TRUE(guest_.memory().is_free(moved + kPage, 3 * kPage));
  EXPECT_EQ(u64(guest_.call(kMremap, moved, kPage, 2 * kPage, 0)), moved);
  EXPECT_EQ(u64(guest_.call(kMremap, moved, kPage, kPage, 3, 0x40000000)), 0x40000000u);
  EXPECT_EQ(guest_.get_text(0x40000000, 5), "first");
  EXPECT_EQ(guest_.call(kMremap, 0x50000000, kPage, kPage, 1), -EFAULT);
  EXPECT_EQ(guest_.call(kMremap, 0x40000001, kPage, kPage, 1), -EINVAL);
  EXPECT_EQ(guest_.call(kMremap, 0x40000000, kPage, 0, 1), -EINVAL);
  EXPECT_EQ(guest_.call(kMremap, 0x40000000, kPage, kPage, 2), -EINVAL);
  EXPECT_EQ(guest_.call(kMremap, 0x40000000, kPage, kPage, 3, 0x40000000), -EINVAL);
}

TEST_F(MemoryTest, EnormousReservationsAreCheap) {
  const u64 size = u64{1} << 45;
  const auto start = std::chrono::steady_clock::now();
  const u64 at = map(size, 0, 0x4022);
  ASSERT_LT(at, memory::kAddressLimit);
  EXPECT_EQ(guest_.call(kMprotect, at, size, 3), 0);
  EXPECT_TRUE(guest_.memory().write(at + size / 2, "x", 1));
  EXPECT_EQ(guest_.call(kMadvise, at, size, 4), 0);
  EXPECT_EQ(guest_.call(232, at, size, kScratch), -EFAULT);  // mincore: the answer does not fit
  EXPECT_EQ(u64(guest_.call(kMremap, at, size, size / 2, 0)), at);
  EXPECT_EQ(guest_.call(kMunmap, at, size), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

TEST_F(MemoryTest, DontneedGivesZeros) {
  const u64 at = map(2 * kPage);
  guest_.memory().write(at, "data", 4);
  EXPECT_EQ(guest_.call(kMadvise, at, kPage, 4), 0);
  EXPECT_EQ(guest_.get<u32>(at), 0u);
}

TEST_F(MemoryTest, BrkWithoutAProgramStaysWhereItIs) {
  const i64 start = guest_.call(kBrk, 0);
  EXPECT_EQ(guest_.call(kBrk, ~u64{0}), start);
}

}  // namespace
}  // namespace kvrm::linux_abi::test
