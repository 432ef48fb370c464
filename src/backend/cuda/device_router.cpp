#include "backend/cuda/device_router.h"

namespace kvrm::backend::cuda {

Result<DeviceRouter> DeviceRouter::create(const ContextPointer& context, dispatch::Mode mode,
                                          const neural::DispatchNetwork* network) {
  DeviceRouter result;
  result.mode_ = mode;
  auto stream = Stream::create(context);
  if (!stream) return stream.error();
  result.stream_ = std::move(*stream);
  const std::size_t bytes = network ? sizeof(*network) : 0;
  auto weights = DeviceBuffer::allocate(context, bytes, "the dispatch network");
  if (!weights) return weights.error();
  result.network_ = std::move(*weights);
  auto counts = DeviceBuffer::allocate(context, sizeof(dispatch::Counts), "the dispatch counts");
  if (!counts) return counts.error();
  result.counts_ = std::move(*counts);
  if (auto done = result.stream_.upload(result.network_.address(), network, bytes); !done) return done.error();
  if (auto done = result.stream_.fill(result.counts_.address(), 0, sizeof(dispatch::Counts)); !done)
    return done.error();
  if (auto done = result.stream_.wait(); !done) return done.error();
  return result;
}

dispatch::Router DeviceRouter::router() const {
  return {mode_, reinterpret_cast<const neural::DispatchNetwork*>(network_.address()),
          reinterpret_cast<dispatch::Counts*>(counts_.address())};
}

Result<dispatch::Counts> DeviceRouter::counts() const {
  dispatch::Counts counts{};
  if (auto done = stream_.download(&counts, counts_.address(), sizeof(counts)); !done) return done.error();
  if (auto done = stream_.wait(); !done) return done.error();
  return counts;
}

}  // namespace kvrm::backend::cuda
