#include "machine/gpu_rounds.h"

namespace kvrm {

using device::cuda::LaneSet;

LaneSet::Slice GpuRounds::slice(u32 round) const {
  LaneSet::Slice slice{first, round == 0 ? first_turn : turn, true};
  for (u32 i = 0; i < round; ++i) slice.time *= longer;
  return slice;
}

GpuRounds GpuRounds::patient() {
  GpuRounds rounds;
  rounds.first = std::chrono::milliseconds(1000);
  rounds.first_turn = rounds.turn;
  rounds.most = 5;
  return rounds;
}

GpuRounds GpuRounds::eager() {
  GpuRounds rounds;
  rounds.first = std::chrono::milliseconds(5);
  rounds.most = 4;
  rounds.fewest = 1;
  rounds.waits = false;
  rounds.at_once = true;
  return rounds;
}

}  // namespace kvrm
