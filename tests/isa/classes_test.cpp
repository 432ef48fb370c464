// The routing class: a total function of word[31:24] and twelve bits that gives every row its class. Proved on the tree
// and the rows' cubes, not by sampling.
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <vector>

#include "isa/a64_names.h"
#include "isa/decode.h"

namespace kvrm::isa {
namespace {

using detail::kLeaf;

constexpr u32 kNodes = static_cast<u32>(std::size(kClassNodes));

u32 deciding_bits() {
  u32 mask = 0xff000000;
  for (const u8 bit : kRoutingBits) mask |= 1u << bit;
  return mask;
}

// Calls at_leaf(class, mask, bits) for every leaf that words of the cube reach, with what is known of them there.
void walk(u32 node, u32 mask, u32 bits, const std::function<void(u32, u32, u32)>& at_leaf) {
  if (node & kLeaf) return at_leaf(node & ~kLeaf, mask, bits);
  const u32 shift = node & 31, width = node >> 5 & 15;
  const u32 window = ((1u << width) - 1) << shift;
  for (u32 value = 0; value < 1u << width; ++value) {
    if (((value << shift) ^ bits) & mask & window) continue;
    walk(kClassNodes[(node >> 9) + value], mask | window, bits | value << shift, at_leaf);
  }
}

// A word of the cube that the row accepts: its exclusions are halved until each holds all or nothing of what is left.
bool has_word(u32 row, u32 mask, u32 bits) {
  const RowFacts& facts = kRowFacts[row];
  for (u32 i = 0; i < facts.exclusions; ++i) {
    const Exclusion& exclusion = kExclusions[facts.first_exclusion + i];
    if ((exclusion.bits ^ bits) & exclusion.mask & mask) continue;
    const u32 open = exclusion.mask & ~mask;
    if (open == 0) return false;
    const u32 bit = open & (0u - open);
    return has_word(row, mask | bit, bits) || has_word(row, mask | bit, bits | bit);
  }
  return true;
}

TEST(Classes, TheTreeAsksOnlyForTheDecidingBits) {
  EXPECT_EQ(std::size(kRoutingBits), 12u);
  std::set<u32> seen;
  std::vector<u32> open = {kClassNodes[0]};
  while (!open.empty()) {
    const u32 node = open.back();
    open.pop_back();
    if (node & kLeaf) {
      EXPECT_LT(node & ~kLeaf, std::size(kClassNames));
      continue;
    }
    const u32 shift = node & 31, width = node >> 5 & 15;
    EXPECT_EQ((((1u << width) - 1) << shift) & ~deciding_bits(), 0u) << "asks for another bit at " << shift;
    for (u32 value = 0; value < 1u << width; ++value) {
      const u32 at = (node >> 9) + value;
      ASSERT_LT(at, kNodes);
      if (seen.insert(at).second) open.push_back(kClassNodes[at]);
    }
  }
}

TEST(Classes, EveryWordOfARowHasTheRowsClass) {
  u64 leaves = 0;
  for (u32 row = 0; row < kRowCount; ++row) {
    const RowFacts& facts = kRowFacts[row];
    walk(kClassNodes[0], facts.mask, facts.bits, [&](u32 routing, u32 mask, u32 bits) {
      ++leaves;
      if (routing == static_cast<u32>(facts.routing)) return;
      EXPECT_FALSE(has_word(row, mask, bits)) << kRowNames[row] << " is sent to " << kClassNames[routing];
    });
  }
  EXPECT_GT(leaves, u64{kRowCount});
}

// Both proofs must see what is wrong, or they prove nothing.
TEST(Classes, TheProofSeesAWrongClass) {
  u32 wrong = 0;
  walk(kClassNodes[0], 0xff000000, 0x0e000000, [&](u32 routing, u32, u32) { wrong += routing != 0; });
  EXPECT_GT(wrong, 0u) << "word[31:24] = 0x0e has several classes";
  const u32 and_imm = static_cast<u32>(Row::AND_imm);
  EXPECT_TRUE(has_word(and_imm, kRowFacts[and_imm].mask, kRowFacts[and_imm].bits));
  // imms is 63: no element size fits.
  EXPECT_FALSE(has_word(and_imm, kRowFacts[and_imm].mask | 0xfc00, kRowFacts[and_imm].bits | 0xfc00));
}

TEST(Classes, EachDecoderKnowsItsOwnRowsOnly) {
  std::vector<u32> found(kRowCount);
  for (u32 routing = 0; routing < std::size(kClassNames); ++routing) {
    std::set<u32> rows, seen;
    std::vector<u32> open = {kDecoderNodes[routing]};
    while (!open.empty()) {
      const u32 node = open.back();
      open.pop_back();
      if (!(node & kLeaf)) {
        for (u32 value = 0; value < 1u << (node >> 5 & 15); ++value) {
          if (seen.insert((node >> 9) + value).second) open.push_back(kDecoderNodes[(node >> 9) + value]);
        }
        continue;
      }
      for (u32 i = 0; i < (node & 255); ++i) rows.insert(kDecoderCandidates[((node & ~kLeaf) >> 8) + i]);
    }
    for (const u32 row : rows) {
      EXPECT_EQ(static_cast<u32>(kRowFacts[row].routing), routing) << kRowNames[row];
      ++found[row];
    }
  }
  for (u32 row = 0; row < kRowCount; ++row) EXPECT_EQ(found[row], 1u) << kRowNames[row];
}

TEST(Classes, AMisroutedWordIsNoInstruction) {
  constexpr u32 kAdd = 0x8b020020, kBranch = 0x14000000, kMultiply = 0x9b027c20;
  for (const u32 word : {kAdd, kBranch, kMultiply}) {
    const Class right = routing_class(word);
    for (u32 routing = 0; routing < std::size(kClassNames); ++routing) {
      const Row row = decode_as(static_cast<Class>(routing), word);
      EXPECT_EQ(row, static_cast<Class>(routing) == right ? decode(word) : Row::kNone);
    }
    EXPECT_NE(decode(word), Row::kNone);
  }
}

// The seeds' everyday instructions and those around them.
TEST(Classes, OfEverydayWords) {
  EXPECT_EQ(routing_class(0xd2800540), Class::kLogical);  // movz x0, #42
  EXPECT_EQ(routing_class(0x91000400), Class::kArithmetic);  // add x0, x0, #1
  EXPECT_EQ(routing_class(0xf9400020), Class::kLoadStore);  // ldr x0, [x1]
  EXPECT_EQ(routing_class(0x54000040), Class::kBranch);  // b.eq
  EXPECT_EQ(routing_class(0x9ac20820), Class::kMultiplyDivide);  // udiv x0, x1, x2
  EXPECT_EQ(routing_class(0x9ac22020), Class::kExtendShift);  // lsl x0, x1, x2
  EXPECT_EQ(routing_class(0xd4000001), Class::kSystem);  // svc #0
  EXPECT_EQ(routing_class(0x1e620820), Class::kMultiplyDivide);  // fmul d0, d1, d2
  EXPECT_EQ(routing_class(0x4ea01c00), Class::kLogical);  // mov v0.16b, v0.16b
  EXPECT_EQ(routing_class(0x04000000), Class::kSystem);  // SVE: none of this machine's
  EXPECT_EQ(routing_class(0xffffffff), Class::kArithmetic);  // unallocated, in the group of FP and SIMD
}

}  // namespace
}  // namespace kvrm::isa
