// The layouts of the models' weights: which tensors, in which order.
#pragma once

#include <string_view>

#include "kvrm/models.h"

namespace kvrm::neural {

inline constexpr std::string_view kDispatchSmall = "dispatch-small";
inline constexpr std::string_view kDispatchEmbedding = "dispatch-embedding";
inline constexpr std::string_view kMemoryOracle = "memory-oracle";
inline constexpr std::string_view kLoopDetector = "loop-detector";

const ModelLayout* layout_named(std::string_view name);
const ModelLayout* layout_of_size(std::uint64_t parameters);

}  // namespace kvrm::neural
