// Converts the prefetching part of NeuralOptions into what a device reads.
#pragma once

#include <vector>

#include "kvrm/result.h"
#include "kvrm/types.h"
#include "prefetch/freestanding/lane_prefetcher.h"

namespace kvrm {

// In ascending order of pc; empty unless the network's choices were given.
Result<std::vector<prefetch::SiteChoice>> site_choices(const NeuralOptions& options);

}  // namespace kvrm
