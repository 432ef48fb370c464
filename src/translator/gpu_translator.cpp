#include "translator/gpu_translator.h"

#include <algorithm>
#include <functional>

#include "translator/gpu_choice.h"
#include "translator/gpu_compiler.h"

namespace kvrm::translator {
namespace {

class RealGpuTranslator final : public GpuTranslator {
 public:
  RealGpuTranslator(std::unique_ptr<GpuCompiler> compiler, const GpuLimits& limits)
      : compiler_(std::move(compiler)), choice_(limits) {}

  bool choose(std::span<const SharedCode> codes, std::span<const u32> heat, bool usual_float) override {
    return choice_.choose(codes, heat, usual_float);
  }

  void resume(std::span<const SharedCode> codes, std::span<const u32> heat, std::span<const GpuHead> heads,
              bool usual_float) override {
    choice_.resume(codes, heat, heads, usual_float);
  }

  GpuTranslation translate(LaneKind kind) override {
    GpuCode code = compiler_->compile(choice_.regions(), kind);
    if (code.ptx.empty() || std::ranges::none_of(code.made, std::identity{})) return {};
    GpuTranslation made{std::move(code.ptx), choice_.heads(), 0};
    for (std::size_t i = 0; i < code.made.size(); ++i) made.words += code.made[i] ? choice_.regions()[i].plan.words : 0;
    return made;
  }

 private:
  std::unique_ptr<GpuCompiler> compiler_;
  GpuChoice choice_;
};

}  // namespace

bool GpuTranslator::is_there(std::string&) { return true; }

std::unique_ptr<GpuTranslator> GpuTranslator::create(const GpuLimits& limits, std::string& error) {
  auto compiler = GpuCompiler::create(error);
  if (!compiler) return nullptr;
  return std::make_unique<RealGpuTranslator>(std::move(compiler), limits);
}

}  // namespace kvrm::translator
