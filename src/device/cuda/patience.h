// How a thread waits for a lane: it looks again at once for a while, since an answer takes microseconds, then with
// short sleeps in between.
#pragma once

#include <chrono>
#include <thread>

#include "base/device.h"

namespace kvrm::device::cuda {

class Patience {
 public:
  // After each look that found nothing.
  void wait() {
    if (++looks_ < kLooks) {
      sync::pause(0);
    } else if (looks_ < kLooks + kYields) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kSleep);
    }
  }
  void reset() { looks_ = 0; }

 private:
  static constexpr unsigned kLooks = 500, kYields = 200;
  static constexpr std::chrono::microseconds kSleep{50};
  unsigned looks_ = 0;
};

}  // namespace kvrm::device::cuda
