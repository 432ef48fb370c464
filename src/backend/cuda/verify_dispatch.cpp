#include "backend/cuda/verify_dispatch.h"

#include "backend/cuda/driver.h"
#include "backend/cuda/images.h"

namespace kvrm::backend::cuda {

Result<dispatch::Tally> verify_dispatch(int ordinal, const neural::DispatchNetwork& network,
                                        const std::function<void(double share)>& progress) {
  const std::span<const std::byte> code = verify_ptx();
  if (code.empty()) return no_code_error();
  auto driver = Driver::instance();
  if (!driver) return driver.error();
  auto context = Context::open(*driver, ordinal);
  if (!context) return context.error();
  auto module = Module::load(*context, code);
  if (!module) return module.error();
  auto kernel = module->function("kvrm_verify_dispatch");
  if (!kernel) return kernel.error();
  auto stream = Stream::create(*context);
  if (!stream) return stream.error();
  auto weights = DeviceBuffer::allocate(*context, sizeof(network), "the dispatch network");
  if (!weights) return weights.error();
  auto result = DeviceBuffer::allocate(*context, sizeof(dispatch::Tally), "the result");
  if (!result) return result.error();
  dispatch::Tally tally = dispatch::kNothing;
  if (auto done = stream->upload(weights->address(), &network, sizeof(network)); !done) return done.error();
  if (auto done = stream->upload(result->address(), &tally, sizeof(tally)); !done) return done.error();

  // In slices, for GPUs whose driver limits a kernel's time, and to say how far it is.
  constexpr u64 kWords = u64{1} << 32, kSlice = u64{1} << 28;
  constexpr unsigned kThreads = 256;
  const unsigned blocks = 8 * static_cast<unsigned>((*context)->properties().multiprocessors);
  for (u64 first = 0; first < kWords; first += kSlice) {
    if (auto done = kernel->launch(*stream, {.grid = blocks, .block = kThreads}, weights->address(), result->address(),
                                   first, kSlice);
        !done)
      return done.error();
    if (auto done = stream->wait(); !done) return done.error();
    if (progress) progress(static_cast<double>(first + kSlice) / static_cast<double>(kWords));
  }
  if (auto done = stream->download(&tally, result->address(), sizeof(tally)); !done) return done.error();
  if (auto done = stream->wait(); !done) return done.error();
  return tally;
}

}  // namespace kvrm::backend::cuda
