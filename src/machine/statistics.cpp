// Sums of statistics.
#include <algorithm>

#include "kvrm/types.h"

namespace kvrm {

FloatStatistics& FloatStatistics::operator+=(const FloatStatistics& more) {
  fast += more.fast;
  slow += more.slow;
  return *this;
}

DispatchStatistics& DispatchStatistics::operator+=(const DispatchStatistics& more) {
  for (std::size_t i = 0; i < routed.size(); ++i) {
    routed[i] += more.routed[i];
    for (std::size_t j = 0; j < routed.size(); ++j) confusion[i][j] += more.confusion[i][j];
  }
  return *this;
}

Tier& Tier::operator+=(const Tier& more) {
  instructions += more.instructions;
  seconds += more.seconds;
  regions += more.regions;
  words += more.words;
  distinct_words += more.distinct_words;
  translation_seconds += more.translation_seconds;
  return *this;
}

LoopStatistics& LoopStatistics::operator+=(const LoopStatistics& more) {
  const auto& [more_found, more_sampled, more_proposed, more_proved, more_left_out, more_refused, more_instructions,
               more_ranked, more_guessed, more_right, more_ranking, more_proof, more_hottest] = more;
  found += more_found;
  sampled += more_sampled;
  proposed += more_proposed;
  proved += more_proved;
  left_out += more_left_out;
  for (const auto& [reason, count] : more_refused) refused[reason] += count;
  instructions += more_instructions;
  ranked += more_ranked;
  guessed += more_guessed;
  guessed_right += more_right;
  ranking_seconds += more_ranking;
  proof_seconds += more_proof;
  hottest.insert(hottest.end(), more_hottest.begin(), more_hottest.end());
  std::ranges::sort(hottest, [](const Loop& a, const Loop& b) {
    return a.samples != b.samples ? a.samples > b.samples : a.address < b.address;
  });
  return *this;
}

Statistics& Statistics::operator+=(const Statistics& more) {
  // The binding names every member, so a new one does not compile until this function adds it.
  const auto& [more_instructions, more_shared, more_warp, more_seconds, more_calls, more_in_kernel, more_mailbox,
               more_launches, more_reason, more_jobs, more_decoded, more_invalidations, more_regions, more_cached,
               more_words, more_translation, more_link, more_tiers, more_private, more_given_up, more_loops,
               more_floats, more_dispatch, its_device, its_engine] = more;
  instructions += more_instructions;
  shared_instructions += more_shared;
  warp_instructions += more_warp;
  seconds += more_seconds;
  system_calls += more_calls;
  in_kernel_calls += more_in_kernel;
  mailbox_calls += more_mailbox;
  launches += more_launches;
  if (launches_reason.empty()) launches_reason = more_reason;
  jobs += more_jobs;
  decoded_words += more_decoded;
  code_invalidations += more_invalidations;
  regions += more_regions;
  cached_regions += more_cached;
  region_words += more_words;
  translation_seconds += more_translation;
  link_seconds += more_link;
  // Machines of one kind have the same tiers; a machine that has not run yet has none.
  if (tiers.empty()) {
    tiers = more_tiers;
  } else {
    for (std::size_t i = 0; i < std::min(tiers.size(), more_tiers.size()); ++i) tiers[i] += more_tiers[i];
  }
  private_bytes += more_private;
  for (const auto& [reason, count] : more_given_up) windows_given_up[reason] += count;
  loops += more_loops;
  if (more_floats) floats = floats.value_or(FloatStatistics{}) += *more_floats;
  dispatch += more_dispatch;
  (void)its_device;
  (void)its_engine;
  return *this;
}

}  // namespace kvrm
