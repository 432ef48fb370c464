// From plans to PTX for the GPU's driver.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "translator/gpu_choice.h"
#include "translator/lane_kind.h"

namespace kvrm::translator {

struct GpuCode {
  std::string ptx;
  std::vector<bool> made;  // for each region
};

// One thread at a time.
class GpuCompiler {
 public:
  // Null, and why, if it cannot work.
  static std::unique_ptr<GpuCompiler> create(std::string& error);
  ~GpuCompiler();

  // The regions and what they call, as one text with a table of the regions' addresses in their order, kvrm_regions. A
  // region that could not be made is null there. Empty if all of it failed. Makes each region once, however often it is
  // asked for; new ones on several threads.
  GpuCode compile(std::span<const GpuRegion> regions, LaneKind kind);

 private:
  struct Parts;
  explicit GpuCompiler(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace kvrm::translator
