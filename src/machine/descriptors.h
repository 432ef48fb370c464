// How the host's descriptors are shared out among guests, so that one that hoards them starves itself alone.
#pragma once

#include "base/types.h"
#include "kvrm/types.h"

namespace kvrm {

// What all guests of a machine may hold together.
u64 descriptors_of(const Options& options);
// What each of so many guests that run at the same time may hold.
u64 descriptor_share(u64 all, u64 guests);

}  // namespace kvrm
