#include "machine/cpu_backend.h"

#include <algorithm>
#include <new>
#include <thread>
#include <utility>

#include "machine/jobs.h"
#include "machine/stops.h"

namespace kvrm {
namespace {

unsigned thread_count(const Options& options) {
  const unsigned all = options.threads != 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  return std::min(all, options.lanes);
}

}  // namespace

Result<std::unique_ptr<Backend>> CpuBackend::create(const Options& options) {
  std::shared_ptr<translator::Translator> translator;
  if (options.engine != Engine::kInterpreter) {
    translator::Settings settings;
    settings.in_background = options.engine == Engine::kAuto;
    if (options.jit_threshold) settings.threshold = *options.jit_threshold;
    if (options.jit_budget) settings.budget_seconds = *options.jit_budget;
    if (settings.threshold != 0) {
      settings.folder = cache::Folder::of_user();
    } else {
      // What is translated before anybody knows whether it pays is kept small, and not kept at all.
      settings.limits = {8, 64, 2};
    }
    std::string error;
    translator = translator::Translator::create(settings, error);
    if (!translator && options.engine == Engine::kJit) return Error{error};
  }
  return std::unique_ptr<Backend>(std::make_unique<CpuBackend>(options, std::move(translator)));
}

CpuBackend::CpuBackend(const Options& options, std::shared_ptr<translator::Translator> translator)
    : memory_limit_(options.memory_limit),
      engine_(options.engine),
      translator_(std::move(translator)),
      pool_(thread_count(options)),
      lanes_(options.lanes) {}

CpuLane& CpuBackend::at(unsigned lane) {
  auto& place = lanes_.at(lane);
  if (!place) place = std::make_unique<CpuLane>(memory_limit_, translator_);
  return *place;
}

Result<void> CpuBackend::start(unsigned lane, const linux_abi::Program& program, linux_abi::ProcessOptions options) {
  auto& place = lanes_.at(lane);
  if (place) place->add_to(past_);
  place = std::make_unique<CpuLane>(memory_limit_, translator_);
  return place->start(program, std::move(options));
}

void CpuBackend::run(unsigned first, std::span<LaneResult> results, u64 budget, RunControl& control) {
  ++past_.launches;
  control.progress.lanes_alive.fetch_add(results.size(), std::memory_order_relaxed);
  pool_.each(results.size(), [&](u64 i) {
    const unsigned lane = first + static_cast<unsigned>(i);
    results[i] = at(lane).run(budget, lane, control);
    control.progress.lanes_alive.fetch_sub(1, std::memory_order_relaxed);
  });
}

JobResult CpuBackend::run_job(const LaneJob& job, const JobLimits& limits, RunControl& control) try {
  JobResult result;
  result.index = job.job->index;
  KeptOutput output{{}, false, limits.max_output}, errors{{}, false, limits.max_output};
  CpuLane lane(memory_limit_, translator_);
  if (auto started = lane.start(job.program->image, job_options(job, output, errors)); !started) {
    result.error = started.error().message;
    return result;
  }
  LaneResult run = lane.run(limits.instructions, 0, control);
  result.stop = std::move(run.stop);
  result.instructions = run.instructions;
  result.registers = registers_of(lane.cpu());
  result.output = std::move(output.bytes);
  result.errors = std::move(errors.bytes);
  result.output_cut = output.cut;
  result.errors_cut = errors.cut;
  const std::lock_guard lock(past_mutex_);
  lane.add_to(past_);
  return result;
} catch (const std::bad_alloc&) {
  JobResult result;
  result.index = job.job->index;
  result.error = "the host has no memory left";
  return result;
}

Result<void> CpuBackend::run_jobs(std::span<const LaneJob> jobs, const JobLimits& limits, const JobCallback& done,
                                  RunControl& control) {
  ++past_.launches;
  std::mutex one_at_a_time;
  std::atomic<u64> left = jobs.size();
  control.progress.lanes_alive.fetch_add(std::min<u64>(lanes_.size(), jobs.size()), std::memory_order_relaxed);
  pool_.each(jobs.size(), [&](u64 i) {
    if (!control.cancel.load(std::memory_order_relaxed)) {
      JobResult result = run_job(jobs[i], limits, control);
      const std::lock_guard lock(one_at_a_time);
      if (result.stop.reason != StopReason::kCancelled) {
        ++past_.jobs;
        control.progress.jobs_done.fetch_add(1, std::memory_order_relaxed);
      }
      done(std::move(result));
    }
    if (left.fetch_sub(1) <= lanes_.size()) control.progress.lanes_alive.fetch_sub(1, std::memory_order_relaxed);
  });
  return {};
}

Statistics CpuBackend::statistics() const {
  Statistics result = past_;
  result.private_bytes = 0;
  for (const auto& lane : lanes_) {
    if (lane) lane->add_to(result);
  }
  result.device = "cpu";
  result.engine = !translator_ ? "interp" : engine_ == Engine::kJit ? "jit" : "auto";
  if (translator_) {
    const translator::Counts counts = translator_->counts();
    result.regions = counts.regions;
    result.cached_regions = counts.from_cache;
    result.region_words = counts.words;
    result.translation_seconds = counts.seconds;
  }
  return result;
}

}  // namespace kvrm
