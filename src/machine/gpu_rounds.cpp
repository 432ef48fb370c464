#include "machine/gpu_rounds.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace kvrm {

using device::cuda::LaneSet;

LaneSet::Slice GpuRounds::slice(u32 round) const {
  LaneSet::Slice slice{first, round == 0 ? turn : std::max<u32>(turn, LaneSet::kTurn)};
  for (u32 i = 0; i < round; ++i) slice.time *= longer;
  return slice;
}

std::vector<u32> GpuRounds::chosen(std::vector<u32> heat, u32 round) const {
  std::vector<u32> order;
  for (u32 i = 0; i < heat.size(); ++i) {
    if (heat[i] != 0 && heat[i] >= threshold) order.push_back(i);
  }
  std::ranges::sort(order, [&](u32 a, u32 b) { return std::tie(heat[b], a) < std::tie(heat[a], b); });
  std::vector<u32> result(heat.size());
  const double enough = covered * std::accumulate(heat.begin(), heat.end(), 0.0);
  double taken = 0;
  std::vector<u32> seen;
  for (const u32 place : order) {
    if (taken >= enough) break;
    taken += heat[place];
    if (round == 0) {
      const auto is_near = [&](u32 other) { return std::max(place, other) - std::min(place, other) < apart; };
      if (seen.size() >= places || std::ranges::any_of(seen, is_near)) continue;
      seen.push_back(place);
    }
    result[place] = heat[place];
  }
  return result;
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
  rounds.threshold = 1;
  rounds.covered = 1;
  rounds.apart = 1;
  return rounds;
}

}  // namespace kvrm
