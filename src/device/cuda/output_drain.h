// The host's end of the output ring: takes the records out in order.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "device/lanes/output_ring.h"

namespace kvrm::device::cuda {

class OutputDrain {
 public:
  using Sink = std::function<void(u32 job, lanes::Stream stream, std::span<const u8> bytes)>;

  // The ring as the host sees it; of head and known_tail nothing is used. For one thread at a time.
  explicit OutputDrain(const lanes::OutputRing& ring) : ring_(ring), tail_(*ring.tail) {}

  // Gives the sink every record that is ready and returns how many there were. Stops at the first that is not, even if
  // others behind it are: a lane's output stays in order. With a limit it stops there too.
  u64 drain(const Sink& sink, u64 limit = ~u64{0});

  // True once a record made no sense, which only a broken device can bring about. Nothing is read after that.
  bool broken() const { return broken_; }
  // Everything before this position has been given to the sink (lanes::OutputProgress::end).
  u64 position() const { return tail_; }

 private:
  lanes::OutputRing ring_;
  u64 tail_;
  bool broken_ = false;
  std::vector<u64> unwrapped_;
};

}  // namespace kvrm::device::cuda
