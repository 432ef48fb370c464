// Translated code for lanes on a GPU: finds out in short launches where the lanes are, translates that, and lets them
// go on with it.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <vector>

#include "device/cuda/lane_set.h"
#include "kvrm/machine.h"
#include "kvrm/result.h"
#include "translator/gpu_translator.h"

namespace kvrm {

class GpuRegions {
 public:
  // Not finished: only who asks for it in the environment gets it (docs/translator.md).
  static bool is_wanted();
  // Null if the options ask for the interpreter, or nobody wants it.
  static Result<std::unique_ptr<GpuRegions>> create(const Options& options);

  // The set has been given these programs and has not run yet. `gpu` is the one without regions.
  Result<void> begin(device::cuda::GpuPointer gpu, device::cuda::LaneSet& set, const device::cuda::StartSet& starts);
  // How the next launch is to be; the first is asked for before it, the others when one was cut short.
  device::cuda::LaneSet::Slice first() const;
  Result<device::cuda::LaneSet::Slice> paused(device::cuda::LaneSet& set, std::chrono::milliseconds usual);

  void add_to(Statistics& statistics) const;

 private:
  explicit GpuRegions(std::unique_ptr<translator::GpuTranslator> translator) : translator_(std::move(translator)) {}
  Result<void> translate(device::cuda::LaneSet& set);

  std::unique_ptr<translator::GpuTranslator> translator_;
  device::cuda::GpuPointer gpu_;
  std::vector<std::shared_ptr<const memory::Image>> images_;  // keep the words alive
  std::vector<translator::SharedCode> codes_;
  unsigned round_ = 0;
  u64 regions_ = 0, words_ = 0;
  double seconds_ = 0, link_seconds_ = 0;
};

}  // namespace kvrm
