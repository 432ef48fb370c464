// Regions of simulated warps, translated as for a GPU, down to the back end.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "backend/cuda/start_set.h"
#include "lane_region_compiler.h"
#include "simulated_region.h"
#include "translator/plan.h"

namespace kvrm::backend::test {

// Every access reads the L2 TLB, in regions that remember no pages.
inline void read_l2(translator::Plan& plan) {
  for (translator::PlanBlock& block : plan.blocks) {
    for (u32 i = 0; i < block.words.size(); ++i) {
      if (isa::facts(block.rows[i]).routing == isa::Class::kLoadStore) block.l2_lookups.push_back(i);
    }
  }
}

// `entries` are numbers of words.
inline std::vector<SimulatedRegion> translate(const cuda::StartSet::SharedCode& code, translator::LaneKind kind,
                                              const std::set<u64>& entries,
                                              const std::function<translator::PlanLimits()>& limits,
                                              bool default_fp_mode,
                                              u32 most_to_inline = translator::most_words_to_inline_lookups(),
                                              bool reads_l2 = false) {
  static LaneRegionCompiler compiler;
  translator::CodeView view;
  view.word = [&](u64 address) -> std::optional<u32> {
    const u64 index = (address - code.start) / 4;
    return address >= code.start && index < code.words.size() ? std::optional(code.words[index]) : std::nullopt;
  };
  view.follow = [](const auto&) { return true; };
  view.default_fp_mode = default_fp_mode;
  std::vector<SimulatedRegion> regions;
  std::vector<u64> left;
  for (const u64 entry : entries) left.push_back(code.start + entry * 4);
  while (!left.empty()) {
    const translator::PlanLimits these = limits();
    std::vector<u64> together;  // where no code is there twice, a few are the ways into one region
    for (u32 i = 0; !left.empty() && i < (these.once ? 3u : 1u); ++i) {
      together.push_back(left.back());
      left.pop_back();
    }
    translator::Plan plan = translator::make_plan(together, view, these);
    if (reads_l2) read_l2(plan);
    const u64 made = plan.blocks.empty() ? 0 : compiler.compile(plan, kind, most_to_inline);
    for (u32 i = 0; made != 0 && i < together.size(); ++i)
      regions.push_back({together[i], {}, made, plan.from(), plan.until(), i});
  }
  return regions;
}

}  // namespace kvrm::backend::test
