// The network's choices for a program's loads, without a model of what they gain.
#pragma once

#include <map>
#include <string>
#include <unordered_map>

#include "prefetch/freestanding/site_window.h"
#include "prefetch/simulation.h"

namespace kvrm::prefetch {

// What the network's answer means.
Choice choice_of(const neural::OracleAnswer& answer);
// Before the network is asked, and between two questions: misses of the load.
inline constexpr u64 kFirstQuestion = 64, kNextQuestion = 65536;

class Chooser {
 public:
  explicit Chooser(const neural::OracleNetwork& network) : network_(network), knowledge_(kHistoryBits) {}

  void load(const Load& load, u64 instructions);
  void store(u64 address, u64 instructions);
  const std::map<u64, Choice>& choices() const { return choices_; }

 private:
  static constexpr u32 kHistoryBits = 22;
  const neural::OracleNetwork& network_;
  CacheModel small_{kSmallBytes, kSmallWays};
  Knowledge knowledge_;
  std::unordered_map<u64, SiteWindow> windows_;
  std::map<u64, Choice> choices_;
  u64 misses_ = 0;
};

const char* name_of(Policy policy);
// False: there is no such policy.
bool parse_policy(const std::string& name, Policy& policy);

}  // namespace kvrm::prefetch
