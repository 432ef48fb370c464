// What a proof says of a loop in the loop detector's terms: its labels, and what it is measured by.
#pragma once

#include "accelerate/iteration.h"
#include "accelerate/prover.h"

namespace kvrm::accelerate {

enum class LoopType : u8 { kNone, kCountUp, kCountDown, kMemoryFill };
inline constexpr u8 kNoCounter = 31;

struct LoopLabel {
  LoopType type = LoopType::kNone;  // of a refused loop
  // The register that the loop's first test of an affine value depends on; for a loop without such a test: none.
  u8 counter = kNoCounter;
};

LoopLabel label_of(const Iteration& iteration, const Proof& proof);
const char* to_string(LoopType type);

}  // namespace kvrm::accelerate
