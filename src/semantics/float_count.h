// How often the inline fast paths of floating point serve. A build with KVRM_COUNT_FLOAT (host only, for
// bench/float_share.py) counts, per thread, every operation on an element, and every one that went on to a ..._cold
// function; in every other build the functions are empty and there is no state.
#pragma once

#include "base/types.h"

namespace kvrm::semantics {

struct FloatCounts {
  u64 operations, cold;
};

#if defined(KVRM_COUNT_FLOAT) && !defined(__NVPTX__)
inline constexpr bool kCountsFloat = true;
inline constinit thread_local FloatCounts float_counts{0, 0};

KVRM_INLINE void count_float_operation() { ++float_counts.operations; }
KVRM_INLINE void count_float_cold() { ++float_counts.cold; }
KVRM_INLINE FloatCounts counted_floats() { return float_counts; }
#else
inline constexpr bool kCountsFloat = false;

KVRM_INLINE void count_float_operation() {}
KVRM_INLINE void count_float_cold() {}
KVRM_INLINE FloatCounts counted_floats() { return {0, 0}; }
#endif

}  // namespace kvrm::semantics
