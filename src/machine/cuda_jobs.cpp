// Batches of jobs on a GPU.
#include <algorithm>
#include <atomic>
#include <map>
#include <utility>
#include <vector>

#include "machine/cuda_backend.h"
#include "machine/jobs.h"
#include "machine/stops.h"

namespace kvrm {

namespace kernel = backend::kernel;
using backend::cuda::Call;
using backend::cuda::LaneSet;
using backend::cuda::StartSet;

namespace {

// The time limit of a batch's jobs, as their processes, lanes and results see it.
class TimedJobs {
 public:
  TimedJobs(const JobLimits& limits, std::size_t jobs, const std::atomic<bool>& cancel)
      : budget_(limits.instructions), cancel_(cancel), jobs_(limits.timeout == limits.timeout.max() ? 0 : jobs) {}

  // The flag that a job's process polls while it waits.
  const std::atomic<bool>* cancel_of(std::size_t job) const { return jobs_.empty() ? &cancel_ : &jobs_[job].stop; }
  // Call it periodically: copies a cancel to the flags of the processes.
  void propagate_cancel() {
    if (!cancel_.load(std::memory_order_relaxed)) return;
    for (One& one : jobs_) one.stop.store(true, std::memory_order_relaxed);
  }
  void stop(std::size_t job) {
    jobs_[job].is_overdue.store(true);
    jobs_[job].stop.store(true);
  }
  // The outcome of an interrupted call, for its lane. A cancelled lane starts no further job, so a lane whose job is
  // overdue gets a fatal signal instead.
  kernel::Outcome after_call(std::size_t job, kernel::Outcome outcome) {
    constexpr int kKill = 9;
    if (outcome.kind != kernel::OutcomeKind::kCancelled || jobs_.empty()) return outcome;
    if (!jobs_[job].is_overdue.load() || cancel_.load(std::memory_order_relaxed)) return outcome;
    jobs_[job].is_undone.store(true);
    return {kernel::OutcomeKind::kSignal, kKill};
  }
  // Whether the limit ended a job. Its lane reports a used-up budget or a fatal signal.
  bool timed_out(std::size_t job, kernel::JobEnd& end) const {
    if (jobs_.empty() || !jobs_[job].is_overdue.load()) return false;
    if (jobs_[job].is_undone.load()) {
      --end.retired;  // the call did not happen
      return true;
    }
    return end.stop.kind == kernel::StopKind::kBudget && end.retired < budget_;
  }

 private:
  struct One {
    std::atomic<bool> stop = false, is_overdue = false;
    std::atomic<bool> is_undone = false;  // it stopped at a call, which did not happen
  };
  const u64 budget_;
  const std::atomic<bool>& cancel_;
  std::vector<One> jobs_;  // empty: no limit
};

}  // namespace

class CudaBackend::JobRun {
 public:
  JobRun(CudaBackend& backend, std::span<const LaneJob> jobs, const JobLimits& limits, const JobCallback& done,
         RunControl& control)
      : backend_(backend),
        jobs_(jobs),
        limits_(limits),
        done_(done),
        control_(control),
        timed_(limits, jobs.size(), control.cancel),
        kept_(jobs.size(), Kept{{{}, false, limits.max_output}, {{}, false, limits.max_output}}),
        growth_(control.progress.instructions) {
    for (Kept& one : kept_)
      one.output.account = one.errors.account = std::make_shared<memory::Account>(backend.memory_limit_);
  }

  Result<void> run() {
    load_programs();
    if (numbers_.empty()) return {};
    if (auto placed = place(); !placed) return placed;
    LaneSet::Hooks hooks = make_hooks();
    LaneSet::Run run{.budget = limits_.instructions,
                     .reconverge = backend_.reconverges_,
                     .slice = {.time = backend_.slice_},
                     .orders = {},
                     .job_time = limits_.timeout};
    backend_.watch_regions(backend_.job_regions_.get(), backend_.job_loops_.get(), *backend_.job_set_, run, hooks);
    std::atomic<u64>& alive = control_.progress.lanes_alive;
    alive.fetch_add(backend_.job_lanes_, std::memory_order_relaxed);
    auto ran = backend_.job_set_->run(run, hooks);
    alive.fetch_sub(backend_.job_lanes_, std::memory_order_relaxed);
    return ran && backend_.job_loops_ ? backend_.job_loops_->count(*backend_.job_set_) : ran;
  }

 private:
  struct Kept {
    KeptOutput output, errors;
  };

  linux_abi::ProcessOptions options_of(u32 job) {
    auto options = job_options(jobs_[job], kept_[job].output, kept_[job].errors);
    options.cancel = timed_.cancel_of(job);
    options.memory_limit = backend_.memory_limit_;
    options.most_files = descriptor_share(backend_.descriptors_, std::min<u64>(backend_.lanes_.size(), jobs_.size()));
    return options;
  }

  // Jobs with the same program and arguments share their initial contents.
  void load_programs() {
    std::map<std::pair<const JobProgram*, std::vector<std::string>>, u32> known;
    for (u32 i = 0; i < jobs_.size(); ++i) {
      const auto [found, is_new] = known.emplace(std::pair{jobs_[i].program, jobs_[i].job->args}, 0);
      if (is_new) {
        auto loaded = load_lane_program(jobs_[i].program->image, options_of(i), backend_.memory_limit_);
        if (!loaded) {
          known.erase(found);
          done_(failed_job(*jobs_[i].job, loaded.error().message));
          continue;
        }
        found->second = starts_.add((*loaded)->contents);
        programs_.push_back(std::move(*loaded));
      }
      const auto& input = jobs_[i].job->input;
      const std::span<const u8> bytes = input ? bytes_of(*input) : std::span<const u8>();
      launch_jobs_.push_back({found->second, bytes.data(), bytes.size()});
      numbers_.push_back(i);
    }
  }

  // Puts the jobs on the GPU, in the lanes of the previous batch if there are as many.
  Result<void> place() {
    CudaBackend& b = backend_;
    const unsigned most = b.spread_ ? b.gpu_->single_warps : b.gpu_->most_lanes();
    const auto lanes = static_cast<unsigned>(std::min<u64>({b.lanes_.size(), numbers_.size(), most}));
    if (!b.job_set_ || b.job_lanes_ != lanes) {
      b.keep_counts(b.job_set_.get());
      b.job_set_.reset();
      auto plan = b.plan(lanes, std::max(starts_.most_areas(), 32u));
      plan.shares_memory = false;
      auto set = LaneSet::create(b.gpu_, plan);
      if (!set) return set.error();
      b.job_set_ = std::move(*set);
      b.job_lanes_ = lanes;
    }
    if (auto placed = b.job_set_->load(starts_, launch_jobs_); !placed) return placed;
    return b.begin_regions(b.job_regions_.get(), b.job_loops_.get(), *b.job_set_, starts_, control_.cancel);
  }

  LaneSet::Hooks make_hooks() {
    LaneSet::Hooks hooks;
    hooks.cancel = &control_.cancel;
    hooks.progress = [this](u64 total) {
      growth_.reach(total);
      timed_.propagate_cancel();
    };
    hooks.overdue = [this](u32 number) {
      timed_.stop(numbers_[number]);
      backend_.past_.launches_reason = "pauses to stop jobs that took too long";
    };
    hooks.output = [this](u32 number, kernel::Stream stream, std::span<const u8> bytes) {
      Kept& own = kept_[numbers_[number]];
      (stream == kernel::Stream::kOut ? own.output : own.errors).append(bytes);
    };
    hooks.serve = [this](const Call& call, Cpu& cpu, memory::GuestMemory& memory) {
      const auto outcome = processes_.serve(call.request.job, call, cpu, memory,
                                            [this](u32 number) { return options_of(numbers_[number]); });
      return timed_.after_call(numbers_[call.request.job], outcome);
    };
    hooks.finished = [this](std::span<const u32> ended) {
      for (const u32 number : ended) finish(number);
    };
    return hooks;
  }

  void finish(u32 number) {
    const u32 i = numbers_[number];
    kernel::JobEnd end = backend_.job_set_->end(number);
    const bool timed_out = timed_.timed_out(i, end);
    const Cpu cpu = end.registers;
    JobResult result;
    result.index = jobs_[i].job->index;
    result.stop = timed_out ? stop_at(cpu, end.word, StopReason::kTimeout) : stop_of(number, cpu, end, processes_);
    result.stop.instructions = end.retired;
    result.registers = registers_of(cpu);
    static_cast<Output&>(result) = take(kept_[i].output, kept_[i].errors);
    processes_.forget(number);
    backend_.count(end);
    if (result.stop.reason != StopReason::kCancelled) {
      ++backend_.past_.jobs;
      control_.progress.jobs_done.fetch_add(1, std::memory_order_relaxed);
    }
    done_(std::move(result));
  }

  CudaBackend& backend_;
  const std::span<const LaneJob> jobs_;
  const JobLimits& limits_;
  const JobCallback& done_;
  RunControl& control_;
  TimedJobs timed_;
  std::vector<Kept> kept_;
  Growth growth_;
  StartSet starts_;
  std::vector<std::shared_ptr<const LaneProgram>> programs_;  // hold what starts_ points to
  std::vector<kernel::LaunchJob> launch_jobs_;
  std::vector<u32> numbers_;  // jobs that can start; the GPU numbers jobs by their position here
  LaneProcesses processes_;
};

Result<void> CudaBackend::run_jobs(std::span<const LaneJob> jobs, const JobLimits& limits, const JobCallback& done,
                                   RunControl& control) {
  if (jobs.empty()) return {};
  for (const LaneJob& job : jobs) check_root(job.program->options);
  return JobRun(*this, jobs, limits, done, control).run();
}

}  // namespace kvrm
