// How programs ended, counted: "990 exit 0, 10 signal 11 (Segmentation fault)".
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "kvrm/jobs.h"

namespace kvrm::cli {

// "exit 0", "signal 11 (Segmentation fault)", "not started".
std::string ending_of(const JobResult& result);

class Endings {
 public:
  void add(const std::string& ending) { ++counts_[ending]; }
  bool all_alike() const { return counts_.size() <= 1; }
  const std::map<std::string, std::uint64_t>& counts() const { return counts_; }
  std::string text() const;  // the most frequent first

 private:
  std::map<std::string, std::uint64_t> counts_;
};

}  // namespace kvrm::cli
