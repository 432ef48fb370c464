// All 2^32 words through a dispatch network, on a GPU.
#pragma once

#include <functional>

#include "dispatch/verify.h"
#include "kvrm/result.h"

namespace kvrm::backend::cuda {

Result<dispatch::Tally> verify_dispatch(int ordinal, const neural::DispatchNetwork& network,
                                        const std::function<void(double share)>& progress);

}  // namespace kvrm::backend::cuda
