// Which code of a program becomes regions on a GPU: the code with the most samples first.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "translator/gpu/translator.h"
#include "translator/plan.h"

namespace kvrm::translator {

// A region to compile, and the name of its function.
struct GpuRegion {
  Plan plan;
  std::string name;
};

class GpuChoice {
 public:
  explicit GpuChoice(const GpuLimits& limits) : limits_(limits) {}

  // As GpuTranslator::leave_loops().
  void leave_loops(std::span<const GpuCodeRange> loops);
  // As GpuTranslator::choose().
  bool choose(std::span<const SharedCode> codes, std::span<const u32> samples, u32 slice, bool default_fp_mode);
  // As GpuTranslator::resume().
  void resume(std::span<const SharedCode> codes, std::span<const u32> samples, std::span<const GpuRegionEntry> entries,
              std::span<const GpuCodeRange> ranges, bool default_fp_mode);
  const std::vector<GpuRegion>& regions() const { return regions_; }
  const std::vector<GpuRegionEntry>& entries() const { return entries_; }
  std::vector<GpuCodeRange> ranges() const;

 private:
  // A hot word.
  struct Candidate {
    u64 weight;
    u32 code, index;
    bool is_side_exit;
    u32 source;  // of side exits: the entry word of a region that was left to here, plus one; or 0
  };
  // The hottest first. Remembers which words run.
  // `all`: what all instructions weigh.
  std::vector<Candidate> add_samples(std::span<const SharedCode> codes, std::span<const u32> samples, u32 slice,
                                     u64& all);
  // `within`: only these words.
  Plan plan_at(const SharedCode& code, std::span<const u64> entry_pcs, const PlanLimits& limits,
               const std::set<u64>* within = nullptr) const;
  Plan joined_plan(const SharedCode& code, u32 index, std::span<const u64> entry_pcs, u32 region,
                   const Plan& more) const;
  u64 function_of(const SharedCode& code, u64 pc) const;
  void resume_region(std::span<const SharedCode> codes, std::span<const GpuRegionEntry> entries,
                     std::span<const GpuCodeRange> ranges);
  void add_entry(const SharedCode& code, u32 index, u64 pc, u32 region);
  // The first word of the loop around a pc.
  std::optional<u64> loop_head(const SharedCode& code, u64 pc) const;
  bool is_loop(u32 region) const;
  void add_loop(const SharedCode& code, u32 index, u64 head);
  void leave_loop(const SharedCode& code, u32 index, u64 head);
  void leave_new_loops(std::span<const SharedCode> codes);
  // may_enter: a region that holds the word may be entered there.
  void add_sampled(const SharedCode& code, u32 index, u64 pc, bool may_enter);
  void add_side_exit(const SharedCode& code, u32 index, u64 pc, std::optional<u32> source);
  bool add_entry_point(const SharedCode& code, u32 index, u64 pc, u32 region);
  bool join(const SharedCode& code, u32 index, u32 first, u32 second);
  void remove_region(u32 region);
  std::optional<u32> region_of(u32 index, u64 pc) const;
  std::optional<u32> region_entered_at(u32 word) const;
  bool grow(const SharedCode& code, u32 index, u64 entry_pc, u64 pc);
  void add_region(const SharedCode& code, u32 index, u64 entry_pc, Plan plan, u32 part);
  std::map<u32, u32> overlaps_of(u32 index, const Plan& plan) const;
  u32 words_in_others(u32 index, const Plan& plan, u32 region) const;
  std::optional<u32> most_overlapping(u32 index, const Plan& plan, u32 part) const;
  std::vector<u64> entry_pcs_of(u32 region) const;
  u32 code_of(u32 region) const;
  void set_plan(u32 region, const SharedCode& code, u32 index, Plan plan);
  void mark_l2_lookups(std::span<const SharedCode> codes, std::span<const u32> missed, u64 least);

  const GpuLimits limits_;
  std::vector<GpuRegion> regions_;
  std::vector<GpuRegionEntry> entries_;
  bool default_fp_mode_ = false;
  std::vector<bool> seen_;  // words that were ever sampled
  u32 rounds_ = 0;
  bool grown_ = false;  // some region, in this round
  std::map<u32, u32> loops_;  // by the number of the first word: the end
  std::vector<u32> new_loops_;  // their first words
  using Site = std::pair<u32, u64>;  // index of the code, and the pc: programs may lie at the same addresses
  std::map<Site, u32> region_at_;  // by entry
  struct Held {
    u32 region, round;  // the last one that holds the word, and when it was planned
  };
  std::map<Site, Held> covered_;  // words in regions
  std::set<Site> l2_sites_;  // accesses that often missed the L1 TLB
};

}  // namespace kvrm::translator
