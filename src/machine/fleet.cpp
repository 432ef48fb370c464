#include "kvrm/fleet.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "kvrm/program_file.h"
#include "machine/jobs.h"

namespace kvrm {
namespace {

// The number of jobs a machine takes at a time: enough to fill its lanes, few enough that machines end together.
std::uint64_t share_of(std::uint64_t jobs, std::uint64_t machines, std::uint64_t lanes) {
  constexpr std::uint64_t kRounds = 8;
  const std::uint64_t even = (jobs + machines - 1) / machines;
  return std::clamp<std::uint64_t>(std::max(lanes, even / kRounds), 1, std::max<std::uint64_t>(even, 1));
}

// The jobs with their programs opened; empty if no job needs it. A file that cannot be opened is left to the run, which
// reports it in the job's result.
std::vector<Job> with_files(std::span<const Job> jobs) {
  const auto lacks_file = [](const Job& job) { return !job.program.empty() && !job.file; };
  if (std::none_of(jobs.begin(), jobs.end(), lacks_file)) return {};
  std::vector<Job> opened(jobs.begin(), jobs.end());
  std::map<std::string, ProgramFilePointer> files;
  for (Job& job : opened) {
    if (!lacks_file(job)) continue;
    const auto [found, is_new] = files.try_emplace(job.program);
    if (is_new) {
      if (auto file = ProgramFile::open(job.program)) found->second = std::move(*file);
    }
    job.file = found->second;
  }
  return opened;
}

}  // namespace

Result<Fleet> Fleet::create(const Options& options, const std::vector<unsigned>& ordinals) {
  if (ordinals.empty()) return Error{"a fleet needs at least one device"};
  Fleet fleet;
  fleet.lanes_ = options.lanes;
  const auto count = static_cast<unsigned>(ordinals.size());
  for (const unsigned ordinal : ordinals) {
    Options own = options;
    own.device_ordinal = ordinal;
    const unsigned threads = options.threads != 0 ? options.threads : std::thread::hardware_concurrency();
    own.threads = std::max(1u, threads / count);
    own.descriptors = static_cast<unsigned>(std::clamp<u64>(descriptors_of(options) / count, 1, ~0u));
    auto machine = Machine::create(own);
    if (!machine) return machine.error();
    fleet.machines_.push_back(std::move(*machine));
  }
  return fleet;
}

Result<void> Fleet::run_jobs(const Program& given, std::span<const Job> jobs, const JobCallback& done,
                             const JobLimits& limits) {
  if (auto checked = machines_.front().check_process(); !checked) return checked;
  // Each machine takes several shares. Opening the files now gives all shares the same programs.
  Program program = given;
  if (!program.path.empty() && !program.file) {
    auto file = ProgramFile::open(program.path);
    if (!file) return file.error();
    program.file = std::move(*file);
  }
  const std::vector<Job> opened = with_files(jobs);
  if (!opened.empty()) jobs = opened;
  const auto begin = std::chrono::steady_clock::now();
  const std::uint64_t share = share_of(jobs.size(), machines_.size(), lanes_);
  std::atomic<std::uint64_t> next = 0;
  std::mutex mutex;
  Result<void> outcome;
  const JobCallback one_at_a_time = [&](JobResult&& result) {
    const std::lock_guard lock(mutex);
    done(std::move(result));
  };
  const auto work = [&](Machine& machine) {
    for (std::uint64_t from; !cancelled() && (from = next.fetch_add(share)) < jobs.size();) {
      const auto part = jobs.subspan(from, std::min<std::uint64_t>(share, jobs.size() - from));
      if (auto ran = machine.run_jobs(program, part, one_at_a_time, limits); !ran) {
        next.store(jobs.size());
        const std::lock_guard lock(mutex);
        outcome = ran;
      }
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < machines_.size(); ++i) threads.emplace_back(work, std::ref(machines_[i]));
  work(machines_.front());
  for (std::thread& thread : threads) thread.join();
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return outcome;
}

void Fleet::cancel() {
  cancelled_->store(true);
  for (Machine& machine : machines_) machine.cancel();
}

Progress Fleet::poll() const {
  Progress sum;
  for (const Machine& machine : machines_) {
    const Progress one = machine.poll();
    sum.instructions += one.instructions;
    sum.lanes_alive += one.lanes_alive;
    sum.jobs_done += one.jobs_done;
  }
  return sum;
}

Statistics Fleet::statistics() const {
  Statistics sum = machines_.front().statistics();
  for (std::size_t i = 1; i < machines_.size(); ++i) sum += machines_[i].statistics();
  sum.seconds = seconds_;
  return sum;
}

}  // namespace kvrm
