// When lanes on a GPU are looked at to translate what they run.
#pragma once

#include <chrono>

#include "device/cuda/lane_set.h"

namespace kvrm {

struct GpuRounds {
  u32 most = 3;
  // The launch before the first look, and each one before a later look is so many times as long.
  std::chrono::milliseconds first{100};
  u32 longer = 4;
  u32 turn = 61;    // instructions of a turn before the first look: a place is counted when a turn is over
  u32 fewest = 4;   // findings that make a place hot

  // How the launch before look `round` is to be.
  device::cuda::LaneSet::Slice slice(u32 round) const;
  // For somebody who would rather not wait for the translator: lets a program run for a second first.
  static GpuRounds patient();
  // For tests: looks soon, and one finding is enough.
  static GpuRounds eager();
};

}  // namespace kvrm
