// Asking a network about words and comparing with the table: the proof, on whatever device it runs. Freestanding.
#pragma once

#include "dispatch/router.h"

namespace kvrm::dispatch {

struct Tally {
  u64 confusion[kClasses][kClasses];  // words: [the table's class][the network's]
  u32 margin;                         // the smallest gap, as a float's bits: gaps are not negative, so these compare
  u32 example;                        // a word the network is wrong about, if there is one
};

// Nothing asked yet.
inline constexpr Tally kNothing{{}, 0x7f800000, 0};

// What one thread finds; the tally is shared.
class Checker {
 public:
  KVRM_INLINE Checker(const neural::DispatchNetwork& network, Tally& tally) : network_(network), tally_(tally) {}

  // `words`: how many words this one stands for.
  KVRM_INLINE void check(u32 word, u64 words) {
    float logits[8];
    neural::dispatch_logits(logits, network_, word, 0);
    const neural::Prediction prediction = neural::best_class(logits);
    const u32 right = static_cast<u32>(isa::routing_class(word));
    const float gap = prediction.margin > 0 ? prediction.margin : 0;  // also if there is no number at all
    smallest_ = gap < smallest_ ? gap : smallest_;
    if (right == prediction.best) {
      KVRM_UNROLL
      for (u32 i = 0; i < kClasses; ++i) right_[i] += i == right ? words : 0;
    } else {
      sync::add<sync::kRelaxed, sync::kDevice>(&tally_.confusion[right][prediction.best], words);
      sync::store<sync::kRelaxed, sync::kDevice>(&tally_.example, word);
    }
  }

  KVRM_INLINE void finish() {
    for (u32 i = 0; i < kClasses; ++i) {
      if (right_[i] != 0) sync::add<sync::kRelaxed, sync::kDevice>(&tally_.confusion[i][i], right_[i]);
    }
    const u32 bits = __builtin_bit_cast(u32, smallest_);
    u32 seen = sync::load<sync::kRelaxed, sync::kDevice>(&tally_.margin);
    while (bits < seen) {
      const u32 found = sync::compare_exchange<sync::kRelaxed, sync::kDevice>(&tally_.margin, seen, bits);
      if (found == seen) break;
      seen = found;
    }
  }

 private:
  const neural::DispatchNetwork& network_;
  Tally& tally_;
  float smallest_ = __builtin_huge_valf();
  u64 right_[kClasses] = {};
};

}  // namespace kvrm::dispatch
