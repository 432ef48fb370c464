// The loop detector: from a loop's words and the registers of its first iterations to its kind, its counter and its
// trips. Freestanding and plain data. What it says is a guess, and only the order of proposals depends on it; so its
// sums need not be the same bits everywhere.
#pragma once

#include "base/types.h"

namespace kvrm::neural {

inline constexpr u32 kLoopWords = 8, kLoopRegisters = 32, kLoopTypes = 4;

// What the network sees (training/loop_network.py).
struct LoopInput {
  u32 count;  // of words, 1 to 8
  u32 words[kLoopWords];
  float registers[2 * kLoopRegisters];  // all zero: unknown
};

struct LoopGuess {
  float types[kLoopTypes];  // probabilities: none, count up, count down, memory fill
  u32 counter;              // the likeliest register; 31: none
  float trips_log2;         // of 1 + how often the branch back is taken
};

namespace loop_detail {

// A layer by input, so that sums of several outputs go side by side.
template <u32 kIn, u32 kOut>
struct Layer {
  float weights[kIn][kOut];
  float bias[kOut];
};
template <u32 kWidth>
struct Norm {
  float weights[kWidth], bias[kWidth];
};
// One direction of one layer. Gates in PyTorch's order: input, forget, cell, output.
template <u32 kIn>
struct Lstm {
  Layer<kIn, 512> from_input;
  Layer<128, 512> from_hidden;
};

}  // namespace loop_detail

// The weights as inference reads them; make_loop_network makes it.
struct alignas(64) LoopNetwork {
  loop_detail::Layer<32, 128> instruction0;
  loop_detail::Norm<128> instruction1;
  loop_detail::Layer<128, 128> instruction3;
  loop_detail::Layer<32, 96> register_fields;
  loop_detail::Lstm<128> lstm0[2];
  loop_detail::Lstm<256> lstm1[2];
  loop_detail::Layer<64, 128> registers0;
  loop_detail::Norm<128> registers1;
  loop_detail::Layer<128, 128> registers3;
  loop_detail::Layer<256, 256> query, key, value, out;
  loop_detail::Layer<384, 128> type0;
  loop_detail::Layer<128, 4> type2;
  loop_detail::Layer<256, 32> counter;
  loop_detail::Layer<416, 128> iterations0;
  loop_detail::Layer<128, 1> iterations2;
};

namespace loop_detail {

// e^x without a library, good to a few units in the last place; |x| is limited to 80.
KVRM_INLINE float exponential_of(float x) {
  x = x < -80.0f ? -80.0f : x > 80.0f ? 80.0f : x;
  const float scaled = x * 1.44269504f;  // log2(e)
  const i32 power = static_cast<i32>(scaled + (x < 0 ? -0.5f : 0.5f));
  const float rest = (scaled - static_cast<float>(power)) * 0.693147181f;
  float sum = 1;
  for (u32 i = 7; i > 0; --i) sum = 1 + sum * rest * (1.0f / static_cast<float>(i));
  return sum * __builtin_bit_cast(float, static_cast<u32>(power + 127) << 23);
}
KVRM_INLINE float logistic(float x) { return 1 / (1 + exponential_of(-x)); }
KVRM_INLINE float tangent(float x) { return 2 * logistic(2 * x) - 1; }

template <u32 kIn, u32 kOut>
KVRM_INLINE void add_products(float* to, const Layer<kIn, kOut>& layer, const float* from) {
  for (u32 in = 0; in < kIn; ++in) {
    const float value = from[in];
    if (value == 0) continue;  // bits, fields and what a ReLU let through: often
    for (u32 out = 0; out < kOut; ++out) to[out] += layer.weights[in][out] * value;
  }
}
template <u32 kIn, u32 kOut>
KVRM_INLINE void apply(float* to, const Layer<kIn, kOut>& layer, const float* from) {
  for (u32 out = 0; out < kOut; ++out) to[out] = layer.bias[out];
  add_products(to, layer, from);
}
template <u32 kCount>
KVRM_INLINE void rectify_all(float* values) {
  for (u32 i = 0; i < kCount; ++i) values[i] = values[i] > 0 ? values[i] : 0;
}

// As PyTorch's LayerNorm.
template <u32 kWidth>
KVRM_INLINE void normalize(float* values, const Norm<kWidth>& norm) {
  float mean = 0, variance = 0;
  for (u32 i = 0; i < kWidth; ++i) mean += values[i];
  mean /= kWidth;
  for (u32 i = 0; i < kWidth; ++i) variance += (values[i] - mean) * (values[i] - mean);
  const float scale = 1 / __builtin_sqrtf(variance / kWidth + 1e-5f);
  for (u32 i = 0; i < kWidth; ++i) values[i] = (values[i] - mean) * scale * norm.weights[i] + norm.bias[i];
}

template <u32 kIn>
KVRM_INLINE void encode(float* to, const Layer<kIn, 128>& first, const Norm<128>& norm, const Layer<128, 128>& second,
                        const float* from) {
  float hidden[128];
  apply(hidden, first, from);
  normalize(hidden, norm);
  rectify_all<128>(hidden);
  apply(to, second, hidden);
}

// One direction over the words; its 128 outputs go to columns `at` and on.
template <u32 kIn>
KVRM_INLINE void run_lstm(float (*to)[256], u32 at, const Lstm<kIn>& lstm, const float (*from)[kIn], u32 count,
                          bool backward) {
  float hidden[128] = {}, cell[128] = {};
  for (u32 step = 0; step < count; ++step) {
    const u32 word = backward ? count - 1 - step : step;
    float gates[512];
    apply(gates, lstm.from_input, from[word]);
    for (u32 i = 0; i < 512; ++i) gates[i] += lstm.from_hidden.bias[i];
    if (step != 0) add_products(gates, lstm.from_hidden, hidden);
    for (u32 i = 0; i < 128; ++i) {
      cell[i] = logistic(gates[128 + i]) * cell[i] + logistic(gates[i]) * tangent(gates[256 + i]);
      hidden[i] = logistic(gates[384 + i]) * tangent(cell[i]);
      to[word][at + i] = hidden[i];
    }
  }
}

template <u32 kCount>
KVRM_INLINE void soften(float* values, u32 count = kCount) {
  float most = values[0], sum = 0;
  for (u32 i = 1; i < count; ++i) most = values[i] > most ? values[i] : most;
  for (u32 i = 0; i < count; ++i) sum += values[i] = exponential_of(values[i] - most);
  for (u32 i = 0; i < count; ++i) values[i] /= sum;
}

// Four heads of 64: what the sequence says asks what the words and their register fields say. Adds to the sum.
KVRM_INLINE void attend(float (&sum)[256], const LoopNetwork& network, const float (*steps)[256],
                        const float (*keys)[256], u32 count) {
  float key[kLoopWords][256], value[kLoopWords][256];
  for (u32 i = 0; i < count; ++i) {
    apply(key[i], network.key, keys[i]);
    apply(value[i], network.value, keys[i]);
  }
  for (u32 i = 0; i < count; ++i) {
    float query[256], found[256] = {}, out[256];
    apply(query, network.query, steps[i]);
    for (u32 head = 0; head < 256; head += 64) {
      float shares[kLoopWords];
      for (u32 k = 0; k < count; ++k) {
        shares[k] = 0;
        for (u32 d = head; d < head + 64; ++d) shares[k] += query[d] * key[k][d];
        shares[k] *= 0.125f;  // 1 / sqrt(64)
      }
      soften<kLoopWords>(shares, count);
      for (u32 k = 0; k < count; ++k) {
        for (u32 d = head; d < head + 64; ++d) found[d] += shares[k] * value[k][d];
      }
    }
    apply(out, network.out, found);
    for (u32 d = 0; d < 256; ++d) sum[d] += steps[i][d] + out[d];
  }
}

// The bits of a word, and which registers its fields may name.
KVRM_INLINE void spread_word(float (&bits)[32], float (&fields)[32], u32 word) {
  for (u32 bit = 0; bit < 32; ++bit) bits[bit] = static_cast<float>(word >> bit & 1);
  for (float& field : fields) field = 0;
  fields[word & 31] += 1.0f;
  fields[word >> 5 & 31] += 0.5f;
  fields[word >> 16 & 31] += 0.25f;
  fields[word >> 10 & 31] += 0.125f;
}

KVRM_INLINE void pool(float (&to)[256], const LoopNetwork& network, const LoopInput& input) {
  float code[kLoopWords][128], keys[kLoopWords][256], first[kLoopWords][256], steps[kLoopWords][256];
  for (u32 i = 0; i < input.count; ++i) {
    float bits[32], fields[32];
    spread_word(bits, fields, input.words[i]);
    encode(code[i], network.instruction0, network.instruction1, network.instruction3, bits);
    for (u32 d = 0; d < 128; ++d) keys[i][d] = code[i][d];
    apply(&keys[i][128], network.register_fields, fields);
    for (u32 d = 0; d < 32; ++d) keys[i][224 + d] = fields[d];
  }
  for (u32 k = 0; k < 2; ++k) run_lstm(first, 128 * k, network.lstm0[k], code, input.count, k != 0);
  for (u32 k = 0; k < 2; ++k) run_lstm(steps, 128 * k, network.lstm1[k], first, input.count, k != 0);
  for (float& sum : to) sum = 0;
  attend(to, network, steps, keys, input.count);
  for (float& sum : to) sum /= static_cast<float>(input.count);
}

}  // namespace loop_detail

KVRM_INLINE LoopGuess guess_loop(const LoopNetwork& network, const LoopInput& input) {
  using namespace loop_detail;
  // The pooled sequence, the registers, the counter's probabilities.
  float pooled[256], all[416], hidden[128], trips[1];
  pool(pooled, network, input);
  for (u32 i = 0; i < 256; ++i) all[i] = pooled[i];
  encode(&all[256], network.registers0, network.registers1, network.registers3, input.registers);
  LoopGuess guess{};
  apply(hidden, network.type0, all);
  rectify_all<128>(hidden);
  apply(guess.types, network.type2, hidden);
  soften<kLoopTypes>(guess.types);
  apply(&all[384], network.counter, pooled);
  for (u32 i = 1; i < 32; ++i) guess.counter = all[384 + i] > all[384 + guess.counter] ? i : guess.counter;
  soften<32>(&all[384]);
  apply(hidden, network.iterations0, all);
  rectify_all<128>(hidden);
  apply(trips, network.iterations2, hidden);
  guess.trips_log2 = trips[0] * 16;
  return guess;
}

}  // namespace kvrm::neural
