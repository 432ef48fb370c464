// Layers of networks: linear ones and LSTMs, with weights by input, so that a compiler makes vectors of the outputs.
// Sums are taken in one fixed order and products are rounded before they are added. Freestanding.
#pragma once

#include "neural/freestanding/dispatch_network.h"

namespace kvrm::neural {

template <u32 kIn, u32 kOut>
struct Linear {
  float weight[kIn][kOut];
  float bias[kOut];
};

template <u32 kIn, u32 kOut>
KVRM_INLINE void apply_linear(const Linear<kIn, kOut>& layer, const float (&in)[kIn], float (&out)[kOut]) {
  for (u32 i = 0; i < kOut; ++i) out[i] = layer.bias[i];
  for (u32 i = 0; i < kIn; ++i) {
    for (u32 j = 0; j < kOut; ++j) out[j] += layer.weight[i][j] * in[i];
  }
}
template <u32 kCount>
KVRM_INLINE void apply_relu(float (&values)[kCount]) {
  for (float& value : values) value = value > 0 ? value : 0;
}

// One layer in one direction. The gates are stacked as PyTorch stacks them: input, forget, cell, output; the two biases
// are one.
template <u32 kIn, u32 kHidden>
struct Lstm {
  Linear<kIn, 4 * kHidden> input;
  float recurrent[kHidden][4 * kHidden];
};
template <u32 kHidden>
struct LstmState {
  float hidden[kHidden];
  float cell[kHidden];
};

namespace detail {

KVRM_INLINE float bounded(float x, float most) { return x > most ? most : x < -most ? -most : x; }
KVRM_INLINE float sigmoid(float x) { return 1.0f / (1.0f + exponential(-bounded(x, 30.0f))); }

}  // namespace detail

template <u32 kIn, u32 kHidden>
KVRM_INLINE void step_lstm(const Lstm<kIn, kHidden>& layer, const float (&in)[kIn], LstmState<kHidden>& state) {
  float gates[4 * kHidden];
  apply_linear(layer.input, in, gates);
  for (u32 i = 0; i < kHidden; ++i) {
    for (u32 j = 0; j < 4 * kHidden; ++j) gates[j] += layer.recurrent[i][j] * state.hidden[i];
  }
  for (u32 i = 0; i < kHidden; ++i) {
    const float update = detail::sigmoid(gates[i]) * detail::hyperbolic_tangent(gates[2 * kHidden + i]);
    state.cell[i] = detail::sigmoid(gates[kHidden + i]) * state.cell[i] + update;
    state.hidden[i] = detail::sigmoid(gates[3 * kHidden + i]) * detail::hyperbolic_tangent(state.cell[i]);
  }
}

}  // namespace kvrm::neural
