// What the host does while a kernel runs: it drains output, collects the ends of jobs, and stops jobs that take too
// long.
#include <algorithm>

#include "backend/cuda/lane_set.h"

namespace kvrm::backend::cuda {

// Downloads the ends of the jobs that finished since the last time. They stay in `numbers` until all of their output
// has been drained, which may take a moment: it may follow that of a lane in the middle of a write.
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
    return copies_.download(&ends_[first], job_ends_.address() + first * sizeof(kernel::JobEnd),
                            u64{last - first + 1} * sizeof(kernel::JobEnd));
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

// Also while the kernel runs: then a lane may have the next job a moment later.
Result<std::vector<u32>> LaneSet::jobs_of_lanes() const {
  std::vector<u32> jobs(plan_.lanes);
  const DeviceAddress from = lanes_.address() + offsetof(kernel::Lane, job);
  if (auto done = copies_.download_rows(jobs.data(), from, sizeof(kernel::Lane), sizeof(u32), jobs.size()); !done)
    return done.error();
  if (auto done = copies_.wait(); !done) return done.error();
  return jobs;
}

// The control word is for all lanes: all pause, so that the host can stop those with an overdue job.
Result<void> LaneSet::find_overdue(const Hooks& hooks, JobClock& clock, std::chrono::nanoseconds now, Seen& seen) {
  auto jobs = jobs_of_lanes();
  if (!jobs) return jobs.error();
  for (const JobClock::Overdue& one : clock.update(*jobs, now)) {
    seen.overdue.push_back(one);
    hooks.overdue(one.job);
  }
  if (!seen.overdue.empty()) ask(kernel::kPause);
  return {};
}

// Between launches: takes the rest of the budget from lanes whose job is overdue. They finish a call that is in
// progress and take the next job.
Result<void> LaneSet::stop_overdue(Seen& seen) {
  if (seen.overdue.empty()) return {};
  auto jobs = jobs_of_lanes();
  if (!jobs) return jobs.error();
  const u64 nothing = 0;
  for (const auto& [lane, job] : seen.overdue) {
    if ((*jobs)[lane] != job) continue;
    const DeviceAddress to = lanes_.address() + lane * sizeof(kernel::Lane) + offsetof(kernel::Lane, left);
    if (auto done = copies_.upload(to, &nothing, sizeof(nothing)); !done) return done;
  }
  seen.overdue.clear();
  return copies_.wait();
}

void LaneSet::ask(kernel::Control what) {
  sync::store<sync::kRelease, sync::kSystem>(control_word(), *control_word() | what);
}

void LaneSet::pass_on_cancel(const Hooks& hooks, Service& service, Seen& seen) {
  if (seen.cancelled || !hooks.is_cancelled()) return;
  seen.cancelled = true;
  service.cancel();
  ask(kernel::kCancel);
}

u64 LaneSet::instructions_so_far() const {
  u64 instructions = 0;
  for (u32 i = 0; i < padded_lanes_; ++i) {
    instructions += sync::load<sync::kRelaxed, sync::kSystem>(progress_.as<u64>() + i);
  }
  return instructions;
}

// While the kernel runs.
Result<void> LaneSet::watch(const Hooks& hooks, Service& service, std::chrono::nanoseconds slice, JobClock& clock,
                            Seen& seen) {
  using namespace std::chrono_literals;
  using Clock = std::chrono::steady_clock;
  auto wait = 20us;
  const auto begin = Clock::now();
  auto next_report = begin, next_collection = begin, next_clock = begin;
  for (;;) {
    auto done = stream_.wait_for(wait);
    if (!done) return done.error();
    drain_output();
    pass_on_cancel(hooks, service, seen);
    const auto now = Clock::now();
    if (slice.count() != 0 && now - begin >= slice) {
      seen.slice_is_over = true;
      ask(kernel::kPause);
    }
    if (clock.is_limited() && !*done && !seen.cancelled && now >= next_clock) {
      if (auto found = find_overdue(hooks, clock, seen.ran + (now - begin), seen); !found) return found;
      next_clock = now + std::max<Clock::duration>(clock.interval(), 20 * (Clock::now() - now));
    }
    if (hooks.progress && (*done || now >= next_report)) {
      hooks.progress(instructions_so_far());
      // With very many lanes the sum takes a while.
      next_report = now + std::max<Clock::duration>(5ms, 20 * (Clock::now() - now));
    }
    if (hooks.finished && (*done || now >= next_collection)) {
      next_collection = now + 25ms;
      if (auto collected = collect_ends(hooks, seen, *done && *unfinished_word() == 0); !collected) return collected;
    }
    if (*done) {
      seen.ran += now - begin;
      return {};
    }
    wait = std::min<std::chrono::microseconds>(wait * 2, 500us);
  }
}

}  // namespace kvrm::backend::cuda
