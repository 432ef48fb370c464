#include "translator/gpu_translator.h"

#include <algorithm>
#include <cstdio>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "translator/gpu_compiler.h"
#include "translator/plan.h"

namespace kvrm::translator {
namespace {

constexpr u64 kWordBytes = 4;

class RealGpuTranslator final : public GpuTranslator {
 public:
  RealGpuTranslator(std::unique_ptr<GpuCompiler> compiler, const GpuLimits& limits)
      : compiler_(std::move(compiler)), limits_(limits) {}

  bool choose(std::span<const SharedCode> codes, std::span<const u32> heat, bool usual_float) override {
    usual_float_ = usual_float;
    struct Place {
      u32 heat, code, index;
    };
    std::vector<Place> places;
    u64 all = 0;
    for (u32 code = 0; code < codes.size(); ++code) {
      for (u32 i = 0; i < codes[code].words.size(); ++i) {
        const u32 found = heat[codes[code].entry + i];
        all += found;
        if (found >= limits_.fewest) places.push_back({found, code, i});
      }
    }
    std::ranges::sort(places, [](const Place& a, const Place& b) {
      return std::tie(b.heat, a.code, a.index) < std::tie(a.heat, b.code, b.index);
    });
    const std::size_t before = regions_.size();
    for (const Place& place : places) {
      if (regions_.size() >= limits_.regions || regions_.size() >= before + limits_.regions_a_round) break;
      if (u64{place.heat} * limits_.smallest_share < all) break;
      add(codes[place.code], place.code, place.index, place.heat);
    }
    return regions_.size() > before;
  }

  GpuTranslation translate(bool alone) override {
    GpuCode code = compiler_->compile(regions_, alone);
    if (code.ptx.empty()) return {};
    GpuTranslation made{std::move(code.ptx), heads_, 0};
    for (const GpuRegion& region : regions_) made.words += region.plan.words;
    return made;
  }

 private:
  void add(const SharedCode& code, u32 number, u32 index, u32 heat) {
    const u64 head = code.start + index * kWordBytes;
    if (!known_.insert(head).second) return;
    // Where a region passes, another one is worth it only if lanes are often found there, say at a loop's head.
    const auto covered = covered_.find(head);
    if (covered != covered_.end() && u64{heat} * 8 < covered->second) return;
    CodeView view;
    view.word = [&](u64 address) -> std::optional<u32> {
      const u64 at = (address - code.start) / kWordBytes;
      return address >= code.start && at < code.words.size() ? std::optional(code.words[at]) : std::nullopt;
    };
    view.follow = [](u64) { return true; };
    view.usual_float = usual_float_;
    Plan plan = make_plan(head, view, {.blocks = limits_.blocks, .words = limits_.words, .calls = limits_.calls});
    if (plan.blocks.empty()) return;
    for (const PlanBlock& block : plan.blocks) {
      for (u32 i = 0; i < block.words.size(); ++i) covered_.emplace(block.address + i * kWordBytes, heat);
    }
    char name[64];
    std::snprintf(name, sizeof name, "kvrm_region_%llx", head);
    regions_.push_back({std::move(plan), name});
    heads_.push_back({head, number, code.entry + index});
  }

  std::unique_ptr<GpuCompiler> compiler_;
  const GpuLimits limits_;
  bool usual_float_ = false;
  std::vector<GpuRegion> regions_;
  std::vector<GpuHead> heads_;
  std::unordered_set<u64> known_;                // places that were looked at
  std::unordered_map<u64, u32> covered_;         // words in regions, with the heat of the region's head
};

}  // namespace

std::unique_ptr<GpuTranslator> GpuTranslator::create(const GpuLimits& limits, std::string& error) {
  auto compiler = GpuCompiler::create(error);
  if (!compiler) return nullptr;
  return std::make_unique<RealGpuTranslator>(std::move(compiler), limits);
}

}  // namespace kvrm::translator
