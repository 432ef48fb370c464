// Regions as GPUs have them, made for this host: the same plan, frame, rows and passes, and the host's back end. They
// run on simulated warps.
#pragma once

#include <memory>

#include "translator/gpu/lane_kind.h"
#include "translator/plan.h"

namespace kvrm::backend::test {

class LaneRegionCompiler {
 public:
  LaneRegionCompiler();
  ~LaneRegionCompiler();
  // A function u64(ResidentLane*, u32 budget, u32 entry_point) that returns the trap and, above it, what is left; 0 if
  // there is none.
  u64 compile(const translator::Plan& plan, translator::LaneKind kind);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace kvrm::backend::test
