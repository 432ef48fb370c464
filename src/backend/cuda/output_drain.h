// The host's end of the output ring: consumes the records in order.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "backend/kernel/output_ring.h"

namespace kvrm::backend::cuda {

class OutputDrain {
 public:
  using Sink = std::function<void(u32 job, kernel::Stream stream, std::span<const u8> bytes)>;

  // The ring as the host sees it; head and known_tail are not used. For one thread at a time.
  explicit OutputDrain(const kernel::OutputRing& ring) : ring_(ring), tail_(*ring.tail) {}

  // Passes every record that is ready to the sink and returns their number. Stops at the first that is not ready, even
  // if later ones are: a lane's output stays in order. Stops after `limit` records too.
  u64 drain(const Sink& sink, u64 limit = ~u64{0});

  // True after an invalid record, which only a broken device can write. Nothing is read after that.
  bool broken() const { return broken_; }
  // The sink has got everything before this position (kernel::OutputProgress::end).
  u64 position() const { return tail_; }

 private:
  kernel::OutputRing ring_;
  u64 tail_;
  bool broken_ = false;
  std::vector<u64> unwrapped_;
};

}  // namespace kvrm::backend::cuda
