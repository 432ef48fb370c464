// Decides whether the programs of a machine may use the code cache, whose contents are run.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "linux/process.h"

namespace kvrm {

class CacheGuard {
 public:
  explicit CacheGuard(bool is_used, std::function<void(const std::string&)> notice)
      : is_used_(is_used), notice_(std::move(notice)) {}

  // Call it before a program starts. False: from now on the whole machine ignores the cache, because its programs share
  // the code read from it. A verbose program gets the reason as a notice.
  bool allows(const linux_abi::ProcessOptions& options);

 private:
  std::mutex mutex_;
  bool is_used_;
  const std::function<void(const std::string&)> notice_;
  std::optional<std::string> checked_;  // the last root
};

}  // namespace kvrm
