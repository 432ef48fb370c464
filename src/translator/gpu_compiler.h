// From plans to PTX for the GPU's driver.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "translator/plan.h"

namespace kvrm::translator {

// A region to be made, and the name of its function, which interpreter/lane_regions.h declares.
struct GpuRegion {
  Plan plan;
  std::string name;
};

// One thread at a time.
class GpuCompiler {
 public:
  // Null, and why, if it cannot work.
  static std::unique_ptr<GpuCompiler> create(std::string& error);
  ~GpuCompiler();

  // The regions and what they call, as one text. Its last part is a table of the regions' addresses in their order,
  // kvrm_regions; a region that could not be made is null there. `alone`: for lanes that have their warp for themselves.
  std::string ptx(std::span<const GpuRegion> regions, bool alone);

 private:
  struct Parts;
  explicit GpuCompiler(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace kvrm::translator
