// All 2^32 words through a dispatch network, on a GPU.
#pragma once

#include <functional>

#include "dispatch/check.h"
#include "kvrm/result.h"

namespace kvrm::device::cuda {

Result<dispatch::Tally> check_dispatch(int ordinal, const neural::DispatchNetwork& network,
                                       const std::function<void(double share)>& progress);

}  // namespace kvrm::device::cuda
