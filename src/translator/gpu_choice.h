// Which code of a program becomes regions on a GPU: where lanes were found, the hottest first.
#pragma once

#include <map>
#include <optional>
#include <set>
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
  // As GpuTranslator::resume().
  void resume(std::span<const SharedCode> codes, std::span<const u32> heat, std::span<const GpuHead> heads,
              std::span<const GpuStretch> stretches, bool usual_float);
  const std::vector<GpuRegion>& regions() const { return regions_; }
  const std::vector<GpuHead>& heads() const { return heads_; }
  std::vector<GpuStretch> stretches() const;

 private:
  // Places worth a look, the hottest first; and that all have been seen.
  struct Place {
    u64 weight;
    u32 code, index;
    bool is_way_out;
  };
  std::vector<Place> take_in(std::span<const SharedCode> codes, std::span<const u32> heat, u64& all);
  // `within`: of these words only.
  Plan plan_at(const SharedCode& code, std::span<const u64> heads, const PlanLimits& limits,
               const std::set<u64>* within = nullptr) const;
  Plan joined_plan(const SharedCode& code, u32 number, std::span<const u64> heads, u32 region, const Plan& more) const;
  u64 function_of(const SharedCode& code, u64 place) const;
  void add(const SharedCode& code, u32 number, u32 index);
  bool grow(const SharedCode& code, u32 number, u64 head, u64 place);
  void make(const SharedCode& code, u32 number, u64 head, Plan plan, u32 part);
  std::map<u32, u32> shared_with(u32 number, const Plan& plan) const;
  u32 in_others(u32 number, const Plan& plan, u32 region) const;
  std::optional<u32> most_alike(u32 number, const Plan& plan, u32 part) const;
  std::vector<u64> heads_of(u32 region) const;
  void put(u32 region, const SharedCode& code, u32 number, Plan plan);
  void mark_far(std::span<const SharedCode> codes, std::span<const u32> missed, u64 least);

  const GpuLimits limits_;
  std::vector<GpuRegion> regions_;
  std::vector<GpuHead> heads_;
  bool usual_float_ = false;
  std::vector<bool> seen_;                        // words at which a lane was ever found
  u32 rounds_ = 0;
  bool grown_ = false;                    // in this round, some region
  using Where = std::pair<u32, u64>;  // which code, and the address there: programs may lie at the same addresses
  std::map<Where, u32> known_;        // heads, and their regions
  struct Held {
    u32 region, round;  // the last one that holds it, and when it was put there
  };
  std::map<Where, Held> covered_;  // words in regions
  std::set<Where> far_;            // words whose accesses regions could often not do
};

}  // namespace kvrm::translator
