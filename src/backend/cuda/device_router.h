// A router whose network and counts are on a GPU.
#pragma once

#include "backend/cuda/driver.h"
#include "dispatch/router.h"

namespace kvrm::backend::cuda {

class DeviceRouter {
 public:
  // `network` may be null where the table alone decides.
  static Result<DeviceRouter> create(const ContextPointer& context, dispatch::Mode mode,
                                     const neural::DispatchNetwork* network);

  dispatch::Router router() const;        // with addresses of the device
  Result<dispatch::Counts> counts() const;  // between launches

 private:
  dispatch::Mode mode_ = dispatch::Mode::kTable;
  Stream stream_;
  DeviceBuffer network_, counts_;
};

}  // namespace kvrm::backend::cuda
