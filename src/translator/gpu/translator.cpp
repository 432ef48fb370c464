#include "translator/gpu/translator.h"

#include <algorithm>
#include <functional>

#include "translator/gpu/choice.h"
#include "translator/gpu/compiler.h"

namespace kvrm::translator {
namespace {

class RealGpuTranslator final : public GpuTranslator {
 public:
  explicit RealGpuTranslator(const GpuLimits& limits) : choice_(limits) {}

  void leave_loops(std::span<const GpuCodeRange> loops) override { choice_.leave_loops(loops); }

  bool choose(std::span<const SharedCode> codes, std::span<const u32> samples, u32 slice,
              bool default_fp_mode) override {
    return choice_.choose(codes, samples, slice, default_fp_mode);
  }

  void resume(std::span<const SharedCode> codes, std::span<const u32> samples, std::span<const GpuRegionEntry> entries,
              std::span<const GpuCodeRange> ranges, bool default_fp_mode) override {
    choice_.resume(codes, samples, entries, ranges, default_fp_mode);
  }

  u64 words() const override {
    u64 sum = 0;
    for (const GpuRegion& region : choice_.regions()) sum += region.plan.words;
    return sum;
  }

  GpuTranslation translate(LaneKind kind) override {
    GpuTranslation made;
    made.error = "the translator failed";
    if (!compiler_) compiler_ = GpuCompiler::create(made.error);
    if (!compiler_) return made;
    GpuCode code = compiler_->compile(choice_.regions(), kind);
    if (code.ptx.empty() || std::ranges::none_of(code.made, std::identity{})) return made;
    made.ptx = std::move(code.ptx);
    made.entries = choice_.entries();
    made.ranges = choice_.ranges();
    for (std::size_t i = 0; i < code.made.size(); ++i) made.words += code.made[i] ? choice_.regions()[i].plan.words : 0;
    return made;
  }

 private:
  std::unique_ptr<GpuCompiler> compiler_;  // null until needed: creating it takes milliseconds
  GpuChoice choice_;
};

}  // namespace

bool GpuTranslator::is_there(std::string&) { return true; }

std::unique_ptr<GpuTranslator> GpuTranslator::create(const GpuLimits& limits) {
  return std::make_unique<RealGpuTranslator>(limits);
}

}  // namespace kvrm::translator
