// How a bulk step calls machine code that was made for its loop.
#pragma once

#include "base/types.h"

namespace kvrm::accelerate {

// Does `count` iterations. `at`: where each access is on the host in the first of them; of a load from a table, where
// index 0 is. `values`, `steps`: of the loop's invariant and affine nodes. `folded`: what each carried part that is
// folded was before, and then after; the last one is the sum of the iterations' lengths.
using NativeRound = void (*)(u8* const* at, const u64* values, const u64* steps, u64* folded, u64 count);

}  // namespace kvrm::accelerate
