// What the GPU's region policy asks of a device. The machine implements it for CUDA, tests implement it for themselves.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/types.h"
#include "translator/gpu/lane_kind.h"

namespace kvrm::translator {

// Why the device failed; none if it did not.
using DeviceError = std::optional<std::string>;

// A kernel with regions linked to it, loaded onto the device, which knows its real type.
using LoadedKernel = std::shared_ptr<const void>;

// A region entry as a device installs it (interpreter/freestanding/lane_region.h).
struct InstalledRegion {
  u32 function;  // number in the kernel's table
  u64 start;  // address of the code that holds the region
  u32 words;  // of that code
  u32 word;  // the entry's number among all words
  u32 from, until;  // the region's words, counted from `start`
  u32 entry_point;
  u32 most;  // instructions per call
};

class GpuDevice {
 public:
  virtual ~GpuDevice() = default;
  virtual LaneKind kind() const = 0;
  // How often lanes were sampled at each word since the last call.
  virtual DeviceError samples(std::vector<u32>& samples) = 0;
  // Whether FPCR is zero and inexact sticky in most lanes.
  virtual DeviceError default_fp_mode(bool& holds) = 0;
  // A compiler's thread calls this, and it may outlive the lanes.
  virtual DeviceError link(const std::string& ptx, std::vector<std::byte>& image) = 0;
  virtual DeviceError load(std::span<const std::byte> image, LoadedKernel& kernel) = 0;
  // The lanes continue with these regions.
  virtual DeviceError install(const LoadedKernel& kernel, std::span<const InstalledRegion> regions) = 0;
};

}  // namespace kvrm::translator
