// Sums of statistics.
#pragma once

#include "kvrm/types.h"

namespace kvrm {

// Adds what another machine of the same kind has done. Device, engine and dispatch mode stay those of `to`.
void add(Statistics& to, const Statistics& more);

}  // namespace kvrm
