// Inference against a plain evaluation of the layouts, and against what PyTorch computed from the same files.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "neural/network.h"
#include "samples.h"

namespace kvrm::neural {
namespace {

// A layer as the files have it, [out][in], in the order the machine promises: the bias, then input by input.
template <class Real>
std::vector<Real> layer(const float* weights, const float* bias, const std::vector<Real>& in, std::size_t outputs) {
  std::vector<Real> out;
  for (std::size_t o = 0; o < outputs; ++o) {
    Real sum = static_cast<Real>(bias[o]);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const Real product = static_cast<Real>(weights[o * in.size() + i]) * in[i];
      sum += product;
    }
    out.push_back(sum);
  }
  return out;
}

template <class Real>
std::vector<Real> rectified(std::vector<Real> values) {
  for (Real& value : values) value = std::max(value, Real{0});
  return values;
}

std::vector<float> features(u32 word, u64 pc, unsigned version) {
  const auto field = [&](unsigned high, unsigned low) { return word >> low & ((2u << (high - low)) - 1); };
  const auto scaled = [](u64 value, unsigned most) { return static_cast<float>(value) / static_cast<float>(most); };
  if (version == 1) {
    return {scaled(field(31, 28), 15), scaled(field(7, 0), 255),    scaled(field(23, 16), 255),
            scaled(pc & 0xff, 255),    scaled(pc >> 8 & 0xff, 255), scaled(field(4, 0), 31),
            scaled(field(9, 5), 31),   scaled(field(31, 30), 3),    scaled(field(27, 26), 3),
            scaled(field(31, 31), 1),  scaled(field(21, 10), 4095), scaled(field(22, 21), 3)};
  }
  std::vector<float> bits;
  for (const unsigned bit : {10u, 11u, 12u, 13u, 14u, 15u, 16u, 19u, 20u, 21u, 22u, 23u}) {
    bits.push_back(static_cast<float>(field(bit, bit)));
  }
  return bits;
}

std::vector<float> reference(const std::vector<float>& w, u32 word, u64 pc, unsigned version) {
  std::vector<float> in(w.begin() + (word >> 24) * 32, w.begin() + ((word >> 24) + 1) * 32);
  for (const float feature : features(word, pc, version)) in.push_back(feature);
  const auto first = rectified(layer(&w[8192], &w[9600], in, 32));
  const auto second = rectified(layer(&w[9632], &w[10144], first, 16));
  return layer(&w[10160], &w[10272], second, 7);
}

std::shared_ptr<const DispatchNetwork> network_of(const std::vector<float>& values, unsigned version) {
  Weights weights = **make_weights(values);
  weights.features = version;
  return make_dispatch_network(weights);
}

TEST(Inference, TheEmbeddingNetworkIsTheLayoutBitForBit) {
  for (const unsigned version : {1u, 2u}) {
    const std::vector<float> values = random_values(10279, version);
    const auto network = network_of(values, version);
    std::mt19937 random(version);
    for (int i = 0; i < 20000; ++i) {
      const u32 word = static_cast<u32>(random());
      const u64 pc = random();
      float logits[8];
      dispatch_logits(logits, *network, word, pc);
      const std::vector<float> expected = reference(values, word, pc, version);
      for (u32 c = 0; c < kClasses; ++c) ASSERT_EQ(logits[c], expected[c]) << std::hex << word << " class " << c;
    }
  }
}

TEST(Inference, TheSmallNetworkIsTheLayout) {
  const std::vector<float> w = random_values(135, 3);
  const auto network = network_of(w, 1);
  for (u32 byte = 0; byte < 256; ++byte) {
    std::vector<double> in;
    for (u32 i = 0; i < 8; ++i) in.push_back(byte >> i & 1);
    std::vector<double> hidden = layer(&w[0], &w[64], in, 8);
    for (double& value : hidden) value = std::tanh(value);
    const std::vector<double> expected = layer(&w[72], &w[128], hidden, 7);
    float logits[8];
    dispatch_logits(logits, *network, byte << 24, 0);
    for (u32 c = 0; c < kClasses; ++c) ASSERT_NEAR(static_cast<double>(logits[c]), expected[c], 1e-5) << byte;
  }
}

TEST(Inference, Tanh) {
  for (double x = -25; x <= 25; x += 0.01) {
    EXPECT_NEAR(detail::hyperbolic_tangent(x), std::tanh(x), 1e-12) << x;
    EXPECT_NEAR(detail::hyperbolic_tangent(static_cast<float>(x)), std::tanh(static_cast<float>(x)), 2e-6f) << x;
  }
  EXPECT_EQ(detail::hyperbolic_tangent(1e30f), 1.0f);
  EXPECT_EQ(detail::hyperbolic_tangent(-1e30f), -1.0f);
}

TEST(Inference, TheFirstOfTheGreatest) {
  const float logits[8] = {1, 3, 2, 3, 0, -1, -5, 100};
  EXPECT_EQ(best_class(logits).best, 1u);
  EXPECT_EQ(best_class(logits).margin, 0.0f);
  const float clear[8] = {-4, -3, -9, -2, -8, -7, -2.5f, 100};
  EXPECT_EQ(best_class(clear).best, 3u);
  EXPECT_EQ(best_class(clear).margin, 0.5f);
}

// training/reference.py wrote what PyTorch makes of the files.
TEST(Inference, AgreesWithPyTorch) {
  std::ifstream file(KVRM_REFERENCE);
  const auto all = nlohmann::json::parse(file);
  for (const auto& [model, samples] : all.items()) {
    auto weights = load_weights(std::string(KVRM_MODELS) + "/" + model + ".npy");
    ASSERT_TRUE(weights) << weights.error().message;
    const auto network = make_dispatch_network(**weights);
    EXPECT_GE(samples.size(), 32u);
    for (const auto& sample : samples) {
      const u32 word = sample["word"].get<u32>();
      float logits[8];
      dispatch_logits(logits, *network, word, 0);
      for (u32 c = 0; c < kClasses; ++c) {
        const float expected = sample["logits"][c].get<float>();
        EXPECT_NEAR(logits[c], expected, 1e-4f * (1 + std::abs(expected))) << model << " " << std::hex << word;
      }
    }
  }
}

}  // namespace
}  // namespace kvrm::neural
