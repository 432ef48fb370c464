// Which process made a machine. A fork has a copy of its memory, but none of its threads, and no part in its GPU; locks
// may be held for ever there.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

#include "kvrm/result.h"

namespace kvrm {

class Origin {
 public:
  Origin();  // this process

  bool is_here() const { return forks_ == forks.load(std::memory_order_relaxed); }
  // An error in a fork.
  Result<void> check() const;

 private:
  static std::atomic<std::uint64_t> forks;  // how many lie between this process and the one that loaded the library
  const std::uint64_t forks_ = forks.load(std::memory_order_relaxed);
  const pid_t process_;
};

}  // namespace kvrm
