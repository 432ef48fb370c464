// The memory oracle, 271,124 parameters: from the last misses of one static load to what is worth prefetching for it.
// docs/co-processors.md says what goes in and what the answers mean. Freestanding.
#pragma once

#include "neural/freestanding/layers.h"

namespace kvrm::neural {

inline constexpr u32 kOracleSteps = 16, kOracleFeatures = 10;

struct alignas(16) OracleNetwork {
  Linear<10, 64> encoder1;
  Linear<64, 64> encoder2;
  Lstm<64, 128> lstm1;
  Lstm<128, 128> lstm2;
  Linear<128, 128> deltas1;
  Linear<128, 8> deltas2;
  Linear<128, 64> confidence1;
  Linear<64, 8> confidence2;
  Linear<128, 64> pattern1;
  Linear<64, 4> pattern2;
};

struct OracleAnswer {
  float gains[8];  // of the best policy at each distance: the share of the misses' time that it would save
  float confidence[8];  // log odds that a prefetch at that distance is needed
  float pattern[4];  // log odds of the policies: next line, stride, temporal, indirect
};
// Below these, nothing is prefetched.
inline constexpr float kOracleLeastGain = 0.1f, kOracleLeastConfidence = -0.4f;

// Not inlined: once for each load that misses often.
KVRM_COLD inline OracleAnswer ask_oracle(const OracleNetwork& network,
                                         const float (&window)[kOracleSteps][kOracleFeatures]) {
  LstmState<128> first{}, second{};
  for (const float(&features)[kOracleFeatures] : window) {
    float narrow[64], wide[64];
    apply_linear(network.encoder1, features, narrow);
    apply_relu(narrow);
    apply_linear(network.encoder2, narrow, wide);
    step_lstm(network.lstm1, wide, first);
    step_lstm(network.lstm2, first.hidden, second);
  }
  OracleAnswer answer;
  float inner[128], small[64];
  apply_linear(network.deltas1, second.hidden, inner);
  apply_relu(inner);
  apply_linear(network.deltas2, inner, answer.gains);
  apply_linear(network.confidence1, second.hidden, small);
  apply_relu(small);
  apply_linear(network.confidence2, small, answer.confidence);
  apply_linear(network.pattern1, second.hidden, small);
  apply_relu(small);
  apply_linear(network.pattern2, small, answer.pattern);
  return answer;
}

}  // namespace kvrm::neural
