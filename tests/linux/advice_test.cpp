// madvise and mremap, compared with what Linux 6.1 answers.
#include <cerrno>

#include "guest.h"

namespace kvrm::linux_abi::test {
namespace {

constexpr u64 kPage = memory::kPageSize;
constexpr u64 kReadWrite = 3, kShared = 1, kPrivate = 2, kAnonymous = 0x20, kFixed = 0x10;
constexpr u64 kDontneed = 4, kFree = 8, kRemove = 9, kWipeOnFork = 18, kPopulateRead = 22, kPopulateWrite = 23;
constexpr u64 kMayMove = 1, kFixedMove = 3, kDontUnmap = 5;
constexpr u64 kBase = 0x30000000;

class AdviceTest : public ::testing::Test {
 protected:
  AdviceTest() : guest_(rooted(folder_)) {}

  // Anonymous pages at an address, with a letter each.
  u64 map(u64 at, u64 pages, u64 type = kPrivate) {
    EXPECT_EQ(guest_.call(kMmap, at, pages * kPage, kReadWrite, type | kAnonymous | kFixed, ~u64{0}, 0), i64(at));
    for (u64 i = 0; i < pages; ++i) put(at + i * kPage, char('a' + i));
    return at;
  }
  // Four pages of a file, "aaaa...", "bbbb..." and so on; the descriptor is closed again.
  u64 map_file(u64 at, u64 offset = 0, u64 pages = 4) {
    std::string text;
    for (char c : std::string("abcdef")) text += std::string(kPage, c);
    folder_.write("file", text);
    const u64 fd = u64(guest_.open("file", kOpenReadWrite));
    EXPECT_EQ(guest_.call(kMmap, at, pages * kPage, kReadWrite, kPrivate | kFixed, fd, offset), i64(at));
    EXPECT_EQ(guest_.call(kClose, fd), 0);
    return at;
  }
  void put(u64 address, char value) { EXPECT_TRUE(guest_.memory().poke(address, &value, 1)); }
  char at(u64 address) { return guest_.get<char>(address); }
  i64 advise(u64 address, u64 pages, u64 advice) { return guest_.call(kMadvise, address, pages * kPage, advice); }
  i64 remap(u64 address, u64 old_pages, u64 new_pages, u64 flags, u64 target = 0) {
    return guest_.call(kMremap, address, old_pages * kPage, new_pages * kPage, flags, target);
  }

  TemporaryFolder folder_;
  Guest guest_;
};

TEST_F(AdviceTest, DontneedBringsAPrivateFileBack) {
  const u64 file = map_file(kBase);
  for (u64 i = 0; i < 3; ++i) put(file + i * kPage, 'X');
  EXPECT_EQ(advise(file, 2, kDontneed), 0);
  EXPECT_EQ(at(file), 'a');
  EXPECT_EQ(at(file + kPage), 'b');
  EXPECT_EQ(at(file + 2 * kPage), 'X');
  // What the file holds now, not what it held.
  const u64 fd = u64(guest_.open("file", kOpenReadWrite));
  EXPECT_EQ(guest_.call(kPwrite64, fd, guest_.text("new"), 3, 0), 3);
  EXPECT_EQ(advise(file, 1, kDontneed), 0);
  EXPECT_EQ(guest_.get_text(file, 4), "newa");
}

TEST_F(AdviceTest, AFileIsFoundAgainInPiecesOfItsMapping) {
  const u64 file = map_file(kBase, kPage);
  EXPECT_EQ(guest_.call(kMprotect, file + kPage, kPage, 1), 0);
  EXPECT_EQ(guest_.call(kMunmap, file + 2 * kPage, kPage), 0);
  for (const u64 i : {u64{0}, u64{1}, u64{3}}) put(file + i * kPage, 'X');
  EXPECT_EQ(advise(file, 4, kDontneed), -ENOMEM);  // a hole; the rest is advised nevertheless
  EXPECT_EQ(at(file), 'b');
  EXPECT_EQ(at(file + kPage), 'c');
  EXPECT_EQ(at(file + 3 * kPage), 'e');
  EXPECT_EQ(remap(file + 3 * kPage, 1, 1, kFixedMove, kBase + 0x100000), i64(kBase + 0x100000));
  put(kBase + 0x100000, 'X');
  EXPECT_EQ(advise(kBase + 0x100000, 1, kDontneed), 0);
  EXPECT_EQ(at(kBase + 0x100000), 'e');
}

TEST_F(AdviceTest, AFileMappingGrowsIntoItsFile) {
  const u64 file = map_file(kBase, 0, 2);
  put(file + kPage, 'X');
  EXPECT_EQ(remap(file, 2, 4, 0), i64(file));
  EXPECT_EQ(at(file + kPage), 'X');
  EXPECT_EQ(at(file + 3 * kPage), 'd');
  map(file + 4 * kPage, 1);
  const u64 moved = u64(remap(file, 4, 8, kMayMove));
  EXPECT_EQ(at(moved + kPage), 'X');
  EXPECT_EQ(at(moved + 5 * kPage), 'f');
  EXPECT_EQ(at(moved + 6 * kPage), 0);  // past the end of the file
  EXPECT_EQ(remap(moved, 8, 8, kDontUnmap | 2, kBase + 0x100000), i64(kBase + 0x100000));
  EXPECT_EQ(at(kBase + 0x100000 + kPage), 'X');
  EXPECT_EQ(at(moved + kPage), 'b');
}

TEST_F(AdviceTest, AnonymousPagesBecomeZeros) {
  const u64 memory = map(kBase, 4);
  const u64 before = guest_.memory().private_bytes();
  EXPECT_EQ(advise(memory + kPage, 2, kDontneed), 0);
  EXPECT_EQ(at(memory), 'a');
  EXPECT_EQ(at(memory + kPage), 0);
  EXPECT_EQ(at(memory + 3 * kPage), 'd');
  EXPECT_EQ(guest_.memory().private_bytes(), before - 2 * kPage);
  EXPECT_EQ(advise(memory, 1, 24), 0);  // MADV_DONTNEED_LOCKED
  EXPECT_EQ(at(memory), 0);
}

TEST_F(AdviceTest, SharedPagesKeepWhatTheyHold) {
  const u64 shared = map(kBase, 4, kShared);
  EXPECT_EQ(advise(shared, 1, kDontneed), 0);
  EXPECT_EQ(at(shared), 'a');
  map(kBase + 4 * kPage, 1);
  EXPECT_EQ(advise(shared, 5, kDontneed), 0);
  EXPECT_EQ(at(shared + 3 * kPage), 'd');
  EXPECT_EQ(at(shared + 4 * kPage), 0);
  EXPECT_EQ(advise(shared, 1, kRemove), 0);
  EXPECT_EQ(at(shared), 0);
  EXPECT_EQ(at(shared + kPage), 'b');
  EXPECT_EQ(guest_.call(kMprotect, shared, kPage, 1), 0);
  EXPECT_EQ(advise(shared, 1, kRemove), -EACCES);
  EXPECT_EQ(advise(shared, 1, kFree), -EINVAL);
  EXPECT_EQ(advise(shared, 1, kWipeOnFork), -EINVAL);
}

TEST_F(AdviceTest, EveryAdviceHasLinuxsAnswer) {
  const u64 memory = map(kBase, 4), file = map_file(kBase + 0x100000);
  for (u64 advice = 0; advice < 130; ++advice) {
    const bool known = advice <= 4 || (advice >= 8 && advice <= 24);
    const i64 poison = advice == 100 || advice == 101 ? -EPERM : 0;
    const i64 expected = advice == kRemove ? -EINVAL : known || poison ? poison : -EINVAL;
    EXPECT_EQ(advise(memory, 1, advice), expected) << advice;
    EXPECT_EQ(advise(memory, 0, advice), known || poison ? 0 : -EINVAL) << advice;
    EXPECT_EQ(guest_.call(kMadvise, memory + 1, kPage, advice), -EINVAL) << advice;
  }
  EXPECT_EQ(advise(file, 1, kFree), -EINVAL);
  EXPECT_EQ(advise(file, 1, kRemove), -EACCES);
  EXPECT_EQ(advise(file, 1, kWipeOnFork), -EINVAL);
  EXPECT_EQ(advise(file, 1, 19), 0);
}

TEST_F(AdviceTest, RangesThatAreNone) {
  const u64 memory = map(kBase, 4);
  EXPECT_EQ(guest_.call(kMadvise, memory, ~u64{0}, kDontneed), -EINVAL);
  EXPECT_EQ(guest_.call(kMadvise, memory, u64(-i64{4096}), kDontneed), -EINVAL);
  EXPECT_EQ(at(memory), 'a');
  EXPECT_EQ(guest_.call(kMadvise, u64{1} << 50, kPage, 0), -ENOMEM);
  EXPECT_EQ(guest_.call(kMadvise, kBase - kPage, kPage, 0), -ENOMEM);
  EXPECT_EQ(guest_.call(kMadvise, memory, 1, kDontneed), 0);
  EXPECT_EQ(at(memory), 0);
  EXPECT_EQ(guest_.call(kMadvise, memory + kPage, u64{1} << 50, kDontneed), -ENOMEM);  // to the end of everything
  EXPECT_EQ(at(memory + 3 * kPage), 0);
}

TEST_F(AdviceTest, PopulatingAsksForPermission) {
  const u64 memory = map(kBase, 4);
  EXPECT_EQ(advise(memory, 4, kPopulateWrite), 0);
  EXPECT_EQ(guest_.call(kMprotect, memory + kPage, kPage, 1), 0);
  EXPECT_EQ(advise(memory, 4, kPopulateWrite), -EINVAL);
  EXPECT_EQ(advise(memory, 4, kPopulateRead), 0);
  EXPECT_EQ(guest_.call(kMprotect, memory + kPage, kPage, 0), 0);
  EXPECT_EQ(advise(memory, 4, kPopulateRead), -EINVAL);
  EXPECT_EQ(advise(memory, 5, kPopulateRead), -EINVAL);  // the first reason counts
  EXPECT_EQ(advise(memory + 2 * kPage, 3, kPopulateRead), -ENOMEM);
}

TEST_F(AdviceTest, MremapErrorsAreLinuxs) {
  const u64 memory = map(kBase, 4);
  EXPECT_EQ(remap(u64{1} << 50, 1, 1, 0), -EFAULT);
  EXPECT_EQ(remap(u64{1} << 60, 1, 1, kMayMove), -EFAULT);
  EXPECT_EQ(remap(memory + 4 * kPage, 1, 1, 0), -EFAULT);
  EXPECT_EQ(remap(memory, 8, 16, kMayMove), -EFAULT);  // the old range is not all there
  EXPECT_EQ(guest_.call(kMremap, memory, kPage, ~u64{0}, kMayMove), -EINVAL);
  EXPECT_EQ(guest_.call(kMremap, memory, kPage, u64{1} << 62, kMayMove), -ENOMEM);
  EXPECT_EQ(guest_.call(kMremap, memory, u64{1} << 50, u64{1} << 51, kMayMove), -EFAULT);
  EXPECT_EQ(guest_.call(kMremap, memory, u64{1} << 50, kPage, 0), -EINVAL);
  EXPECT_EQ(guest_.call(kMremap, memory, u64{1} << 50, u64{1} << 50, 0), i64(memory));
  EXPECT_EQ(remap(memory, 0, 1, kMayMove), -EINVAL);
  EXPECT_EQ(remap(memory, 1, 1, 8), -EINVAL);
  EXPECT_EQ(remap(memory, 1, 1, 4), -EINVAL);
  EXPECT_EQ(remap(memory, 2, 1, kDontUnmap), -EINVAL);
  EXPECT_EQ(remap(memory, 2, 2, kFixedMove, memory + kPage), -EINVAL);
  EXPECT_EQ(remap(memory, 2, 2, kFixedMove, memory + 1), -EINVAL);
  EXPECT_EQ(remap(memory, 2, 2, kFixedMove, u64{1} << 50), -EINVAL);
  EXPECT_EQ(remap(memory, 2, 2, kFixedMove, 0x1000), -EPERM);
  EXPECT_EQ(remap(memory, 2, 2, kDontUnmap, memory), -EINVAL);
  for (u64 i = 0; i < 4; ++i) EXPECT_EQ(at(memory + i * kPage), char('a' + i));
}

TEST_F(AdviceTest, ShrinkingDoesNotAskWhatIsThere) {
  const u64 memory = map(kBase, 8);
  EXPECT_EQ(guest_.call(kMunmap, memory + 4 * kPage, kPage), 0);
  EXPECT_EQ(remap(memory, 100, 2, 0), i64(memory));
  EXPECT_TRUE(guest_.memory().is_free(memory + 2 * kPage, 6 * kPage));
  EXPECT_EQ(remap(memory, 2, 1, kFixedMove, kBase + 0x100000), i64(kBase + 0x100000));
  EXPECT_TRUE(guest_.memory().is_free(memory, 2 * kPage));
  EXPECT_EQ(at(kBase + 0x100000), 'a');
}

TEST_F(AdviceTest, OneMappingMovesAtATime) {
  const u64 memory = map(kBase, 4);
  EXPECT_EQ(guest_.call(kMprotect, memory + kPage, kPage, 1), 0);
  EXPECT_EQ(remap(memory, 4, 8, kMayMove), -EFAULT);
  EXPECT_EQ(remap(memory, 4, 4, kFixedMove, kBase + 0x100000), -EFAULT);
  EXPECT_EQ(guest_.call(kMprotect, memory + kPage, kPage, kReadWrite), 0);  // alike again: one mapping
  EXPECT_EQ(remap(memory, 4, 4, kFixedMove, kBase + 0x100000), i64(kBase + 0x100000));
  EXPECT_EQ(at(kBase + 0x103000), 'd');
  map(kBase + 0x104000, 1);  // two calls, one mapping
  EXPECT_EQ(remap(kBase + 0x100000, 5, 5, kFixedMove, kBase), i64(kBase));
  map(kBase + 5 * kPage, 1, kShared);
  EXPECT_EQ(remap(kBase, 6, 7, kMayMove), -EFAULT);
}

TEST_F(AdviceTest, DontunmapLeavesZeros) {
  const u64 memory = map(kBase, 2), shared = map(kBase + 0x100000, 2, kShared);
  const u64 moved = u64(remap(memory, 2, 2, kDontUnmap));
  EXPECT_EQ(at(moved + kPage), 'b');
  EXPECT_EQ(at(memory + kPage), 0);
  EXPECT_TRUE(guest_.memory().write(memory, "x", 1));
  EXPECT_EQ(remap(memory, 2, 2, kDontUnmap, kBase + 0x200000), i64(kBase + 0x200000));  // a hint
  EXPECT_EQ(remap(memory, 2, 2, kDontUnmap | 2, kBase + 0x200000), i64(kBase + 0x200000));
  EXPECT_EQ(remap(shared, 2, 2, kDontUnmap), -EINVAL);  // a page can only be at one address
}

TEST_F(AdviceTest, SharedFilesStayReadOnly) {
  map_file(kBase);
  const u64 fd = u64(guest_.open("file", kOpenReadWrite));
  const u64 shared = u64(guest_.call(kMmap, 0, 2 * kPage, 1, kShared, fd, 0));
  EXPECT_EQ(guest_.call(kMprotect, shared + kPage, kPage, kReadWrite), -EACCES);
  EXPECT_EQ(guest_.call(kMprotect, shared + kPage, kPage, 1), 0);
  EXPECT_EQ(advise(shared, 2, kDontneed), 0);
  EXPECT_EQ(at(shared + kPage), 'b');
  EXPECT_EQ(advise(shared, 1, kRemove), -EACCES);
  // Linux changes what comes before the first that is not allowed.
  const u64 memory = map(shared - kPage, 1);
  EXPECT_EQ(guest_.call(kMprotect, memory, kPage, 1), 0);
  EXPECT_EQ(guest_.call(kMprotect, memory, 2 * kPage, kReadWrite), -EACCES);
  EXPECT_TRUE(guest_.memory().write(memory, "x", 1));
}

TEST_F(AdviceTest, MprotectReachesUpToAHole) {
  const u64 memory = map(kBase, 4);
  EXPECT_EQ(guest_.call(kMunmap, memory + 2 * kPage, kPage), 0);
  EXPECT_EQ(guest_.call(kMprotect, memory, 4 * kPage, 1), -ENOMEM);
  EXPECT_FALSE(guest_.memory().write(memory + kPage, "x", 1));
  EXPECT_TRUE(guest_.memory().write(memory + 3 * kPage, "x", 1));
}

// A guest that maps files and forgets them holds few of the host's descriptors.
TEST_F(AdviceTest, FilesThatNothingMapsAreClosed) {
  folder_.write("file", "x");
  const auto open_files = [] {
    const auto entries = std::filesystem::directory_iterator("/proc/self/fd");
    return std::distance(begin(entries), end(entries));
  };
  const auto before = open_files();
  for (int i = 0; i < 3000; ++i) {
    const u64 fd = u64(guest_.open("file"));
    const i64 mapped = guest_.call(kMmap, 0, kPage, 1, kPrivate, fd, 0);
    ASSERT_GT(mapped, 0);
    EXPECT_EQ(guest_.call(kClose, fd), 0);
    EXPECT_EQ(guest_.call(kMunmap, u64(mapped), kPage), 0);
  }
  EXPECT_LT(open_files(), before + 64);
  // Those that stay mapped are bounded as well.
  int mapped = 0;
  for (i64 result = 1; result > 0 && mapped < 2000; ++mapped) {
    const u64 fd = u64(guest_.open("file"));
    result = guest_.call(kMmap, 0, kPage, 1, kPrivate, fd, 0);
    EXPECT_EQ(guest_.call(kClose, fd), 0);
    EXPECT_TRUE(result > 0 || result == -ENFILE || result == -EMFILE) << result;
  }
  EXPECT_LT(mapped, 1100);
}

}  // namespace
}  // namespace kvrm::linux_abi::test
