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
  // Iterations that have fewer words than others, though LLVM makes a selection of the branch.
  expect_refused({ldr_post(3, 2, 0, 8), cbz(2, 2), add_imm(1, 4, 4, 1), subs_imm(1, 3, 3, 1), b_cond(kNe, -4)},
                 "a branch inside");
  expect_refused({add_imm(1, 4, 4, 1), cbnz(5, -1), subs_imm(1, 3, 3, 1), b_cond(kNe, -3)}, "a branch inside");
  // A list walk: the next address is what was loaded.
  expect_refused({ldr_at(3, 0, 0, 0), cbnz(0, -1)}, "a recurrence of no known kind");
  expect_refused({eor(1, 4, 4, 0), add(1, 4, 4, 1), subs_imm(1, 0, 0, 1), b_cond(kNe, -3)},
                 "a recurrence of no known kind");
  expect_refused({ldr_post(3, 2, 0, 8), str_reg(3, 2, 1, 2), subs_imm(1, 3, 3, 1), b_cond(kNe, -3)},
                 "stores at computed addresses");
}

}  // namespace
}  // namespace kvrm::accelerate
