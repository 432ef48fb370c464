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
  return options.common_memory ? options.lanes : std::min(all, options.lanes);
}

// Lanes that share one memory each have a thread, or one that waits for another could wait for ever.
constexpr unsigned kMostCommonLanes = 1024;

// Translated code of all lanes may take a quarter of what one guest may have, within these.
constexpr u64 kLeastRegionBytes = u64{32} << 20, kMostRegionBytes = u64{256} << 20;

// Null, and perhaps why, if the interpreter is to do everything.
std::shared_ptr<translator::Translator> make_translator(const Options& options, const Dispatching& dispatching,
                                                        std::string& error) {
  if (options.engine == Engine::kInterpreter || dispatching.every()) return nullptr;
  translator::Settings settings;
  settings.in_background = options.engine == Engine::kAuto;
  settings.common = options.common_memory;
  settings.perf_map = options.perf_map;
  settings.abandons = options.abandon_compilers;
  settings.threshold = options.jit_threshold;
  settings.most_bytes = std::clamp<u64>(options.memory_limit / 4, kLeastRegionBytes, kMostRegionBytes);
  if (options.jit_budget) settings.budget_seconds = *options.jit_budget;
  if (settings.everything()) {
    // What is translated before anybody knows whether it pays is kept small, and not kept at all.
    settings.limits = {8, 64, 2};
  } else {
    settings.limits.copy_functions = false;
    if (options.code_cache) settings.folder = cache::Folder::of_user();
    settings.router = dispatching.decides();
  }
  return translator::Translator::create(settings, error);
}

// Samples say which part of the instructions, whose number is known, and of the time regions ran.
std::vector<Tier> tiers_of(const translator::Counts& counts, u64 instructions) {
  const double sampled = counts.interpreted + counts.translated;
  const double share = sampled == 0 ? 0 : counts.translated / sampled;
  const auto translated = static_cast<u64>(share * static_cast<double>(instructions));
  Tier interpreter{.name = "interp", .instructions = instructions - translated, .seconds = counts.interpreter_seconds};
  Tier regions{.name = "regions",
               .instructions = translated,
               .seconds = counts.region_seconds,
               .regions = counts.regions,
               .words = counts.words,
               .distinct_words = counts.distinct_words,
               .translation_seconds = counts.seconds};
  return {std::move(interpreter), std::move(regions)};
}

}  // namespace

CpuBackend::CpuBackend(const Options& options, Dispatching dispatching,
                       std::shared_ptr<translator::Translator> translator)
    : memory_limit_(options.memory_limit),
      engine_(options.engine),
      dispatching_(std::move(dispatching)),
      translator_(std::move(translator)),
      cache_(translator_ && !translator_->settings().folder.path().empty(), options.notice),
      common_(options.common_memory ? std::make_shared<memory::AddressSpace>(memory_limit_, true) : nullptr),
      pool_(thread_count(options)),
      lanes_(options.lanes) {}

Result<std::unique_ptr<CpuBackend>> CpuBackend::create(const Options& options, Dispatching dispatching) {
  const unsigned most = options.threads != 0 ? options.threads : kMostCommonLanes;
  if (options.common_memory && options.lanes > most) return too_many_common_lanes(options.lanes, most);
  std::string error;
  auto translator = make_translator(options, dispatching, error);
  if (!translator && options.engine == Engine::kJit && !error.empty()) return Error{error};
  return std::unique_ptr<CpuBackend>(new CpuBackend(options, std::move(dispatching), std::move(translator)));
}

CpuLane& CpuBackend::at(unsigned lane) {
  auto& place = lanes_.at(lane);
  if (!place) place = new_lane();
  return *place;
}

std::unique_ptr<CpuLane> CpuBackend::new_lane(memory::AccountPointer account) const {
  if (!account) account = std::make_shared<memory::Account>(memory_limit_);
  return std::make_unique<CpuLane>(common_ ? common_ : std::make_shared<memory::AddressSpace>(std::move(account)),
                                   dispatching_, translator_);
}

Result<void> CpuBackend::start(unsigned lane, const linux_abi::Program& program, linux_abi::ProcessOptions options) {
  look_at_root(options);
  auto& place = lanes_.at(lane);
  if (place) place->add_to(past_);
  place = new_lane(options.account);
  return place->start(program, std::move(options));
}

void CpuBackend::look_at_root(const linux_abi::ProcessOptions& options) {
  if (translator_ && !cache_.allows(options)) translator_->leave_cache();
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

JobResult CpuBackend::run_job(const LaneJob& job, const JobLimits& limits, JobTimer& timer, RunControl& control) try {
  JobResult result;
  result.index = job.job->index;
  const auto account = std::make_shared<memory::Account>(memory_limit_);
  KeptOutput output{{}, false, limits.max_output, account}, errors{{}, false, limits.max_output, account};
  const auto made = new_lane(account);
  CpuLane& lane = *made;
  if (auto started = lane.start(job.program->image, job_options(job, output, errors)); !started) {
    result.error = started.error().message;
    return result;
  }
  const JobTimer::Job timed(timer);
  RunControl own{timed.cancel(), control.progress, {}};
  LaneResult run = lane.run(limits.instructions, 0, own);
  result.stop = std::move(run.stop);
  if (result.stop.reason == StopReason::kCancelled && timed.timed_out()) result.stop.reason = StopReason::kTimeout;
  result.instructions = run.instructions;
  result.registers = registers_of(lane.cpu());
  result.output = output.give();
  result.errors = errors.give();
  result.output_cut = output.cut;
  result.errors_cut = errors.cut;
  result.dispatch = lane.dispatched();
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
  for (const LaneJob& job : jobs) look_at_root(job.program->options);
  std::mutex one_at_a_time;
  JobTimer timer(limits.timeout, control.cancel);
  std::atomic<u64> left = jobs.size();
  control.progress.lanes_alive.fetch_add(std::min<u64>(lanes_.size(), jobs.size()), std::memory_order_relaxed);
  pool_.each(jobs.size(), [&](u64 i) {
    if (!control.cancel.load(std::memory_order_relaxed)) {
      JobResult result = run_job(jobs[i], limits, timer, control);
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

std::optional<DispatchStatistics> CpuBackend::dispatched(unsigned lane) const {
  const auto& place = lanes_.at(lane);
  return place ? place->dispatched() : dispatching_.statistics({});
}

Statistics CpuBackend::statistics() const {
  Statistics result = past_;
  result.dispatch = dispatching_.statistics({});
  add(result.dispatch, past_.dispatch);
  result.private_bytes = 0;
  for (const auto& lane : lanes_) {
    if (lane) lane->add_to(result);
  }
  if (common_) result.private_bytes = common_->private_bytes();
  result.device = "cpu";
  result.engine = !translator_ ? "interp" : engine_ == Engine::kJit ? "jit" : "auto";
  if (translator_) {
    const translator::Counts counts = translator_->counts();
    result.regions = counts.regions;
    result.cached_regions = counts.from_cache;
    result.region_words = counts.words;
    result.translation_seconds = counts.seconds;
    result.link_seconds = counts.link_seconds;
    // Where everything is translated before it runs nothing is sampled.
    if (!translator_->settings().everything()) result.tiers = tiers_of(counts, result.instructions);
  }
  return result;
}

}  // namespace kvrm
