// Translated code for lanes on a CUDA device: a machine's options become the policy's settings, a lane set its device.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/cuda/lane_set.h"
#include "kvrm/result.h"
#include "kvrm/types.h"
#include "machine/dispatch_options.h"
#include "machine/gpu_loops.h"
#include "translator/gpu/policy.h"

namespace kvrm {

// Lanes on `gpu`, whose kernel is the one without regions.
std::unique_ptr<translator::GpuDevice> make_target(backend::cuda::GpuPointer gpu, backend::cuda::LaneSet& set);

// translator::GpuPolicy with the machine's types; its functions are described there.
class GpuRegions {
 public:
  struct Settings {
    translator::GpuPolicy::Settings policy;
    std::string reason;  // for Statistics::launches_reason
  };
  // Null if the options or this build leave everything to the interpreter. Options::notice says why.
  static std::unique_ptr<GpuRegions> create(const Options& options, const DispatchOptions& dispatch,
                                            const backend::cuda::Gpu& gpu);
  explicit GpuRegions(Settings settings) : reason_(std::move(settings.reason)), policy_(std::move(settings.policy)) {}
  Settings settings() const { return {policy_.settings(), reason_}; }
  // Loops that are left to bulk steps.
  void use_loops(GpuLoops* loops);
  bool has_cache() const { return !policy_.settings().folder.path().empty(); }
  void leave_cache() { policy_.leave_cache(); }

  Result<void> begin(std::unique_ptr<translator::GpuDevice> device, std::vector<translator::SharedCode> codes,
                     std::vector<std::shared_ptr<const memory::Image>> images, const std::atomic<bool>* cancel);
  bool expects() const { return policy_.expects(); }
  Result<void> expect(std::span<const u32> words, const std::atomic<bool>* cancel);
  backend::cuda::LaneSet::Slice next(std::chrono::milliseconds limit) const;
  Result<backend::cuda::LaneSet::Slice> paused(std::chrono::milliseconds limit, const std::atomic<bool>* cancel);
  Result<void> settle(const std::atomic<bool>* cancel);

  bool has_failed() const { return policy_.has_failed(); }
  void add_to(Statistics& statistics) const;

 private:
  const std::string reason_;
  translator::GpuPolicy policy_;
  GpuLoops* loops_ = nullptr;
};

}  // namespace kvrm
