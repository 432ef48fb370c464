// From weights as files have them to the form the loop detector's inference reads, and its input.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "kvrm/models.h"
#include "neural/freestanding/loop_network.h"

namespace kvrm::neural {

// Null if the weights are not those of a loop detector.
std::shared_ptr<const LoopNetwork> make_loop_network(const Weights& weights);

using LoopState = std::array<std::uint64_t, kLoopRegisters>;  // X0 to X30 and SP
// `words` is not empty. `first` and `second`: the registers at the loop's head; null: unknown.
LoopInput loop_input(std::span<const u32> words, const LoopState* first, const LoopState* second);

}  // namespace kvrm::neural
