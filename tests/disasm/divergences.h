// Where our text and LLVM's differ on purpose. A word is covered by an entry when mask and bits match.
//
// There are none. Only LLVM's comments are left out on both sides: `// =4096` after a shifted immediate and
// `// acquire semantics dropped since destination is zero` after some LSE atomics.
#pragma once

#include <array>

#include "base/types.h"

namespace kvrm::test {

struct Divergence {
  u32 mask, bits;
  const char* reason;
};

inline constexpr std::array<Divergence, 0> kDivergences{};

}  // namespace kvrm::test
