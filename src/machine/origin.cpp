#include "machine/origin.h"

#include <pthread.h>
#include <unistd.h>

#include <string>

namespace kvrm {

std::atomic<std::uint64_t> Origin::forks = 0;

// A count that forks change costs a load where getpid() is a system call.
Origin::Origin() : process_(::getpid()) {
  [[maybe_unused]] static const int once = ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1); });
}

Result<void> Origin::check() const {
  if (is_here()) return {};
  return Error{"the machine belongs to process " + std::to_string(process_) + ", and process " +
               std::to_string(::getpid()) + " is a fork of it: make another machine here"};
}

}  // namespace kvrm
