// The table walk against its definition, a search through all rows, and the operands it hands out.
#include <gtest/gtest.h>

#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "isa/a64_names.h"
#include "isa/a64_operands.h"
#include "isa/decode.h"

namespace kvrm::isa {
namespace {

// Predecoded operands live in eight bytes.
#define KVRM_CHECK_SIZE(name) static_assert(sizeof(name) <= 8, #name);
KVRM_FOR_EACH_ROW(KVRM_CHECK_SIZE)
#undef KVRM_CHECK_SIZE

// The decoder works at compile time: the translator and the tests rely on it.
static_assert(decode(0xd503201f) == Row::HINT);
static_assert(decode(0xffffffff) == Row::kNone);

Row search(u32 word) {
  for (u32 row = 0; row < kRowCount; ++row) {
    if (accepts(static_cast<Row>(row), word)) return static_cast<Row>(row);
  }
  return Row::kNone;
}

std::string name(Row row) { return row == Row::kNone ? "unallocated" : kRowNames[static_cast<u32>(row)]; }

::testing::AssertionResult agrees(u32 word) {
  const Row walked = decode(word);
  const Row found = search(word);
  if (walked == found) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << std::hex << "0x" << word << ": decode() says " << name(walked)
                                       << ", the rows say " << name(found);
}

// Words at the edges of a row: all free bits clear or set, each bit of the word flipped from there, and the same
// around each of its exclusions.
std::vector<u32> boundary_words(u32 row) {
  const RowFacts& facts = kRowFacts[row];
  std::vector<u32> corners = {facts.bits, facts.bits | ~facts.mask};
  for (u32 i = 0; i < facts.exclusions; ++i) {
    const Exclusion& exclusion = kExclusions[facts.first_exclusion + i];
    corners.push_back(facts.bits | exclusion.bits);
    corners.push_back(facts.bits | exclusion.bits | ~(facts.mask | exclusion.mask));
  }
  std::vector<u32> words = corners;
  for (u32 corner : corners) {
    for (u32 bit = 0; bit < 32; ++bit) words.push_back(corner ^ 1u << bit);
  }
  return words;
}

TEST(Decoder, AgreesWithTheRowsAtTheirEdges) {
  for (u32 row = 0; row < kRowCount; ++row) {
    for (u32 word : boundary_words(row)) ASSERT_TRUE(agrees(word)) << "near " << kRowNames[row];
  }
}

TEST(Decoder, AgreesWithTheRowsOnRandomWords) {
  std::mt19937 random(1);
  for (u32 i = 0; i < 300'000; ++i) ASSERT_TRUE(agrees(static_cast<u32>(random())));
}

TEST(Decoder, AgreesWithTheRowsNearThem) {
  std::mt19937 random(2);
  for (u32 row = 0; row < kRowCount; ++row) {
    for (u32 i = 0; i < 300; ++i) {
      u32 word = (static_cast<u32>(random()) & ~kRowFacts[row].mask) | kRowFacts[row].bits;
      for (u32 flips = static_cast<u32>(random()) % 3; flips > 0; --flips) word ^= 1u << random() % 32;
      ASSERT_TRUE(agrees(word)) << "near " << kRowNames[row];
    }
  }
}

TEST(Decoder, EachRowIsReached) {
  std::mt19937 random(3);
  for (u32 row = 0; row < kRowCount; ++row) {
    bool reached = false;
    for (u32 i = 0; i < 100'000 && !reached; ++i) {
      reached =
          decode((static_cast<u32>(random()) & ~kRowFacts[row].mask) | kRowFacts[row].bits) == static_cast<Row>(row);
    }
    EXPECT_TRUE(reached) << kRowNames[row];
  }
}

TEST(Operands, GeneralRegisters) {
  ASSERT_EQ(decode(0x910043ff), Row::ADD_imm);  // add sp, sp, #16
  const ADD_imm add = ADD_imm::decode(0x910043ff);
  EXPECT_EQ(add.sf, 1);
  EXPECT_EQ(add.sh, 0);
  EXPECT_EQ(add.imm12, 16);
  EXPECT_EQ(add.Rn, kSpSlot);
  EXPECT_EQ(add.Rd, kSpSlot);
  ASSERT_EQ(decode(0xf10043ff), Row::SUBS_imm);  // cmp sp, #16: the destination is the zero register
  EXPECT_EQ(SUBS_imm::decode(0xf10043ff).Rn, kSpSlot);
  EXPECT_EQ(SUBS_imm::decode(0xf10043ff).Rd, kZeroSlot);
  ASSERT_EQ(decode(0xf94003fe), Row::LDR_imm);  // ldr x30, [sp]
  EXPECT_EQ(LDR_imm::decode(0xf94003fe).Rn, kSpSlot);
  EXPECT_EQ(LDR_imm::decode(0xf94003fe).Rt, 30);
}

TEST(Operands, SignedAndSplitFields) {
  ASSERT_EQ(decode(0x17ffffff), Row::B);  // b .-4
  EXPECT_EQ(B::decode(0x17ffffff).simm26, -1);
  EXPECT_EQ(B::decode(0x15ffffff).simm26, 0x1ffffff);
  ASSERT_EQ(decode(0x70ffffe0), Row::ADR);  // adr x0, .-1: immlo is apart from immhi
  EXPECT_EQ(ADR::decode(0x70ffffe0).simm, -1);
  EXPECT_EQ(ADR::decode(0x50000020).simm, 6);
  ASSERT_EQ(decode(0xb7480041), Row::TBNZ);  // tbnz x1, #41, .+8
  EXPECT_EQ(TBNZ::decode(0xb7480041).bit, 41);
  EXPECT_EQ(TBNZ::decode(0xb7480041).simm14, 2);
  EXPECT_EQ(TBNZ::decode(0xb7480041).Rt, 1);
  ASSERT_EQ(decode(0x3dc00c23), Row::LDR_imm_v);  // ldr q3, [x1, #48]: opc<1> above size
  EXPECT_EQ(LDR_imm_v::decode(0x3dc00c23).scale, 4);
  EXPECT_EQ(LDR_imm_v::decode(0x3dc00c23).imm12, 3);
}

TEST(Operands, FloatAndVector) {
  ASSERT_EQ(decode(0x1f620c41), Row::FNMADD_s);  // fnmadd d1, d2, d2, d3
  const FNMADD_s fnmadd = FNMADD_s::decode(0x1f620c41);
  EXPECT_EQ(fnmadd.ftype, 1);
  EXPECT_EQ(fnmadd.Vd, 1);
  EXPECT_EQ(fnmadd.Vn, 2);
  EXPECT_EQ(fnmadd.Vm, 2);
  EXPECT_EQ(fnmadd.Va, 3);
  ASSERT_EQ(decode(0x1e2e1000), Row::FMOV_imm_s);  // fmov s0, #1.0
  EXPECT_EQ(FMOV_imm_s::decode(0x1e2e1000).imm8, 0x70);
  ASSERT_EQ(decode(0x6f05e5e7), Row::MOVI_v);  // movi v7.2d, #0xff00ff00ffffffff: abc is apart from defgh
  EXPECT_EQ(MOVI_v::decode(0x6f05e5e7).imm8, 0xaf);
  EXPECT_EQ(MOVI_v::decode(0x6f05e5e7).op, 1);
  EXPECT_EQ(MOVI_v::decode(0x6f05e5e7).cmode, 14);
  ASSERT_EQ(decode(0x4f7f0422), Row::SSHR_v);  // sshr v2.2d, v1.2d, #1
  EXPECT_EQ(SSHR_v::decode(0x4f7f0422).immh, 15);
  EXPECT_EQ(SSHR_v::decode(0x4f7f0422).immb, 7);
  ASSERT_EQ(decode(0x4fbf9820), Row::FMUL_v_elem);  // fmul v0.4s, v1.4s, v31.s[3]
  const FMUL_v_elem fmul = FMUL_v_elem::decode(0x4fbf9820);
  EXPECT_EQ(fmul.H * 2 + fmul.L, 3);
  EXPECT_EQ(fmul.M * 16 + fmul.Vm, 31);
  EXPECT_EQ(fmul.sz, 0);
  ASSERT_EQ(decode(0x9eae0041), Row::FMOV_top_to_gen);  // fmov x1, v2.d[1]
  EXPECT_EQ(FMOV_top_to_gen::decode(0x9eae0041).Rd, 1);
  EXPECT_EQ(FMOV_top_to_gen::decode(0x9eae0041).Vn, 2);
}

TEST(Facts, ClassAndFlow) {
  EXPECT_EQ(facts(Row::ADD_imm).routing, Class::kArithmetic);
  EXPECT_EQ(facts(Row::AND_v).routing, Class::kLogical);
  EXPECT_EQ(facts(Row::LDR_imm).routing, Class::kLoadStore);
  EXPECT_EQ(facts(Row::FDIV_s).routing, Class::kMultiplyDivide);
  EXPECT_EQ(facts(Row::SSHR_v).routing, Class::kExtendShift);
  EXPECT_EQ(facts(Row::B_cond).flow, Flow::kConditional);
  EXPECT_EQ(facts(Row::RET).flow, Flow::kReturn);
  EXPECT_EQ(facts(Row::ADD_v).group, Group::kSimdThreeSame);
}

}  // namespace
}  // namespace kvrm::isa
