// NumPy's .npy files, as far as weights need them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kvrm/result.h"

namespace kvrm::neural {

// The values of an array of little-endian float32 or float16 in C order; its shape does not matter. Anything else, and
// anything that is not exactly as long as its header says, is an error.
Result<std::vector<float>> parse_npy(std::span<const std::byte> bytes);

}  // namespace kvrm::neural
