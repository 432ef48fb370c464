// From plans to PTX for the GPU's driver.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "translator/gpu/choice.h"
#include "translator/gpu/lane_kind.h"

namespace kvrm::translator {

struct GpuCode {
  std::string ptx;
  std::vector<bool> made;  // for each region, whether it was compiled
};

// One thread at a time.
class GpuCompiler {
 public:
  // Null, and why, if it cannot work.
  static std::unique_ptr<GpuCompiler> create(std::string& error);
  ~GpuCompiler();

  // Compiles the regions and what they call into one text with a table of the regions' addresses, kvrm_regions. A
  // region that could not be compiled is null there. Empty if all failed. Compiles each region once, new ones on
  // several threads.
  GpuCode compile(std::span<const GpuRegion> regions, LaneKind kind);

 private:
  struct Parts;
  explicit GpuCompiler(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace kvrm::translator
