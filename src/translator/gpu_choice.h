// Which code of a program becomes regions on a GPU: where lanes were found, the hottest first.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "translator/gpu_translator.h"
#include "translator/plan.h"

namespace kvrm::translator {

// A region to be made, and the name of its function.
struct GpuRegion {
  Plan plan;
  std::string name;
};

class GpuChoice {
 public:
  explicit GpuChoice(const GpuLimits& limits) : limits_(limits) {}

  // As GpuTranslator::choose().
  bool choose(std::span<const SharedCode> codes, std::span<const u32> heat, bool usual_float);
  const std::vector<GpuRegion>& regions() const { return regions_; }
  const std::vector<GpuHead>& heads() const { return heads_; }

 private:
  Plan plan_at(const SharedCode& code, u64 head, u32 share = 1) const;  // of the limits
  u64 function_of(const SharedCode& code, u64 place) const;
  void add(const SharedCode& code, u32 number, u32 index);
  bool grow(const SharedCode& code, u32 number, u64 head, u64 place);
  void make(const SharedCode& code, u32 number, u64 head, Plan plan);
  void put(u32 region, u32 number, u64 head, Plan plan);

  const GpuLimits limits_;
  std::vector<GpuRegion> regions_;
  std::vector<GpuHead> heads_;
  bool usual_float_ = false;
  std::vector<bool> seen_;                        // words at which a lane was ever found
  u32 rounds_ = 0;
  bool grown_ = false;                    // in this round, some region
  using Where = std::pair<u32, u64>;  // which code, and the address there: programs may lie at the same addresses
  std::map<Where, u32> known_;        // heads, and their regions
  std::map<Where, u32> covered_;      // words in regions, and the round in which they were put there
};

}  // namespace kvrm::translator
