#include "machine/statistics.h"

#include "machine/dispatching.h"

namespace kvrm {
namespace {

void add(std::optional<FloatStatistics>& to, const std::optional<FloatStatistics>& more) {
  if (!more) return;
  if (!to) to.emplace();
  to->fast += more->fast;
  to->slow += more->slow;
}

}  // namespace

void add(Statistics& to, const Statistics& more) {
  // Every member has a name here, so that a new one does not compile until it is added below.
  const auto& [instructions, shared_instructions, seconds, system_calls, in_kernel_calls, mailbox_calls, launches,
               launches_reason, jobs, decoded_words, code_invalidations, regions, cached_regions, region_words,
               translation_seconds, link_seconds, private_bytes, floats, dispatch, device, engine] = more;
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
  to.private_bytes += private_bytes;
  add(to.floats, floats);
  add(to.dispatch, dispatch);
  (void)device;
  (void)engine;
}

}  // namespace kvrm
