#include "machine/prefetch_options.h"

#include <algorithm>
#include <bit>

#include "prefetch/chooser.h"

namespace kvrm {

const char* to_string(Prefetch prefetch) {
  switch (prefetch) {
    case Prefetch::kOff: return "off";
    case Prefetch::kCounters: return "counters";
    case Prefetch::kNetwork: return "network";
  }
  return "unknown";
}

Result<std::vector<prefetch::SiteChoice>> site_choices(const NeuralOptions& options) {
  if (options.prefetch != Prefetch::kNetwork) {
    if (options.prefetch_choices.empty()) return std::vector<prefetch::SiteChoice>{};
    return Error{"choices of prefetches need prefetch 'network'"};
  }
  if (options.prefetch_choices.empty())
    return Error{"prefetch 'network' needs the network's choices for the program (kvrm models prefetch)"};
  std::vector<prefetch::SiteChoice> choices;
  for (const PrefetchChoice& given : options.prefetch_choices) {
    prefetch::SiteChoice choice{given.pc, {}};
    if (!prefetch::parse_policy(given.policy, choice.choice.policy))
      return Error{"there is no prefetch policy '" + given.policy + "'"};
    if (!std::has_single_bit(given.distance) || given.distance > prefetch::distance_of(prefetch::kLevels - 1))
      return Error{"a prefetch distance is a power of two up to 128, not " + std::to_string(given.distance)};
    choice.choice.level = static_cast<u32>(std::countr_zero(given.distance));
    choices.push_back(choice);
  }
  std::ranges::sort(choices, {}, &prefetch::SiteChoice::pc);
  return choices;
}

}  // namespace kvrm
