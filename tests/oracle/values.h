// Values that find mistakes: the edges of every width, and floating-point corner cases.
#pragma once

#include <cstdint>

#include "random.h"

namespace kvrm::oracle {

// A 64-bit integer: an edge of some width more often than not.
uint64_t interesting_integer(Random& random);

// One number of the format with that many bits (16, 32 or 64): zeros, denormals, infinities, quiet and
// signalling NaNs with payloads, halfway cases and overflow thresholds favored.
uint64_t interesting_float(Random& random, unsigned bits);

// 64 bits made of such numbers.
uint64_t interesting_float_lanes(Random& random, unsigned bits);

// 64 bits made of equal lanes, integers or floats.
uint64_t interesting_lanes(Random& random);

// A control word: every rounding mode, flush, default-NaN and AHP combination occurs.
uint32_t interesting_fpcr(Random& random);
uint32_t interesting_fpsr(Random& random);

}  // namespace kvrm::oracle
