// Makes of a proven loop what the threads of a warp run (freestanding/warp_loop.h).
#pragma once

#include <string>
#include <vector>

#include "accelerate/freestanding/warp_loop.h"

namespace kvrm::accelerate {

// The bytes of a WarpLoop and of everything it points to, for the address where they will lie, a multiple of 16. Empty,
// and why, if a warp cannot run the loop.
std::vector<u8> make_warp_loop(const LoopProgram& program, u64 address, std::string& refusal);

}  // namespace kvrm::accelerate
