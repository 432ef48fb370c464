// Bulk steps of lanes on a CUDA device: from samples to proven loops, which are installed between launches. For one
// lane set after the other.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "accelerate/loops.h"
#include "backend/cuda/lane_set.h"
#include "kvrm/result.h"
#include "kvrm/types.h"
#include "translator/gpu/translator.h"

namespace kvrm {

class GpuLoops {
 public:
  // `eager`: each sample counts, and every loop is done whether it pays or not.
  GpuLoops(std::shared_ptr<accelerate::Loops> loops, bool eager) : loops_(std::move(loops)), eager_(eager) {}

  // The set holds these programs and has not run them yet.
  void begin(backend::cuda::LaneSet& set, std::vector<translator::SharedCode> codes,
             std::vector<std::shared_ptr<const memory::Image>> images);
  bool can_step() const { return can_step_; }
  // Proposes loops around sampled words; gives all that are proved.
  std::vector<translator::GpuCodeRange> find(std::span<const u32> samples);
  // Between launches: lanes do bulk steps of what has been proved since the last time.
  Result<void> install(backend::cuda::LaneSet& set);
  // Adds up what lanes have done, after a run.
  Result<void> count(backend::cuda::LaneSet& set);

  // Without translated code, a few short launches take samples.
  backend::cuda::LaneSet::Slice next(std::chrono::milliseconds limit) const;
  Result<backend::cuda::LaneSet::Slice> paused(backend::cuda::LaneSet& set, std::chrono::milliseconds limit);

 private:
  struct Known {
    accelerate::LoopCode code;
    std::shared_ptr<const accelerate::ProvenLoop> proven;  // null: refused
    u64 start = 0;  // of the window
    u32 words = 0;
    u64 steps = 0, iterations = 0, left_out = 0;  // by all lanes
    bool is_given_up = false;
    bool is_used() const { return proven && !is_given_up; }
  };
  void give_up_short_loops();
  bool has_same(const std::vector<translator::SharedCode>& codes) const;
  bool propose(const translator::SharedCode& code, u32 head, u32 branch, u64 samples);

  const std::shared_ptr<accelerate::Loops> loops_;
  const bool eager_;
  std::vector<translator::SharedCode> codes_;
  std::vector<std::shared_ptr<const memory::Image>> images_;  // keep the words alive
  std::map<u32, Known> known_;  // by the number of the first word
  backend::cuda::LaneSet* set_ = nullptr;
  std::vector<u32> installed_;  // the same, in the order of the device
  bool has_new_ = false, can_step_ = false;
  u32 launches_ = 0;
};

}  // namespace kvrm
