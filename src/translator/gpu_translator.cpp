#include "translator/gpu_translator.h"

#include <algorithm>
#include <functional>

#include "translator/gpu_choice.h"
#include "translator/gpu_compiler.h"

namespace kvrm::translator {
namespace {

class RealGpuTranslator final : public GpuTranslator {
 public:
  explicit RealGpuTranslator(const GpuLimits& limits) : choice_(limits) {}

  bool choose(std::span<const SharedCode> codes, std::span<const u32> heat, bool usual_float) override {
    return choice_.choose(codes, heat, usual_float);
  }

  void resume(std::span<const SharedCode> codes, std::span<const u32> heat, std::span<const GpuHead> heads,
              std::span<const GpuStretch> stretches, bool usual_float) override {
    choice_.resume(codes, heat, heads, stretches, usual_float);
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
    made.heads = choice_.heads();
    made.stretches = choice_.stretches();
    for (std::size_t i = 0; i < code.made.size(); ++i) made.words += code.made[i] ? choice_.regions()[i].plan.words : 0;
    return made;
  }

 private:
  std::unique_ptr<GpuCompiler> compiler_;  // null until something is to be made: it takes milliseconds
  GpuChoice choice_;
};

}  // namespace

bool GpuTranslator::is_there(std::string&) { return true; }

std::unique_ptr<GpuTranslator> GpuTranslator::create(const GpuLimits& limits) {
  return std::make_unique<RealGpuTranslator>(limits);
}

}  // namespace kvrm::translator
