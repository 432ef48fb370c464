#include "neural/loop_network.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "neural/layouts.h"

namespace kvrm::neural {
namespace {

using loop_detail::Layer;
using loop_detail::Lstm;
using loop_detail::Norm;

// Reads tensors one after the other. Files have a layer's weights by output.
class Reader {
 public:
  explicit Reader(const Weights& weights) : next_(weights.values.data()) {}

  template <u32 kIn, u32 kOut>
  void read_weights(Layer<kIn, kOut>& to) {
    for (u32 out = 0; out < kOut; ++out) {
      for (u32 in = 0; in < kIn; ++in) to.weights[in][out] = *next_++;
    }
  }
  template <u32 kCount>
  void read(float (&to)[kCount]) {
    for (float& value : to) value = *next_++;
  }
  template <u32 kIn, u32 kOut>
  void read(Layer<kIn, kOut>& to) {
    read_weights(to);
    read(to.bias);
  }
  template <u32 kWidth>
  void read(Norm<kWidth>& to) {
    read(to.weights);
    read(to.bias);
  }
  template <u32 kIn>
  void read(Lstm<kIn>& to) {
    read_weights(to.from_input);
    read_weights(to.from_hidden);
    read(to.from_input.bias);
    read(to.from_hidden.bias);
  }

 private:
  const float* next_;
};

float scaled(i64 value) {
  const double magnitude = std::log2(1.0 + std::abs(static_cast<double>(value)));
  return static_cast<float>(value < 0 ? -magnitude : magnitude);
}

bool is_branch(u32 word) { return (word >> 26 & 7) == 5; }

// The last eight branches and, if these are fewer, the last of the other words; in order.
std::vector<std::size_t> chosen_words(std::span<const u32> words) {
  std::vector<std::size_t> chosen;
  for (const bool branches : {true, false}) {
    for (std::size_t i = words.size(); i-- > 0 && chosen.size() < kLoopWords;) {
      if (is_branch(words[i]) == branches) chosen.push_back(i);
    }
  }
  std::ranges::sort(chosen);
  return chosen;
}

}  // namespace

std::shared_ptr<const LoopNetwork> make_loop_network(const Weights& weights) {
  if (weights.layout->name != kLoopDetector) return nullptr;
  auto network = std::make_shared<LoopNetwork>();
  Reader reader(weights);
  reader.read(network->instruction0);
  reader.read(network->instruction1);
  reader.read(network->instruction3);
  reader.read(network->register_fields);
  for (auto& direction : network->lstm0) reader.read(direction);
  for (auto& direction : network->lstm1) reader.read(direction);
  reader.read(network->registers0);
  reader.read(network->registers1);
  reader.read(network->registers3);
  const auto projections = {&network->query, &network->key, &network->value};
  for (auto* projection : projections) reader.read_weights(*projection);
  for (auto* projection : projections) reader.read(projection->bias);
  reader.read(network->out);
  reader.read(network->type0);
  reader.read(network->type2);
  reader.read(network->counter);
  reader.read(network->iterations0);
  reader.read(network->iterations2);
  return network;
}

LoopInput loop_input(std::span<const u32> words, const LoopState* first, const LoopState* second) {
  LoopInput input{};
  for (const std::size_t i : chosen_words(words)) input.words[input.count++] = words[i];
  for (u32 i = 0; first && i < kLoopRegisters; ++i) {
    input.registers[i] = scaled(static_cast<i64>((*first)[i])) / 64;
    const i64 change = second ? static_cast<i64>((*second)[i] - (*first)[i]) : 0;
    const float sign = change < 0 ? -1.0f : change > 0 ? 1.0f : 0.0f;
    input.registers[kLoopRegisters + i] = 1 + (sign + scaled(change)) / 16;
  }
  return input;
}

}  // namespace kvrm::neural
