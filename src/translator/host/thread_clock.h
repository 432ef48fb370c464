// Processor time of the calling thread, without waiting.
#pragma once

#include <time.h>

namespace kvrm::translator {

inline double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace kvrm::translator
