#include "machine/statistics.h"

#include <algorithm>

#include "machine/dispatching.h"

namespace kvrm {
namespace {

void add(std::optional<FloatStatistics>& to, const std::optional<FloatStatistics>& more) {
  if (!more) return;
  if (!to) to.emplace();
  to->fast += more->fast;
  to->slow += more->slow;
}

// Machines of one kind have the same tiers; one that has not run yet has none.
void add(std::vector<Tier>& to, const std::vector<Tier>& more) {
  if (to.empty()) {
    to = more;
    return;
  }
  for (std::size_t i = 0; i < std::min(to.size(), more.size()); ++i) {
    const auto& [name, instructions, seconds, regions, words, distinct_words, translation_seconds] = more[i];
    (void)name;
    to[i].instructions += instructions;
    to[i].seconds += seconds;
    to[i].regions += regions;
    to[i].words += words;
    to[i].distinct_words += distinct_words;
    to[i].translation_seconds += translation_seconds;
  }
}

}  // namespace

void add(Statistics& to, const Statistics& more) {
  // Every member has a name here, so that a new one does not compile until it is added below.
  const auto& [instructions, shared_instructions, seconds, system_calls, in_kernel_calls, mailbox_calls, launches,
               launches_reason, jobs, decoded_words, code_invalidations, regions, cached_regions, region_words,
               translation_seconds, link_seconds, tiers, private_bytes, floats, dispatch, device, engine] = more;
  to.instructions += instructions;
  to.shared_instructions += shared_instructions;
  to.seconds += seconds;
  to.system_calls += system_calls;
  to.in_kernel_calls += in_kernel_calls;
  to.mailbox_calls += mailbox_calls;
  to.launches += launches;
  if (to.launches_reason.empty()) to.launches_reason = launches_reason;
  to.jobs += jobs;
  to.decoded_words += decoded_words;
  to.code_invalidations += code_invalidations;
  to.regions += regions;
  to.cached_regions += cached_regions;
  to.region_words += region_words;
  to.translation_seconds += translation_seconds;
  to.link_seconds += link_seconds;
  add(to.tiers, tiers);
  to.private_bytes += private_bytes;
  add(to.floats, floats);
  add(to.dispatch, dispatch);
  (void)device;
  (void)engine;
}

}  // namespace kvrm
