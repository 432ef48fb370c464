// When lanes on a GPU are looked at to translate what they run, and which of the places they were found at count.
#pragma once

#include <chrono>
#include <span>
#include <vector>

#include "device/cuda/lane_set.h"

namespace kvrm {

struct GpuRounds {
  u32 most = 3;
  // The launch before the first look, and each one before a later look is so many times as long.
  std::chrono::milliseconds first{100};
  u32 longer = 4;
  u32 turn = 1024;  // instructions of a turn before the first look: a place is counted when a turn is over
  u32 threshold = 4;  // findings that make a place hot
  double covered = 0.95;  // so much of what was found is enough
  // The first look takes few places, which are there soon: so many at most, and so many words apart. What lies nearer
  // is mostly in the same region; what is not is still hot at the next look.
  u32 places = 16, apart = 64;

  // How the launch before look `round` is to be.
  device::cuda::LaneSet::Slice slice(u32 round) const;
  // Of what was found in it, the hottest places only; the others are zero.
  std::vector<u32> chosen(std::vector<u32> heat, u32 round) const;

  // For somebody who would rather not wait for the translator: lets a program run for a second first.
  static GpuRounds patient();
  // For tests: looks soon, and takes everything.
  static GpuRounds eager();
};

}  // namespace kvrm
