#include "machine/gpu_rounds.h"

#include <algorithm>

namespace kvrm {

using device::cuda::LaneSet;

LaneSet::Slice GpuRounds::slice(u32 round) const {
  LaneSet::Slice slice{first, round == 0 ? turn : std::max<u32>(turn, LaneSet::kTurn)};
  for (u32 i = 0; i < round; ++i) slice.time *= longer;
  return slice;
}

GpuRounds GpuRounds::patient() {
  GpuRounds rounds;
  rounds.first = std::chrono::milliseconds(1000);
  rounds.turn = LaneSet::kTurn;
  rounds.longer = 2;
  return rounds;
}

GpuRounds GpuRounds::eager() {
  GpuRounds rounds;
  rounds.first = std::chrono::milliseconds(5);
  rounds.turn = 64;
  rounds.fewest = 1;
  return rounds;
}

}  // namespace kvrm
