// From weights as files have them to the form inference reads.
#pragma once

#include <memory>

#include "kvrm/models.h"
#include "neural/freestanding/dispatch_network.h"
#include "neural/freestanding/oracle_network.h"

namespace kvrm::neural {

// Null if the weights are not those of a dispatch network.
std::shared_ptr<const DispatchNetwork> make_dispatch_network(const Weights& weights);
// Null if the weights are not those of a memory oracle.
std::shared_ptr<const OracleNetwork> make_oracle_network(const Weights& weights);

}  // namespace kvrm::neural
