// The memory oracle's inference against what PyTorch computed from the same file (training/oracle_reference.py).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "neural/network.h"
#include "samples.h"

namespace kvrm::neural {
namespace {

std::vector<float> answer_of(const OracleNetwork& network, u32 number) {
  float window[kOracleSteps][kOracleFeatures];
  for (u32 i = 0; i < kOracleSteps; ++i) {
    for (u32 j = 0; j < kOracleFeatures; ++j) {
      const i32 value = static_cast<i32>((7919 * number + 31 * i + 17 * j) % 201) - 100;
      window[i][j] = static_cast<float>(value) / 100.0f;
    }
  }
  const OracleAnswer answer = ask_oracle(network, window);
  std::vector<float> all(answer.gains, answer.gains + 8);
  all.insert(all.end(), answer.confidence, answer.confidence + 8);
  all.insert(all.end(), answer.pattern, answer.pattern + 4);
  return all;
}

TEST(Oracle, AgreesWithPyTorch) {
  auto weights = load_weights(std::string(KVRM_MODELS) + "/memory-oracle.npy");
  ASSERT_TRUE(weights) << weights.error().message;
  EXPECT_EQ((*weights)->values.size(), 271124u);
  const auto network = make_oracle_network(**weights);
  ASSERT_TRUE(network);
  std::ifstream file(KVRM_ORACLE_REFERENCE);
  const auto samples = nlohmann::json::parse(file);
  ASSERT_GE(samples.size(), 16u);
  for (u32 number = 0; number < samples.size(); ++number) {
    const std::vector<float> found = answer_of(*network, number);
    ASSERT_EQ(samples[number].size(), found.size());
    for (u32 i = 0; i < found.size(); ++i) {
      const float expected = samples[number][i].get<float>();
      EXPECT_NEAR(found[i], expected, 1e-4f * (1 + std::abs(expected))) << "window " << number << ", answer " << i;
    }
  }
}

// No parameter of the layout is unused.
TEST(Oracle, EveryTensorMatters) {
  std::vector<float> values = random_values(271124, 5);
  for (float& value : values) value *= 0.1f;
  const auto plain = **make_weights(values);
  const std::vector<float> before = answer_of(*make_oracle_network(plain), 3);
  for (const Tensor& tensor : plain.layout->tensors) {
    Weights changed = plain;
    u64 count = 1;
    for (const u64 extent : tensor.shape) count *= extent;
    for (u64 i = 0; i < count; ++i)
      changed.values[tensor.offset + i] = changed.values[tensor.offset + i] * 0.5f + 0.25f;
    EXPECT_NE(answer_of(*make_oracle_network(changed), 3), before) << tensor.name;
  }
}

TEST(Oracle, OtherWeightsAreNotAnOracle) { EXPECT_FALSE(make_oracle_network(**make_weights(random_values(135, 1)))); }

}  // namespace
}  // namespace kvrm::neural
