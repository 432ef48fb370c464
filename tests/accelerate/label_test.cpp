// What proofs say in the loop detector's terms, and which registers they count with.
#include <gtest/gtest.h>

#include "accelerate/label.h"
#include "accelerate/loops.h"
#include "words.h"

namespace kvrm::accelerate {
namespace {

using namespace test;

void expect_label(const Words& words, LoopType type, u8 counter) {
  std::string error;
  const auto loops = Loops::create(error);
  ASSERT_TRUE(loops) << error;
  const auto loop = loops->prove({0x10000, words});
  ASSERT_TRUE(loop) << loops->facts().at(0).refusal;
  const LoopLabel label = label_of(loop->iteration(), loop->proof());
  EXPECT_STREQ(to_string(label.type), to_string(type));
  EXPECT_EQ(label.counter, counter);
}

TEST(LoopLabel, CountersAndTheirDirections) {
  expect_label({subs_imm(1, 7, 7, 1), b_cond(kNe, -1)}, LoopType::kCountDown, 7);
  expect_label({subs_imm(0, 7, 7, 1), b_cond(kNe, -1)}, LoopType::kCountDown, 7);
  expect_label({add_imm(1, 3, 3, 3), cmp(1, 3, 1), b_cond(kLo, -2)}, LoopType::kCountUp, 3);
  expect_label({add(1, 5, 5, 0), subs_imm(1, 3, 3, 1), b_cond(kNe, -2)}, LoopType::kCountDown, 3);
  expect_label({ldr_post(0, 2, 0, 1), str_post(0, 2, 1, 1), cmp(1, 0, 3), b_cond(kNe, -3)}, LoopType::kCountUp, 0);
}

TEST(LoopLabel, Fills) {
  expect_label({str_post(3, 31, 0, -8), cmp(1, 0, 1), b_cond(kNe, -2)}, LoopType::kMemoryFill, 0);
  expect_label({stp_q_post(0, 0, 0, 2), subs_imm(1, 1, 1, 32), b_cond(kHi, -2)}, LoopType::kMemoryFill, 1);
}

TEST(LoopLabel, ScansWithoutALimitHaveNoCounter) {
  expect_label({ldr_post(0, 2, 0, 1), cbnz(2, -1)}, LoopType::kCountUp, kNoCounter);
  expect_label({ldr_post(0, 2, 0, -1), cbnz(2, -1)}, LoopType::kCountDown, kNoCounter);
}

}  // namespace
}  // namespace kvrm::accelerate
