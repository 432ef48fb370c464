// Regions as GPUs have them, made for this host: the same plan, frame, rows and passes, and the host's back end. They
// run on simulated warps.
#pragma once

#include <memory>

#include "translator/gpu/inline_words.h"
#include "translator/gpu/lane_kind.h"
#include "translator/plan.h"

namespace llvm {
class Function;
}

namespace kvrm::backend::test {

// What runs in regions: instructions of LLVM's, conditional branches among them, and accesses to memory.
struct LaneRegionCounts {
  u64 instructions = 0, branches = 0, loads = 0, stores = 0;
};

class LaneRegionCompiler {
 public:
  // `counts`: code counts there what it does, and loops are unrolled where a GPU's are; else everywhere.
  explicit LaneRegionCompiler(LaneRegionCounts* counts = nullptr);
  ~LaneRegionCompiler();
  // A function u64(ResidentLane*, u32 budget, u32 entry_point) that returns the trap and, above it, what is left; 0 if
  // there is none.
  u64 compile(const translator::Plan& plan, translator::LaneKind kind,
              u32 most_to_inline = translator::most_words_to_inline_lookups());

 private:
  void add_counters(llvm::Function& region) const;

  struct Parts;
  LaneRegionCounts* const counts_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace kvrm::backend::test
