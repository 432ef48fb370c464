#include "neural/network.h"

#include "neural/layouts.h"

namespace kvrm::neural {
namespace {

// Reads tensors one after the other. Files have a layer's weights by output, inference wants them by input.
class Reader {
 public:
  explicit Reader(const Weights& weights) : next_(weights.values.data()) {}

  template <std::size_t kRows, std::size_t kColumns>
  void table(float (&to)[kRows][kColumns]) {
    for (auto& row : to) {
      for (float& value : row) value = *next_++;
    }
  }
  template <std::size_t kIn, std::size_t kOut>
  void layer(float (&to)[kIn][kOut], float (&bias)[kOut], std::size_t outputs = kOut) {
    for (std::size_t out = 0; out < outputs; ++out) {
      for (std::size_t in = 0; in < kIn; ++in) to[in][out] = *next_++;
    }
    for (std::size_t out = 0; out < outputs; ++out) bias[out] = *next_++;
  }
  template <u32 kIn, u32 kOut>
  void linear(Linear<kIn, kOut>& to) {
    layer(to.weight, to.bias);
  }
  template <u32 kIn, u32 kHidden>
  void lstm(Lstm<kIn, kHidden>& to) {
    transposed(to.input.weight);
    transposed(to.recurrent);
    for (float& bias : to.input.bias) bias = *next_++;
    for (float& bias : to.input.bias) bias += *next_++;
  }

 private:
  template <std::size_t kIn, std::size_t kOut>
  void transposed(float (&to)[kIn][kOut]) {
    for (std::size_t out = 0; out < kOut; ++out) {
      for (std::size_t in = 0; in < kIn; ++in) to[in][out] = *next_++;
    }
  }

  const float* next_;
};

}  // namespace

std::shared_ptr<const DispatchNetwork> make_dispatch_network(const Weights& weights) {
  auto network = std::make_shared<DispatchNetwork>();
  Reader reader(weights);
  if (weights.layout->name == kDispatchSmall) {
    network->form = DispatchForm::kSmall;
    reader.layer(network->small1, network->small_bias1);
    reader.layer(network->small2, network->small_bias2, kClasses);
  } else if (weights.layout->name == kDispatchEmbedding) {
    network->form = weights.features == 1 ? DispatchForm::kEmbeddingV1 : DispatchForm::kEmbeddingV2;
    reader.table(network->embedding);
    reader.layer(network->fc1, network->bias1);
    reader.layer(network->fc2, network->bias2);
    reader.layer(network->fc3, network->bias3, kClasses);
  } else {
    return nullptr;
  }
  return network;
}

std::shared_ptr<const OracleNetwork> make_oracle_network(const Weights& weights) {
  if (weights.layout->name != kMemoryOracle) return nullptr;
  auto network = std::make_shared<OracleNetwork>();
  Reader reader(weights);
  reader.linear(network->encoder1);
  reader.linear(network->encoder2);
  reader.lstm(network->lstm1);
  reader.lstm(network->lstm2);
  reader.linear(network->deltas1);
  reader.linear(network->deltas2);
  reader.linear(network->confidence1);
  reader.linear(network->confidence2);
  reader.linear(network->pattern1);
  reader.linear(network->pattern2);
  return network;
}

}  // namespace kvrm::neural
