// Jobs that end, and jobs that take too long, while a kernel runs them.
#include <algorithm>

#include "device/cuda/lane_set.h"

namespace kvrm::device::cuda {

// Brings over the ends of the jobs that finished since the last time. They stay in `numbers` until all of their output
// is here, which may take a moment: it may lie behind that of a lane in the middle of a write.
Result<void> LaneSet::collect_ends(const Hooks& hooks, Seen& seen, bool all_ended) {
  constexpr u32 kFew = 32;
  std::vector<u32>& numbers = seen.numbers;
  while (seen.ends < job_count_) {
    const u32 number = sync::load<sync::kAcquire, sync::kSystem>(finished_.as<u32>() + seen.ends);
    if (number == 0) break;
    numbers.push_back(number - 1);
    ++seen.ends;
  }
  if (numbers.empty()) return {};
  const auto fetch = [&](u32 first, u32 last) {
    return copies_.download(&ends_[first], job_ends_.address() + first * sizeof(lanes::JobEnd),
                            u64{last - first + 1} * sizeof(lanes::JobEnd));
  };
  if (numbers.size() <= kFew) {
    for (const u32 number : numbers) {
      if (auto done = fetch(number, number); !done) return done;
    }
  } else {
    const auto [first, last] = std::ranges::minmax(numbers);
    if (auto done = fetch(first, last); !done) return done;
  }
  if (auto done = copies_.wait(); !done) return done;
  u64 output_end = 0;
  for (const u32 number : numbers) output_end = std::max(output_end, ends_[number].output_end);
  if (!drain_output(output_end) && !all_ended) return {};
  hooks.finished(numbers);
  numbers.clear();
  return {};
}

// May be asked while the kernel runs: a moment later it may be another.
Result<std::vector<u32>> LaneSet::jobs_of_lanes() const {
  std::vector<u32> jobs(plan_.lanes);
  const DeviceAddress from = lanes_.address() + offsetof(lanes::Lane, job);
  if (auto done = copies_.download_rows(jobs.data(), from, sizeof(lanes::Lane), sizeof(u32), jobs.size()); !done)
    return done.error();
  if (auto done = copies_.wait(); !done) return done.error();
  return jobs;
}

// Lanes hear nothing alone: all pause, so that those with an overdue job can be stopped.
Result<void> LaneSet::find_overdue(const Hooks& hooks, JobClock& clock, std::chrono::nanoseconds now, Seen& seen) {
  auto jobs = jobs_of_lanes();
  if (!jobs) return jobs.error();
  for (const JobClock::Overdue& one : clock.look(*jobs, now)) {
    seen.overdue.push_back(one);
    hooks.overdue(one.job);
  }
  if (!seen.overdue.empty()) ask(lanes::kPause);
  return {};
}

// Between launches: lanes whose job is overdue have used up their budget. They finish a call they are in the middle of,
// and take the next job.
Result<void> LaneSet::stop_overdue(Seen& seen) {
  if (seen.overdue.empty()) return {};
  auto jobs = jobs_of_lanes();
  if (!jobs) return jobs.error();
  const u64 nothing = 0;
  for (const auto& [lane, job] : seen.overdue) {
    if ((*jobs)[lane] != job) continue;
    const DeviceAddress to = lanes_.address() + lane * sizeof(lanes::Lane) + offsetof(lanes::Lane, left);
    if (auto done = copies_.upload(to, &nothing, sizeof(nothing)); !done) return done;
  }
  seen.overdue.clear();
  return copies_.wait();
}

}  // namespace kvrm::device::cuda
