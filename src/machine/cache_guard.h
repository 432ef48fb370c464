// Whether the programs of a machine may use code from the cache: what lies there is run.
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

  // Before a program starts. False: the cache is left alone from now on, by the whole machine, since its programs share
  // what is read from it. Whoever wants to know everything is told why.
  bool allows(const linux_abi::ProcessOptions& options);

 private:
  std::mutex mutex_;
  bool is_used_;
  const std::function<void(const std::string&)> notice_;
  std::optional<std::string> checked_;  // the root that was asked about last
};

}  // namespace kvrm
