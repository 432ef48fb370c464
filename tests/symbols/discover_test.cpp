#include "symbols/discover.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "code.h"

namespace kvrm::symbols {
namespace {

std::vector<Range> found_in(const std::vector<u32>& words) {
  const std::vector<u8> file = program(words);
  const auto linked = Linked::open(file);
  EXPECT_TRUE(linked.ok());
  return linked.ok() ? find_routines(linked.value()) : std::vector<Range>();
}

void append(std::vector<u32>& all, const std::vector<u32>& more) { all.insert(all.end(), more.begin(), more.end()); }

TEST(SymbolDiscover, FindsCalledRoutinesAndThoseBetween) {
  std::vector<u32> words = {bl(8), kRet, kNop, kNop};
  append(words, code(1, 4));  // called by none
  append(words, code(2, 6));  // called
  const auto found = found_in(words);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].begin, kCode);
  EXPECT_EQ(found[0].size, 8u);
  EXPECT_EQ(found[1].begin, kCode + 16);
  EXPECT_EQ(found[1].size, 16u);
  EXPECT_EQ(found[2].begin, kCode + 32);
  EXPECT_EQ(found[2].size, 24u);
}

TEST(SymbolDiscover, ARoutineGoesOnWhereABranchLeads) {
  // cbz over a ret; the second ret ends it.
  const auto found = found_in({0xb4000040, kRet, add(0, 0, 1), kRet, kNop, kRet});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].size, 16u);
}

TEST(SymbolDiscover, CallsAndCodeAreDescribed) {
  std::vector<u32> words = {bl(3), bl(2), kRet};
  append(words, code(2, 6));
  const std::vector<u8> file = program(words);
  const Image image = discover(Linked::open(file).value());
  ASSERT_EQ(image.routines.size(), 2u);
  EXPECT_EQ(image.routines[0].calls, std::vector<u32>{1});
  EXPECT_EQ(image.routines[1].words, code(2, 6));
}

TEST(SymbolDiscover, TextsAreRead) {
  // adrp x0, this page; add x0, x0, #0x110: the text after the code.
  std::vector<u32> words = {adrp(0, 0), add(0, 0, 0x110), kRet, 0};
  const char text[8] = "a text";
  u32 halves[2];
  std::memcpy(halves, text, sizeof(text));
  words.insert(words.end(), halves, halves + 2);
  const std::vector<u8> file = program(words);
  auto linked = Linked::open(file);
  ASSERT_TRUE(linked.ok());
  EXPECT_EQ(text_hash(linked.value().data_at(kCode + 16).data(), file.data() + file.size()), hash_of("a text"));
}

TEST(SymbolDiscover, UnwindTablesSayWhereRoutinesAre) {
  const u8 table[] = {
      16, 0, 0, 0, 0,    0, 0, 0, 1, 'z', 'R', 0, 4, 0x78, 30, 1, 0x1b, 0, 0, 0,  // CIE
      16, 0, 0, 0, 0x18, 0, 0, 0, 0, 0,   1,   0, 8, 0,    0,  0, 0,    0, 0, 0,  // FDE
      0,  0, 0, 0,
  };
  const auto ranges = read_unwind_ranges(0x1000, table);
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ(ranges[0].begin, 0x1000u + 28 + 0x10000);
  EXPECT_EQ(ranges[0].size, 8u);
}

}  // namespace
}  // namespace kvrm::symbols
