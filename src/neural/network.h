// From weights as files have them to the form inference reads.
#pragma once

#include <memory>

#include "kvrm/models.h"
#include "neural/freestanding/dispatch_network.h"

namespace kvrm::neural {

// Null if the weights are not those of a dispatch network.
std::shared_ptr<const DispatchNetwork> make_dispatch_network(const Weights& weights);

}  // namespace kvrm::neural
