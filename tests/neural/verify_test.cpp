// The proof: that it passes for the weights that come with the library, and that it sees what is wrong with others.
#include <gtest/gtest.h>

#include "isa/decode.h"
#include "neural/network.h"
#include "samples.h"

namespace kvrm::neural {
namespace {

TEST(Verify, TheBuiltInNetworkIsRightAboutEveryWord) {
  auto weights = built_in_weights("dispatch-embedding");
  ASSERT_TRUE(weights) << weights.error().message;
  EXPECT_TRUE((*weights)->verified()) << "the record in models/dispatch-embedding.json";
  auto report = verify_dispatch(**weights);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->inputs, u64{1} << 20);
  EXPECT_EQ(report->verification.words, u64{1} << 32);
  EXPECT_EQ(report->verification.errors, 0u);
  EXPECT_EQ(report->verification.checksum, (*weights)->checksum);
  EXPECT_GT(report->verification.margin, 1.0);
  EXPECT_NEAR(report->verification.margin, (*weights)->verification->margin, 0) << "the same bits on every device";
  // Rounding is far away from changing an answer: thousands of times.
  EXPECT_GT(report->verification.margin, report->rounding * 1000);
  u64 words = 0;
  for (u32 i = 0; i < kClasses; ++i) words += report->confusion[i][i];
  EXPECT_EQ(words, u64{1} << 32);
}

// The network sees nothing else: words that differ in other bits get the same answer, whatever the weights.
TEST(Verify, OtherBitsDoNotMatter) {
  const auto network = make_dispatch_network(**built_in_weights("dispatch-embedding"));
  u32 seen = 0xff000000;
  for (const u8 bit : kFeatureBits) seen |= 1u << bit;
  std::mt19937 random(1);
  for (int i = 0; i < 100000; ++i) {
    const u32 word = static_cast<u32>(random()), other = (word & seen) | (static_cast<u32>(random()) & ~seen);
    float a[8], b[8];
    dispatch_logits(a, *network, word, random());
    dispatch_logits(b, *network, other, random());
    for (u32 c = 0; c < kClasses; ++c) ASSERT_EQ(a[c], b[c]);
    ASSERT_EQ(isa::routing_class(word), isa::routing_class(other));
  }
}

TEST(Verify, SeesASingleWrongInput) {
  Weights weights = **built_in_weights("dispatch-embedding");
  // Top byte 0x14 is B; with the embedding of 0xd4 it looks like SVC and its kind. 2^24 words are wrong.
  for (std::size_t i = 0; i < 32; ++i) weights.values[0x14 * 32 + i] = weights.values[0xd4 * 32 + i];
  auto report = verify_dispatch(weights);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->verification.errors, u64{1} << 24);
  EXPECT_EQ(report->example >> 24, 0x14u);
  EXPECT_EQ(report->confusion[3][6], u64{1} << 24);
}

TEST(Verify, OtherWeights) {
  auto untrained = make_weights(random_values(135, 1));
  ASSERT_TRUE(untrained);
  auto report = verify_dispatch(**untrained);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_GT(report->verification.errors, u64{1} << 28);

  auto old = make_weights(random_values(10279, 1));
  ASSERT_TRUE(old);
  EXPECT_FALSE(verify_dispatch(**old).ok()) << "features version 1 see pc";
  auto other = make_weights(random_values(271124, 1));
  ASSERT_TRUE(other);
  EXPECT_FALSE(verify_dispatch(**other).ok());
}

// Finite weights whose sums are not: nothing may count as right by accident.
TEST(Verify, OverflowIsNoMargin) {
  Weights weights = **built_in_weights("dispatch-embedding");
  for (float& value : weights.values) value *= 1e30f;
  auto report = verify_dispatch(weights);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->verification.margin, 0.0);
}

TEST(Verify, AGpuThatIsNotThereIsAnError) {
  VerifyOptions options;
  options.device = Device::kCuda;
  options.device_ordinal = 99;
  EXPECT_FALSE(verify_dispatch(**built_in_weights("dispatch-embedding"), options).ok());
}

}  // namespace
}  // namespace kvrm::neural
