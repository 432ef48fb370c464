// Which loops are proved, as what, and which are refused.
#include <gtest/gtest.h>

#include "accelerate/loops.h"
#include "words.h"

namespace kvrm::accelerate {
namespace {

using namespace test;

LoopFacts facts_of(const Words& words) {
  std::string error;
  const auto loops = Loops::create(error);
  EXPECT_TRUE(loops) << error;
  loops->prove({0x10000, words});
  return loops->facts().at(0);
}

void expect_kind(const Words& words, Kind kind) {
  const LoopFacts facts = facts_of(words);
  ASSERT_TRUE(facts.proven) << facts.refusal;
  EXPECT_STREQ(to_string(facts.proven->proof().kind), to_string(kind));
}

void expect_refused(const Words& words, const char* why) {
  const LoopFacts facts = facts_of(words);
  EXPECT_FALSE(facts.proven) << to_string(facts.proven->proof().kind);
  EXPECT_EQ(facts.refusal, why);
}

TEST(Prover, CountedLoops) {
  expect_kind({subs_imm(1, 0, 0, 1), b_cond(kNe, -1)}, Kind::kCounted);
  expect_kind({subs_imm(0, 0, 0, 1), b_cond(kNe, -1)}, Kind::kCounted);
  expect_kind({add(1, 1, 1, 0), subs_imm(1, 0, 0, 1), b_cond(kNe, -2)}, Kind::kCounted);  // a sum of the counter
  expect_kind({madd(1, 1, 1, 2, 3), subs_imm(1, 0, 0, 1), b_cond(kNe, -2)}, Kind::kCounted);  // an LCG
  expect_kind({madd(0, 1, 1, 2, 3), subs_imm(1, 0, 0, 1), b_cond(kNe, -2)}, Kind::kCounted);  // of 32 bits
  // Fibonacci's numbers.
  expect_kind({add(1, 3, 1, 2), orr(1, 1, 31, 2), orr(1, 2, 31, 3), subs_imm(1, 0, 0, 1), b_cond(kNe, -4)},
              Kind::kCounted);
  for (const u32 condition : {kEq, kNe, kHs, kLo, kHi, kLs, kGe, kLt, kGt, kLe})
    expect_kind({add_imm(1, 0, 0, 3), cmp(1, 0, 1), b_cond(condition, -2)}, Kind::kCounted);
}

TEST(Prover, Fills) {
  expect_kind({str_post(0, 2, 0, 1), cmp(1, 0, 1), b_cond(kNe, -2)}, Kind::kFill);
  expect_kind({str_post(3, 31, 0, -8), cmp(1, 0, 1), b_cond(kNe, -2)}, Kind::kFill);
  expect_kind({str_reg(2, 2, 0, 3), add(1, 3, 3, 4), cmp(1, 3, 1), b_cond(kLo, -3)}, Kind::kFill);
  expect_kind({stp_post(2, 3, 0, 2), subs_imm(1, 1, 1, 16), b_cond(kHi, -2)}, Kind::kFill);
  expect_kind({stp_q_post(0, 0, 0, 2), subs_imm(1, 1, 1, 32), b_cond(kHi, -2)}, Kind::kFill);
}

TEST(Prover, Copies) {
  expect_kind({ldr_post(0, 2, 0, 1), str_post(0, 2, 1, 1), cmp(1, 0, 3), b_cond(kNe, -3)}, Kind::kCopy);
  expect_kind({ldp_q_post(0, 1, 0, 2), stp_q_post(0, 1, 1, 2), subs_imm(1, 3, 3, 32), b_cond(kHi, -3)}, Kind::kCopy);
  // As glibc's: stores what the previous iteration loaded.
  expect_kind({stp_q_post(0, 1, 1, 2), ldp_q_post(0, 1, 0, 2), subs_imm(1, 3, 3, 32), b_cond(kHi, -3)}, Kind::kMap);
}

TEST(Prover, Scans) {
  expect_kind({ldr_post(0, 2, 0, 1), cbnz(2, -1)}, Kind::kScan);
  expect_kind({ldr_post(0, 2, 0, 1), cmp(0, 2, 3), b_cond(kNe, -2)}, Kind::kScan);
  // memchr with a limit, and a compare of two strings.
  expect_kind({ldr_post(0, 2, 0, 1), cmp(0, 2, 3), b_cond(kEq, 4), cmp(1, 0, 1), b_cond(kNe, -4)}, Kind::kScan);
  expect_kind({ldr_post(0, 2, 0, 1), ldr_post(0, 3, 1, 1), cmp(0, 2, 3), b_cond(kNe, 4), cbnz(2, -4)}, Kind::kScan);
}

TEST(Prover, Reductions) {
  for (const auto op : {add, eor, orr, and_, sub}) {
    for (const u32 sf : {0u, 1u})
      expect_kind({ldr_post(2 + sf, 2, 0, 4), op(sf, 4, 4, 2), cmp(1, 0, 1), b_cond(kNe, -3)}, Kind::kReduction);
  }
  // The least, the greatest, with and without a sign; how many differ from a value.
  for (const u32 sf : {0u, 1u}) {
    for (const u32 condition : {kLt, kGt, kLo, kHi, kLe, kHs}) {
      expect_kind(
          {ldr_post(2 + sf, 2, 0, 4), cmp(sf, 2, 4), csel(sf, 4, 2, 4, condition), cmp(1, 0, 1), b_cond(kNe, -4)},
          Kind::kReduction);
    }
    expect_kind({ldr_post(2, 2, 0, 4), cmp(0, 2, 3), csinc(sf, 4, 4, 4, kEq), cmp(1, 0, 1), b_cond(kNe, -4)},
                Kind::kReduction);
  }
  expect_kind({ldr_post(2, 2, 0, 4), ldr_post(2, 3, 1, 4), madd(1, 4, 2, 3, 4), subs_imm(1, 5, 5, 1), b_cond(kNe, -4)},
              Kind::kReduction);
}

TEST(Prover, Maps) {
  expect_kind({ldr_at(2, 2, 0, 0), add(0, 2, 2, 4), str_post(2, 2, 0, 4), cmp(1, 0, 1), b_cond(kNe, -4)}, Kind::kMap);
  // A table of bytes, as a palette.
  expect_kind({ldr_post(0, 2, 0, 1), ldr_reg(0, 2, 4, 2), str_post(0, 2, 1, 1), cmp(1, 0, 3), b_cond(kNe, -4)},
              Kind::kMap);
}

TEST(Prover, SeveralPaths) {
  // A sum of those that pass a test; how many.
  expect_kind({ldr_post(2, 2, 0, 4), cmp(0, 2, 3), b_cond(kLo, 2), add(0, 4, 4, 2), cmp(1, 0, 1), b_cond(kNe, -5)},
              Kind::kReduction);
  expect_kind({ldr_post(3, 2, 0, 8), cbz(2, 2), add_imm(1, 4, 4, 1), subs_imm(1, 3, 3, 1), b_cond(kNe, -4)},
              Kind::kReduction);
  // Stores under a condition, and a register that is written there.
  expect_kind({ldr_post(0, 2, 0, 1), cbz(2, 3), orr(1, 5, 31, 2), str_reg(0, 2, 1, 3), add_imm(1, 3, 3, 1),
               cmp(1, 0, 4), b_cond(kNe, -6)},
              Kind::kCopy);
  // One thing or another, flags that only one of them writes, and an exit from each.
  expect_kind({ldr_post(2, 2, 0, 4), cbz(2, 4), cmp(0, 2, 3), add(0, 4, 4, 2), b(2), add_imm(0, 4, 4, 9),
               str_post(2, 2, 1, 4), sub_imm(1, 7, 7, 1), cbnz(7, -8)},
              Kind::kCopy);
  expect_kind({ldr_post(2, 2, 0, 4), cbz(2, 3), cmp(0, 2, 3), b_cond(kEq, 9), subs_imm(1, 7, 7, 1), b_cond(kNe, -5)},
              Kind::kScan);
  // Back to the head from the middle.
  expect_kind({add_imm(1, 4, 4, 1), ldr_post(2, 5, 0, 4), cbnz(5, -2), cmp(1, 0, 1), b_cond(kNe, -4)}, Kind::kScan);
  // Where the next thing goes depends on how many passed.
  expect_refused({ldr_post(0, 2, 0, 1), cbz(2, 2), str_post(0, 2, 1, 1), cmp(1, 0, 4), b_cond(kNe, -4)},
                 "stores at computed addresses");
}

TEST(Prover, AlignedAddresses) {
  expect_kind({dc_zva(0), add_imm(1, 0, 0, 64), subs_imm(1, 1, 1, 64), b_cond(kHi, -3)}, Kind::kFill);
  expect_kind({and_imm_clear(2, 0, 4), str_at(3, 31, 2, 0), add_imm(1, 0, 0, 16), cmp(1, 0, 1), b_cond(kLo, -4)},
              Kind::kFill);
  expect_refused({and_imm_clear(2, 0, 4), str_at(3, 31, 2, 0), add_imm(1, 0, 0, 8), cmp(1, 0, 1), b_cond(kLo, -4)},
                 "stores at computed addresses");
}

TEST(Native, LoopsWithoutEarlyExitsHaveMachineCode) {
  const std::vector<Words> loops = {
      {ldr_post(2, 2, 0, 4), add(0, 4, 4, 2), cmp(1, 0, 1), b_cond(kNe, -3)},
      {ldr_post(2, 2, 0, 4), cmp(0, 2, 3), b_cond(kLo, 2), add(0, 4, 4, 2), cmp(1, 0, 1), b_cond(kNe, -5)},
      {ldr_post(0, 2, 0, 1), ldr_reg(0, 2, 4, 2), str_post(0, 2, 1, 1), cmp(1, 0, 3), b_cond(kNe, -4)},
      {ldr_at(2, 2, 0, 0), add(0, 2, 2, 4), str_post(2, 2, 0, 4), cmp(1, 0, 1), b_cond(kNe, -4)},
  };
  for (const Words& words : loops) {
    const LoopFacts facts = facts_of(words);
    ASSERT_TRUE(facts.proven) << facts.refusal;
    EXPECT_NE(facts.proven->program().native, nullptr);
  }
  // A table at an address that may be anything, and a scan.
  EXPECT_EQ(facts_of({ldr_post(3, 2, 0, 8), ldr_reg(0, 2, 4, 2), add(0, 5, 5, 2), cmp(1, 0, 3), b_cond(kNe, -4)})
                .proven->program()
                .native,
            nullptr);
  EXPECT_EQ(facts_of({ldr_post(0, 2, 0, 1), cbnz(2, -1)}).proven->program().native, nullptr);
}

TEST(Prover, Refusals) {
  expect_refused({0x94000010, subs_imm(1, 0, 0, 1), b_cond(kNe, -2)}, "a call");
  expect_refused({0xd61f0020, subs_imm(1, 0, 0, 1), b_cond(kNe, -2)}, "an indirect branch");
  expect_refused({0xd4000001, subs_imm(1, 0, 0, 1), b_cond(kNe, -2)}, "a trap");
  expect_refused({0xc85f7c22, subs_imm(1, 0, 0, 1), b_cond(kNe, -2)}, "an atomic access or a barrier");  // LDXR
  expect_refused({0xf8200041, subs_imm(1, 3, 3, 1), b_cond(kNe, -2)}, "an atomic access or a barrier");  // LDADD
  expect_refused({0xd5033bbf, subs_imm(1, 3, 3, 1), b_cond(kNe, -2)}, "an atomic access or a barrier");  // DMB
  expect_refused({0x1e612800, subs_imm(1, 3, 3, 1), b_cond(kNe, -2)}, "floating point");                 // FADD
  expect_refused({add_imm(1, 2, 2, 1), subs_imm(1, 1, 1, 1), b_cond(kNe, -1), subs_imm(1, 0, 0, 1), b_cond(kNe, -4)},
                 "a loop inside");
  // A list walk: the next address is what was loaded.
  expect_refused({ldr_at(3, 0, 0, 0), cbnz(0, -1)}, "a recurrence of no known kind");
  expect_refused({eor(1, 4, 4, 0), add(1, 4, 4, 1), subs_imm(1, 0, 0, 1), b_cond(kNe, -3)},
                 "a recurrence of no known kind");
  expect_refused({ldr_post(3, 2, 0, 8), str_reg(3, 2, 1, 2), subs_imm(1, 3, 3, 1), b_cond(kNe, -3)},
                 "stores at computed addresses");
}

}  // namespace
}  // namespace kvrm::accelerate
