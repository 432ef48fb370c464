#include "machine/cpu_backend.h"

#include <algorithm>
#include <new>
#include <thread>
#include <utility>

#include "machine/jobs.h"
#include "machine/loop_ranking.h"
#include "machine/loop_statistics.h"
#include "machine/stops.h"

namespace kvrm {
namespace {

unsigned thread_count(const Options& options) {
  const unsigned all = options.threads != 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  return options.shared_memory ? options.lanes : std::min(all, options.lanes);
}

// Lanes that share one memory have a thread each: otherwise a lane could wait forever for another.
constexpr unsigned kMostSharedLanes = 1024;

// Translated code of all lanes may use a quarter of one guest's memory limit, within these bounds.
constexpr u64 kLeastRegionBytes = u64{32} << 20, kMostRegionBytes = u64{256} << 20;

// Null, and perhaps an error, if the interpreter runs everything.
std::shared_ptr<translator::Translator> make_translator(const Options& options, const DispatchOptions& dispatch,
                                                        std::string& error) {
  if (options.engine == Engine::kInterpreter || dispatch.every()) return nullptr;
  translator::Settings settings;
  settings.tiers = options.jit_tiers == JitTiers::kQuick     ? translator::Tiers::kQuick
                   : options.jit_tiers == JitTiers::kRegions ? translator::Tiers::kRegions
                                                             : translator::Tiers::kAll;
  settings.routes_by_table = dispatch.is_table();
  settings.in_background = options.engine == Engine::kAuto;
  settings.shares_memory = options.shared_memory;
  settings.perf_map = options.perf_map;
  settings.abandons = options.abandon_compilers;
  settings.threshold = options.jit_threshold;
  settings.most_bytes = std::clamp<u64>(options.memory_limit / 4, kLeastRegionBytes, kMostRegionBytes);
  if (options.jit_budget) settings.budget_seconds = *options.jit_budget;
  if (settings.everything()) {
    // Code that is translated without a profile stays small and does not go into the cache.
    settings.limits = {8, 64, 2};
  } else {
    settings.limits.copy_functions = false;
    if (options.code_cache) settings.folder = cache::Folder::of_user();
    settings.router = dispatch.decides();
  }
  return translator::Translator::create(settings, error);
}

// Samples divide the known number of instructions between the tiers.
std::vector<Tier> tiers_of(const translator::Counts& counts, u64 instructions) {
  const double sampled = counts.interpreted + counts.quick + counts.translated;
  const auto share = [&](double part) {
    return sampled == 0 ? u64{0} : static_cast<u64>(part / sampled * static_cast<double>(instructions));
  };
  const u64 translated = share(counts.translated), in_quick = std::min(share(counts.quick), instructions - translated);
  Tier interpreter{
      .name = "interp", .instructions = instructions - translated - in_quick, .seconds = counts.interpreter_seconds};
  Tier quick{.name = "quick",
             .instructions = in_quick,
             .seconds = counts.quick_seconds,
             .regions = counts.quick_pages,
             .words = counts.quick_pages * (memory::kPageSize / 4),
             .distinct_words = counts.quick_pages * (memory::kPageSize / 4),
             .translation_seconds = counts.quick_translation_seconds};
  Tier regions{.name = "regions",
               .instructions = translated,
               .seconds = counts.region_seconds,
               .regions = counts.regions,
               .words = counts.words,
               .distinct_words = counts.distinct_words,
               .translation_seconds = counts.seconds};
  return {std::move(interpreter), std::move(quick), std::move(regions)};
}

std::vector<LoopRun> runs_of(const accelerate::LoopFacts& facts) {
  std::vector<LoopRun> runs;
  for (const accelerate::LoopRun& run : facts.runs) runs.push_back({run.first, run.second, run.left});
  return runs;
}

}  // namespace

LoopStatistics statistics_of(const accelerate::Loops& loops) {
  LoopStatistics result;
  for (const accelerate::LoopFacts& facts : loops.facts()) {
    ++result.proposed;
    if (facts.proven) {
      ++result.proved;
    } else {
      ++result.refused[facts.refusal];
    }
    result.left_out += facts.left_out;
    result.instructions += facts.instructions;
    result.hottest.push_back({facts.code.head, facts.code.words, facts.proven != nullptr,
                              facts.proven ? accelerate::to_string(facts.proven->proof().kind) : "", facts.refusal,
                              facts.samples, facts.steps, facts.iterations, facts.instructions, facts.left_out,
                              facts.entries, runs_of(facts)});
  }
  result.found = loops.found();
  result.sampled = loops.sampled();
  const accelerate::RankingFacts ranked = loops.ranking_facts();
  result.ranked = ranked.ranked;
  result.guessed = ranked.guessed;
  result.guessed_right = ranked.right;
  result.ranking_seconds = ranked.ranking_seconds;
  result.proof_seconds = loops.seconds();
  return result;
}

CpuBackend::CpuBackend(const Options& options, DispatchOptions dispatch,
                       std::shared_ptr<translator::Translator> translator, std::shared_ptr<accelerate::Loops> loops)
    : memory_limit_(options.memory_limit),
      descriptors_(descriptors_of(options)),
      threads_(thread_count(options)),
      engine_(options.engine),
      dispatch_(std::move(dispatch)),
      translator_(std::move(translator)),
      acceleration_{.loops = std::move(loops), .profile = options.profile_loops},
      windows_(translator_ && options.windows),
      cache_(translator_ && !translator_->settings().folder.path().empty(), options.notice),
      shared_memory_(options.shared_memory ? std::make_shared<memory::AddressSpace>(memory_limit_, true) : nullptr),
      pool_(threads_),
      lanes_(options.lanes) {}

Result<std::unique_ptr<CpuBackend>> CpuBackend::create(const Options& options, DispatchOptions dispatch) {
  const unsigned most = options.threads != 0 ? options.threads : kMostSharedLanes;
  if (options.shared_memory && options.lanes > most) return too_many_shared_lanes(options.lanes, most);
  std::string error;
  auto translator = make_translator(options, dispatch, error);
  if (!translator && options.engine == Engine::kJit && !error.empty()) return Error{error};
  std::shared_ptr<accelerate::Loops> loops;
  const bool at_once = options.proof_share >= 1;
  // Words of proved loops are decoded again, which counts for a network, too. An unverified one may take a word for
  // another one than the prover does.
  const bool is_known = dispatch.is_table() || (at_once && !options.neural.unverified);
  if (options.accelerate && !options.profile_loops && !options.shared_memory && is_known && !dispatch.every()) {
    auto ranking = ranking_of(options.neural);
    if (!ranking) return ranking.error();
    loops = accelerate::Loops::create(error,
                                      {!at_once, options.abandon_compilers, options.proof_share, std::move(*ranking)});
    if (!loops && options.notice) options.notice("no bulk steps of loops: " + error);
  }
  if (options.profile_loops) {
    if (options.shared_memory || dispatch.every()) return Error{"loops of this kind of machine cannot be counted"};
    loops = accelerate::Loops::of_profiles();
    translator = nullptr;
  }
  return std::unique_ptr<CpuBackend>(
      new CpuBackend(options, std::move(dispatch), std::move(translator), std::move(loops)));
}

CpuLane& CpuBackend::at(unsigned lane) {
  auto& found = lanes_.at(lane);
  if (!found) found = new_lane();
  return *found;
}

std::unique_ptr<CpuLane> CpuBackend::new_lane(memory::AccountPointer account) const {
  if (!account) account = std::make_shared<memory::Account>(memory_limit_);
  auto space = shared_memory_;
  if (!space) {
    space = std::make_shared<memory::AddressSpace>(std::move(account));
    if (windows_) space->use_window();
  }
  return std::make_unique<CpuLane>(std::move(space), dispatch_, translator_, acceleration_);
}

Result<void> CpuBackend::start(unsigned lane, const linux_abi::Program& program, linux_abi::ProcessOptions options) {
  check_root(options);
  auto& started = lanes_.at(lane);
  if (started) past_ += started->statistics();
  started = new_lane(options.account);
  options.most_files = descriptor_share(descriptors_, lanes_.size());
  return started->start(program, std::move(options));
}

void CpuBackend::check_root(const linux_abi::ProcessOptions& options) {
  if (translator_ && !cache_.allows(options)) translator_->leave_cache();
}

void CpuBackend::run(unsigned first, std::span<Stop> stops, u64 budget, RunControl& control) {
  ++past_.launches;
  control.progress.lanes_alive.fetch_add(stops.size(), std::memory_order_relaxed);
  pool_.each(stops.size(), [&](u64 i) {
    const unsigned lane = first + static_cast<unsigned>(i);
    stops[i] = at(lane).run(budget, lane, control);
    control.progress.lanes_alive.fetch_sub(1, std::memory_order_relaxed);
  });
}

JobResult CpuBackend::run_job(const LaneJob& job, const JobLimits& limits, JobTimer& timer, RunControl& control) try {
  const auto account = std::make_shared<memory::Account>(memory_limit_);
  KeptOutput output{{}, false, limits.max_output, account}, errors{{}, false, limits.max_output, account};
  const auto made = new_lane(account);
  CpuLane& lane = *made;
  auto options = job_options(job, output, errors);
  options.most_files = descriptor_share(descriptors_, threads_);
  if (auto started = lane.start(job.program->image, std::move(options)); !started)
    return failed_job(*job.job, started.error().message);
  const JobTimer::Job timed(timer);
  RunControl own{timed.cancel(), control.progress, {}};
  JobResult result;
  result.index = job.job->index;
  result.stop = lane.run(limits.instructions, 0, own);
  if (result.stop.reason == StopReason::kCancelled && timed.timed_out()) result.stop.reason = StopReason::kTimeout;
  result.registers = registers_of(lane.cpu());
  static_cast<Output&>(result) = take(output, errors);
  result.dispatch = lane.dispatched();
  const std::lock_guard lock(past_mutex_);
  past_ += lane.statistics();
  return result;
} catch (const std::bad_alloc&) {
  return failed_job(*job.job, "the host has no memory left");
}

Result<void> CpuBackend::run_jobs(std::span<const LaneJob> jobs, const JobLimits& limits, const JobCallback& done,
                                  RunControl& control) {
  ++past_.launches;
  for (const LaneJob& job : jobs) check_root(job.program->options);
  std::mutex one_at_a_time;
  JobTimer timer(limits.timeout, control.cancel);
  std::atomic<u64> left = jobs.size();
  control.progress.lanes_alive.fetch_add(std::min<u64>(lanes_.size(), jobs.size()), std::memory_order_relaxed);
  pool_.each(jobs.size(), [&](u64 i) {
    if (!control.cancel.load(std::memory_order_relaxed)) {
      JobResult result = run_job(jobs[i], limits, timer, control);
      const std::lock_guard lock(one_at_a_time);
      if (result.stop.reason != StopReason::kCancelled) {
        {
          const std::lock_guard past_lock(past_mutex_);
          ++past_.jobs;
        }
        control.progress.jobs_done.fetch_add(1, std::memory_order_relaxed);
      }
      done(std::move(result));
    }
    if (left.fetch_sub(1) <= lanes_.size()) control.progress.lanes_alive.fetch_sub(1, std::memory_order_relaxed);
  });
  return {};
}

std::optional<DispatchStatistics> CpuBackend::dispatched(unsigned lane) const {
  const auto& found = lanes_.at(lane);
  return found ? found->dispatched() : dispatch_.statistics({});
}

Statistics CpuBackend::statistics() const {
  Statistics result = past_;
  result.dispatch = dispatch_.statistics({});
  result.dispatch += past_.dispatch;
  result.private_bytes = 0;
  for (const auto& lane : lanes_) {
    if (lane) result += lane->statistics();
  }
  if (shared_memory_) result.private_bytes = shared_memory_->private_bytes();
  if (acceleration_.loops) {
    for (const auto& lane : lanes_) {
      if (lane) lane->report_loops();
    }
    result.loops = statistics_of(*acceleration_.loops);
  }
  result.device = "cpu";
  result.engine = !translator_ ? "interp" : engine_ == Engine::kJit ? "jit" : "auto";
  if (translator_) {
    const translator::Counts counts = translator_->counts();
    result.regions = counts.regions;
    result.cached_regions = counts.from_cache;
    result.region_words = counts.words;
    result.translation_seconds = counts.seconds;
    result.link_seconds = counts.link_seconds;
    // Without samples there are no tiers: all code was translated before it ran.
    if (!translator_->settings().everything()) result.tiers = tiers_of(counts, result.instructions);
  }
  return result;
}

}  // namespace kvrm
