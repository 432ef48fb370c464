// The dispatch networks: from a word to the class it is sent to. Freestanding and plain data, so that the host and
// every device run the same text. Sums are taken in one fixed order and products are rounded before they are added
// (no compiler contracts them), so the results are the same bits everywhere.
#pragma once

#include "base/types.h"

#if defined(__clang__)
#define KVRM_UNROLL _Pragma("unroll")
#else
#define KVRM_UNROLL _Pragma("GCC unroll 64")
#endif

namespace kvrm::neural {

inline constexpr u32 kClasses = 7;
inline constexpr u32 kFeatures = 12;
// Features, version 2: these bits of the word, as 0 and 1.
inline constexpr u8 kFeatureBits[kFeatures] = {10, 11, 12, 13, 14, 15, 16, 19, 20, 21, 22, 23};

enum class DispatchForm : u32 {
  kSmall,        // 8 -> 8 (tanh) -> 7, from the bits of word[31:24]
  kEmbeddingV1,  // the features of the oldest weight files: fields of the word and of pc, scaled to 0..1
  kEmbeddingV2,
};

// The weights as inference reads them: by input, and the classes padded to eight. network.h makes it.
struct alignas(16) DispatchNetwork {
  DispatchForm form;
  u32 spare[3];
  float embedding[256][32];
  float fc1[44][32], bias1[32];
  float fc2[32][16], bias2[16];
  float fc3[16][8], bias3[8];
  float small1[8][8], small_bias1[8];
  float small2[8][8], small_bias2[8];
};

struct Prediction {
  u32 best;
  float margin;  // by how much it beats the second best
};

namespace detail {

template <u32 kOut, class Real>
KVRM_INLINE void add_input(Real (&sums)[kOut], const float (&weights)[kOut], Real value) {
  KVRM_UNROLL
  for (u32 i = 0; i < kOut; ++i) sums[i] += static_cast<Real>(weights[i]) * value;
}

template <u32 kOut, class Real>
KVRM_INLINE void begin(Real (&sums)[kOut], const float (&bias)[kOut]) {
  KVRM_UNROLL
  for (u32 i = 0; i < kOut; ++i) sums[i] = static_cast<Real>(bias[i]);
}

template <u32 kIn, u32 kOut, class Real>
KVRM_INLINE void dense(Real (&out)[kOut], const float (&weights)[kIn][kOut], const float (&bias)[kOut],
                       const Real (&in)[kIn]) {
  begin(out, bias);
  KVRM_UNROLL
  for (u32 i = 0; i < kIn; ++i) add_input(out, weights[i], in[i]);
}

template <u32 kCount, class Real>
KVRM_INLINE void rectify(Real (&values)[kCount]) {
  KVRM_UNROLL
  for (u32 i = 0; i < kCount; ++i) values[i] = values[i] > 0 ? values[i] : 0;
}

// Without a library, and the same bits on every device. Good to a few units in the last place.
template <class Real>
KVRM_INLINE Real exponential(Real x) {  // |x| <= 40
  constexpr Real kLog2E = static_cast<Real>(1.4426950408889634), kLn2 = static_cast<Real>(0.6931471805599453);
  const i32 power = static_cast<i32>(x * kLog2E + (x < 0 ? static_cast<Real>(-0.5) : static_cast<Real>(0.5)));
  const Real rest = x - static_cast<Real>(power) * kLn2;
  Real sum = 1;
  for (u32 i = 14; i > 0; --i) sum = 1 + sum * rest / static_cast<Real>(i);
  const Real two = power < 0 ? static_cast<Real>(0.5) : static_cast<Real>(2);
  for (i32 i = power < 0 ? -power : power; i > 0; --i) sum *= two;
  return sum;
}
template <class Real>
KVRM_INLINE Real hyperbolic_tangent(Real x) {
  if (x > 20) return 1;
  if (x < -20) return -1;
  const Real square = exponential(2 * x);
  return (square - 1) / (square + 1);
}

template <class Real>
KVRM_INLINE void features_v1(Real (&to)[kFeatures], u32 word, u64 pc) {
  const auto scaled = [](u64 value, u32 most) { return static_cast<Real>(value) / static_cast<Real>(most); };
  to[0] = scaled(word >> 28, 15);
  to[1] = scaled(word & 255, 255);
  to[2] = scaled(word >> 16 & 255, 255);
  to[3] = scaled(pc & 255, 255);
  to[4] = scaled(pc >> 8 & 255, 255);
  to[5] = scaled(word & 31, 31);
  to[6] = scaled(word >> 5 & 31, 31);
  to[7] = scaled(word >> 30, 3);
  to[8] = scaled(word >> 26 & 3, 3);
  to[9] = scaled(word >> 31, 1);
  to[10] = scaled(word >> 10 & 4095, 4095);
  to[11] = scaled(word >> 21 & 3, 3);
}

template <class Real>
KVRM_INLINE void features_v2(Real (&to)[kFeatures], u32 word) {
  KVRM_UNROLL
  for (u32 i = 0; i < kFeatures; ++i) to[i] = static_cast<Real>(word >> kFeatureBits[i] & 1);
}

template <class Real>
KVRM_INLINE void embedding_logits(Real (&to)[8], const DispatchNetwork& network, u32 word,
                                  const Real (&features)[kFeatures]) {
  Real first[32], second[16];
  begin(first, network.bias1);
  const float(&values)[32] = network.embedding[word >> 24];
  for (u32 i = 0; i < 32; ++i) add_input(first, network.fc1[i], static_cast<Real>(values[i]));
  KVRM_UNROLL
  for (u32 i = 0; i < kFeatures; ++i) add_input(first, network.fc1[32 + i], features[i]);
  rectify(first);
  dense(second, network.fc2, network.bias2, first);
  rectify(second);
  dense(to, network.fc3, network.bias3, second);
}

template <class Real>
KVRM_INLINE void small_logits(Real (&to)[8], const DispatchNetwork& network, u32 word) {
  Real bits[8], hidden[8];
  for (u32 i = 0; i < 8; ++i) bits[i] = static_cast<Real>(word >> (24 + i) & 1);
  dense(hidden, network.small1, network.small_bias1, bits);
  for (u32 i = 0; i < 8; ++i) hidden[i] = hyperbolic_tangent(hidden[i]);
  dense(to, network.small2, network.small_bias2, hidden);
}

}  // namespace detail

// Version 2 alone, which is what very many words are asked about. Real: float is the machine's; double shows how far
// rounding can be away from it.
template <class Real = float>
KVRM_INLINE void dispatch_logits_v2(Real (&to)[8], const DispatchNetwork& network, u32 word) {
  Real features[kFeatures];
  detail::features_v2(features, word);
  detail::embedding_logits(to, network, word, features);
}

template <class Real = float>
KVRM_INLINE void dispatch_logits(Real (&to)[8], const DispatchNetwork& network, u32 word, u64 pc) {
  if (network.form == DispatchForm::kSmall) return detail::small_logits(to, network, word);
  if (network.form == DispatchForm::kEmbeddingV2) return dispatch_logits_v2(to, network, word);
  Real features[kFeatures];
  detail::features_v1(features, word, pc);
  detail::embedding_logits(to, network, word, features);
}

// The first of the greatest.
KVRM_INLINE Prediction best_class(const float (&logits)[8]) {
  u32 best = 0;
  float most = logits[0], second = -__builtin_huge_valf();
  KVRM_UNROLL
  for (u32 i = 1; i < kClasses; ++i) {
    if (logits[i] > most) {
      second = most;
      most = logits[i];
      best = i;
    } else if (logits[i] > second) {
      second = logits[i];
    }
  }
  return {best, most - second};
}

// Not inlined: once for each word that is decoded.
KVRM_COLD inline u32 predict_class(const DispatchNetwork& network, u32 word, u64 pc) {
  float logits[8];
  dispatch_logits(logits, network, word, pc);
  return best_class(logits).best;
}

}  // namespace kvrm::neural
