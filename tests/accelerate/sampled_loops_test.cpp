// Loops around sampled words.
#include "accelerate/sampled_loops.h"

#include <gtest/gtest.h>

#include "words.h"

namespace kvrm::accelerate {
namespace {

using namespace test;

constexpr u64 kStart = 0x10000;

std::vector<SampledLoop> loops_of(const Words& words, const std::vector<u32>& sampled, u64 start = kStart) {
  std::vector<u64> samples(words.size());
  for (const u32 word : sampled) ++samples[word];
  return sampled_loops(words, start, samples);
}

const Words kNested{movz(2, 9),           movz(1, 9),      add_imm(1, 0, 0, 1), subs_imm(1, 1, 1, 1), b_cond(kNe, -2),
                    subs_imm(1, 2, 2, 1), b_cond(kNe, -5), add_imm(1, 4, 4, 1), cbnz(4, -1)};

TEST(SampledLoops, AreInnermost) {
  const auto loops = loops_of(kNested, {3, 3, 5, 7});
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_EQ(loops[0].head, 2u);
  EXPECT_EQ(loops[0].branch, 4u);
  EXPECT_EQ(loops[0].samples, 2u);
  EXPECT_EQ(loops[1].head, 7u);
  EXPECT_EQ(loops[1].branch, 8u);
}

TEST(SampledLoops, WithoutSamplesThereAreNone) {
  EXPECT_TRUE(loops_of(kNested, {0, 1, 5, 6}).empty());
  EXPECT_TRUE(loops_of(kNested, {}).empty());
}

TEST(SampledLoops, LieInAPage) {
  EXPECT_EQ(loops_of(kNested, {3}, kStart + 0x1000 - 8).size(), 1u);
  EXPECT_TRUE(loops_of(kNested, {3}, kStart + 0x1000 - 12).empty());
}

TEST(SampledLoops, AreShort) {
  Words words(100, add_imm(1, 0, 0, 1));
  words[80] = cbnz(0, -63);
  EXPECT_EQ(loops_of(words, {40}).size(), 1u);
  words[80] = cbnz(0, -64);
  EXPECT_TRUE(loops_of(words, {40}).empty());
}

}  // namespace
}  // namespace kvrm::accelerate
