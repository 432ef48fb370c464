// Proven loops on a GPU: what bulk steps of lanes need (backend/kernel/warp_loops.h).
#include "backend/cuda/lane_set.h"

namespace kvrm::backend::cuda {

Result<void> LaneSet::install_loops(std::span<const Loop> loops) {
  const u64 judges = running_lanes() * loops.size() * sizeof(kernel::LoopJudge);
  // Without memory for them the lanes continue without.
  const bool has_room =
      can_step() && grow(plain_, decoded_.size(), "the decoded programs") &&
      grow(loop_judges_, judges, "the lanes' loops") &&
      grow(loop_scratch_, running_lanes() * accelerate::kWarpScratchWords * sizeof(u64), "the lanes' loops");
  loop_count_ = 0;
  if (!has_room || loops.empty()) return decode(true);
  std::vector<u8> bytes;
  std::vector<u64> places;
  // Where they lie is known when it is known how large they are.
  for (const bool is_placed : {false, true}) {
    if (is_placed) {
      if (auto done = grow(loop_bytes_, bytes.size(), "the proven loops"); !done) return done;
    }
    bytes.clear();
    places.clear();
    for (const Loop& loop : loops) {
      places.push_back(loop_bytes_.address() + bytes.size());
      std::string refusal;
      const std::vector<u8> one = accelerate::make_warp_loop(*loop.program, places.back(), refusal);
      bytes.insert(bytes.end(), one.begin(), one.end());
    }
  }
  if (auto done = upload(loop_bytes_.address(), bytes.data(), bytes.size()); !done) return done;
  std::vector<kernel::LaneLoop> list;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    list.push_back({reinterpret_cast<const accelerate::WarpLoop*>(places[i]), loops[i].start, loops[i].words,
                    loops[i].head, loops[i].program->words, kernel::LaneLoop::kNoRegion, 0, 0, 0});
  }
  if (auto done = grow(loops_, list.size() * sizeof(list[0]), "the proven loops"); !done) return done;
  if (auto done = upload(loops_.address(), list.data(), list.size() * sizeof(list[0])); !done) return done;
  if (auto done = stream_.fill(loop_judges_.address(), 0, judges); !done) return done;
  loop_count_ = static_cast<u32>(list.size());
  return decode(true);
}

Result<std::vector<LaneSet::LoopCounts>> LaneSet::take_loop_counts() {
  std::vector<LoopCounts> counts;
  if (loop_count_ == 0) return counts;
  std::vector<kernel::LaneLoop> list(loop_count_);
  if (auto done = copies_.download(list.data(), loops_.address(), list.size() * sizeof(list[0])); !done)
    return done.error();
  if (auto done = copies_.wait(); !done) return done.error();
  for (kernel::LaneLoop& loop : list) {
    counts.push_back({loop.steps, loop.iterations, loop.left_out});
    loop.steps = loop.iterations = loop.left_out = 0;
  }
  if (auto done = upload(loops_.address(), list.data(), list.size() * sizeof(list[0])); !done) return done.error();
  return counts;
}

}  // namespace kvrm::backend::cuda
