// When lanes on a GPU are looked at to translate what they run.
#pragma once

#include <chrono>

#include "device/cuda/lane_set.h"

namespace kvrm {

struct GpuRounds {
  // Programs come to their long loops late, so that there are several looks, each launch before one so many times as
  // long as the launch before. Later runs go on with what is left of them.
  u32 most = 8;
  std::chrono::milliseconds first{60};
  u32 longer = 2;
  bool waits = true;  // a launch takes at least as long as translating has taken so far
  // A place is counted when a turn is over: instructions of a turn before the first look and before the later ones.
  u32 first_turn = 61, turn = 4093;
  u32 fewest = 4;  // findings that make a place hot
  bool at_once = false;  // where raw lanes begin is translated before they run

  // How the launch before look `round` is to be.
  device::cuda::LaneSet::Slice slice(u32 round) const;
  // For somebody who would rather not wait for the translator: lets a program run for a second first.
  static GpuRounds patient();
  // For tests: looks soon, and one finding is enough.
  static GpuRounds eager();
};

}  // namespace kvrm
