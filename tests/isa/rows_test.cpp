// The rows against each other: no word belongs to two rows, and every row has words. Proved from the fixed bits and the
// exclusion cubes by enumerating every bit that can matter, independently of the check in generate.py.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "isa/a64_names.h"
#include "isa/decode.h"

namespace kvrm::isa {
namespace {

std::string name(u32 row) { return kRowNames[row]; }

std::vector<Exclusion> exclusions(u32 row) {
  const RowFacts& facts = kRowFacts[row];
  return {kExclusions + facts.first_exclusion, kExclusions + facts.first_exclusion + facts.exclusions};
}

// The words with `bits` under `mask`, less the exclusions. Bits outside the mask that no exclusion reads cannot
// change the answer; all the others are enumerated. Returns the number of classes of words left, and one word.
struct Remainder {
  u64 count = 0;
  u32 word = 0;
};

Remainder remainder(u32 mask, u32 bits, const std::vector<Exclusion>& exclusions) {
  u32 open = 0;
  for (const Exclusion& exclusion : exclusions) open |= exclusion.mask;
  open &= ~mask;
  EXPECT_LE(__builtin_popcount(open), 24) << "too many bits to enumerate";
  Remainder left;
  u32 subset = 0;
  do {
    const u32 word = bits | subset;
    bool excluded = false;
    for (const Exclusion& exclusion : exclusions) excluded |= (word & exclusion.mask) == exclusion.bits;
    if (!excluded) {
      ++left.count;
      left.word = word;
    }
    subset = (subset - open) & open;  // the next subset of the open bits
  } while (subset);
  return left;
}

TEST(Rows, FactsAreConsistent) {
  ASSERT_EQ(std::size(kRowFacts), kRowCount);
  ASSERT_EQ(std::size(kRowNames), kRowCount);
  std::set<std::string> names;
  for (u32 row = 0; row < kRowCount; ++row) {
    EXPECT_TRUE(names.insert(name(row)).second) << name(row) << " is there twice";
    EXPECT_EQ(kRowFacts[row].bits & ~kRowFacts[row].mask, 0u) << name(row);
    for (const Exclusion& exclusion : exclusions(row)) {
      EXPECT_EQ(exclusion.bits & ~exclusion.mask, 0u) << name(row);
      EXPECT_EQ(exclusion.mask & kRowFacts[row].mask, 0u) << name(row) << " excludes by a fixed bit";
    }
  }
}

TEST(Rows, EachHasWords) {
  for (u32 row = 0; row < kRowCount; ++row) {
    const Remainder left = remainder(kRowFacts[row].mask, kRowFacts[row].bits, exclusions(row));
    ASSERT_GT(left.count, 0u) << name(row) << " accepts no word";
    EXPECT_TRUE(accepts(static_cast<Row>(row), left.word)) << name(row);
  }
}

TEST(Rows, AreDisjoint) {
  u32 settled_by_exclusions = 0;
  for (u32 a = 0; a < kRowCount; ++a) {
    for (u32 b = a + 1; b < kRowCount; ++b) {
      const RowFacts& first = kRowFacts[a];
      const RowFacts& second = kRowFacts[b];
      if ((first.bits ^ second.bits) & first.mask & second.mask) continue;  // a fixed bit tells them apart
      std::vector<Exclusion> both = exclusions(a);
      for (const Exclusion& exclusion : exclusions(b)) both.push_back(exclusion);
      const Remainder left = remainder(first.mask | second.mask, first.bits | second.bits, both);
      EXPECT_EQ(left.count, 0u) << name(a) << " and " << name(b) << " both accept 0x" << std::hex << left.word;
      ++settled_by_exclusions;
    }
  }
  RecordProperty("pairs_settled_by_exclusions", static_cast<int>(settled_by_exclusions));
}

// The proof itself must see an overlap, or it proves nothing.
TEST(Rows, TheProofSeesWhatIsLeft) {
  const std::vector<Exclusion> half = {{0x3, 0x0}, {0x3, 0x1}};
  EXPECT_EQ(remainder(0xf0000000, 0x50000000, half).count, 2u);
  EXPECT_EQ(remainder(0xf0000000, 0x50000000, half).word & 2u, 2u);
  EXPECT_EQ(remainder(0xf0000000, 0x50000000, {}).count, 1u);
  const std::vector<Exclusion> all = {{0x2, 0x0}, {0x2, 0x2}};
  EXPECT_EQ(remainder(0xf0000000, 0x50000000, all).count, 0u);
}

}  // namespace
}  // namespace kvrm::isa
