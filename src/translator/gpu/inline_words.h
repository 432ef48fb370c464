// Which regions look up pages inline.
#pragma once

#include <cstdlib>

#include "base/types.h"

namespace kvrm::translator {

// Where a lane is alone, regions of up to so many words remember pages and read the L1 TLB inline after them. In larger
// ones, and where all lanes of a warp run, room in the instruction caches is worth more. For experiments: the
// environment variable KVRM_GPU_INLINE_WORDS; 0 makes all regions large ones.
inline u32 most_words_to_inline_lookups() {
  static const u32 most = [] {
    constexpr u32 kUsual = 0;
    const char* told = std::getenv("KVRM_GPU_INLINE_WORDS");
    return told ? static_cast<u32>(std::strtoul(told, nullptr, 10)) : kUsual;
  }();
  return most;
}

}  // namespace kvrm::translator
