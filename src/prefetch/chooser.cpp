#include "prefetch/chooser.h"

#include <iterator>

namespace kvrm::prefetch {
namespace {

constexpr const char* kNames[] = {"next line", "stride", "temporal", "indirect", "none"};
static_assert(std::size(kNames) == kPolicies + 1);

}  // namespace

const char* name_of(Policy policy) { return kNames[static_cast<u32>(policy)]; }

bool parse_policy(const std::string& name, Policy& policy) {
  for (u32 i = 0; i <= kPolicies; ++i) {
    if (name != kNames[i]) continue;
    policy = static_cast<Policy>(i);
    return true;
  }
  return false;
}

Choice choice_of(const neural::OracleAnswer& answer) {
  u32 family = 0, level = 0;
  for (u32 i = 1; i < kPolicies; ++i) {
    if (answer.pattern[i] > answer.pattern[family]) family = i;
  }
  for (u32 i = 1; i < kLevels; ++i) {
    if (answer.gains[i] > answer.gains[level]) level = i;
  }
  // Both have to say that it pays: the gain expected at this distance, and how often it would be right.
  if (answer.gains[level] < neural::kOracleLeastGain || answer.confidence[level] < neural::kOracleLeastConfidence)
    return {};
  return {static_cast<Policy>(family), level};
}

void Chooser::store(u64 address, u64) {
  if (!small_.find(line_of(address))) small_.insert(line_of(address), 0, false);
}

void Chooser::load(const Load& load, u64 instructions) {
  const u64 line = line_of(load.address);
  const bool missed = small_.find(line) == nullptr;
  knowledge_.observe(load, missed);
  if (!missed) return;
  small_.insert(line, 0, false);
  SiteWindow& window = windows_[load.pc];
  const Temporal& temporal = knowledge_.temporal;
  window.add(load, instructions, ++misses_,
             {temporal.knows(), temporal.was_right(), knowledge_.indirect.depends(load.pc)});
  if (window.count() != kFirstQuestion) return;
  float features[kWindow][kWindowFeatures];
  window.copy(features);
  choices_[load.pc] = choice_of(neural::ask_oracle(network_, features));
}

}  // namespace kvrm::prefetch
