// What became of a machine's loops.
#pragma once

#include "accelerate/loops.h"
#include "kvrm/types.h"

namespace kvrm {

LoopStatistics statistics_of(const accelerate::Loops& loops);

}  // namespace kvrm
