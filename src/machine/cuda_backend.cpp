#include "machine/cuda_backend.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <tuple>
#include <utility>

#include "machine/jobs.h"
#include "machine/stops.h"
#include "machine/timed_jobs.h"

namespace kvrm {

namespace lanes = device::lanes;
using device::cuda::Call;
using device::cuda::LaneSet;
using device::cuda::StartSet;

namespace {

// 0, or the errno of what failed.
int write_all(int fd, std::span<const u8> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EAGAIN) {
      pollfd one{fd, POLLOUT, 0};
      (void)::poll(&one, 1, -1);
    } else if (n < 0 && errno != EINTR) {
      return errno;
    }
    if (n < 0) continue;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return 0;
}

// What a lane wrote itself goes where its process would have put it. An errno if its stdout failed.
int put_output(const linux_abi::ProcessOptions& options, lanes::Stream stream, std::span<const u8> bytes) {
  const bool out = stream == lanes::Stream::kOut;
  if (const auto& sink = out ? options.output : options.errors) {
    sink(bytes);
    return 0;
  }
  const int error = write_all(out ? options.stdout_fd : options.stderr_fd, bytes);
  return out ? error : 0;
}

// A lane that was told that its output is written when it was not. A reader that went away kills, as it mostly does.
Stop output_stop(const Cpu& cpu, u32 word, int error) {
  Stop stop = stop_at(cpu, word, error == EPIPE ? StopReason::kSignal : StopReason::kDevice);
  if (error == EPIPE) {
    stop.signal = SIGPIPE;
  } else {
    stop.message = std::string("stdout: ") + std::strerror(error);
  }
  return stop;
}

// Whether two lanes begin with the same registers and memory.
bool same_start(const linux_abi::ProcessOptions& a, const linux_abi::ProcessOptions& b) {
  const auto facts = [](const linux_abi::ProcessOptions& o) {
    return std::tie(o.args, o.env, o.exe_path, o.root, o.clock, o.seed, o.verbose, o.stdin_fd, o.stdout_fd,
                    o.stderr_fd);
  };
  return facts(a) == facts(b) && !a.input == !b.input && !a.output == !b.output && !a.errors == !b.errors &&
         !a.trace == !b.trace;
}

std::span<const u8> bytes_of(const std::string& text) {
  return {reinterpret_cast<const u8*>(text.data()), text.size()};
}

bool turned_off(const char* variable) {
  const char* value = std::getenv(variable);
  return value && std::string_view(value) == "0";
}

// What the environment says, or 0.
u32 number_in(const char* variable) {
  const char* value = std::getenv(variable);
  return value ? static_cast<u32>(std::strtoul(value, nullptr, 10)) : 0;
}

constexpr const char* kSliceVariable = "KVRM_SLICE_MS";
std::chrono::milliseconds slice_of(const device::cuda::Gpu& gpu) {
  constexpr std::chrono::milliseconds kUsual{500};  // drivers that limit it end a kernel after seconds
  if (std::getenv(kSliceVariable)) return std::chrono::milliseconds(number_in(kSliceVariable));
  return gpu.context->properties().limits_kernel_time ? kUsual : std::chrono::milliseconds(0);
}

// How much further a run has come, for progress that only ever grows.
class Growth {
 public:
  explicit Growth(std::atomic<u64>& to) : to_(to) {}
  void reach(u64 total) {
    to_.fetch_add(total - seen_, std::memory_order_relaxed);
    seen_ = total;
  }

 private:
  std::atomic<u64>& to_;
  u64 seen_ = 0;
};

}  // namespace

Result<std::unique_ptr<CudaBackend>> CudaBackend::create(const Options& options, const Dispatching& dispatching) {
  const auto tell = [&](const device::cuda::CompileProgress& progress) {
    if (options.notice && !progress.done) options.notice(progress.message);
  };
  auto gpu =
      device::cuda::Gpu::open(static_cast<int>(options.device_ordinal), tell,
                              options.code_cache ? device::cuda::CubinCache::of_user() : device::cuda::CubinCache());
  if (!gpu) return gpu.error();
  if (options.common_memory && options.lanes > (*gpu)->most_lanes())
    return too_many_common_lanes(options.lanes, (*gpu)->most_lanes());
  auto router = device::cuda::DeviceRouter::create((*gpu)->context, dispatching.mode(), dispatching.network());
  if (!router) return router.error();
  auto regions = GpuRegions::create(options, dispatching, **gpu);
  return std::unique_ptr<CudaBackend>(
      new CudaBackend(std::move(*gpu), std::move(*router), options, dispatching, std::move(regions)));
}

CudaBackend::CudaBackend(device::cuda::GpuPointer gpu, device::cuda::DeviceRouter router, const Options& options,
                         Dispatching dispatching, std::unique_ptr<GpuRegions> regions)
    : gpu_(std::move(gpu)),
      dispatching_(std::move(dispatching)),
      router_(std::move(router)),
      regions_(std::move(regions)),
      job_regions_(regions_ ? std::make_unique<GpuRegions>(regions_->settings()) : nullptr),
      cache_(regions_ && !regions_->settings().folder.path().empty(), options.notice),
      engine_(options.engine),
      memory_limit_(options.memory_limit),
      common_(options.common_memory),
      spread_(options.spread_jobs),
      meet_(!turned_off("KVRM_MEET")),
      lanes_per_warp_(number_in("KVRM_LANES_PER_WARP")),
      slice_(slice_of(*gpu_)),
      lanes_(options.lanes) {
  if (common_) common_memory_ = std::make_unique<memory::AddressSpace>(memory_limit_, true);
}

void CudaBackend::look_at_root(const linux_abi::ProcessOptions& options) {
  if (!regions_ || cache_.allows(options)) return;
  regions_->leave_cache();
  job_regions_->leave_cache();
}

LaneSet::Plan CudaBackend::plan(u32 lanes, u32 most_areas) const {
  return {.lanes = lanes,
          .memory_limit = memory_limit_,
          .most_areas = most_areas,
          .lanes_per_warp = lanes_per_warp_,
          .common = common_,
          .router = router_.router(),
          .dispatch_every = dispatching_.every()};
}

CudaBackend::Lane& CudaBackend::at(unsigned number) {
  auto& place = lanes_.at(number);
  if (!place) {
    place = std::make_unique<Lane>();
    if (!common_) place->memory = std::make_unique<memory::AddressSpace>(memory_limit_);
  }
  return *place;
}

Cpu& CudaBackend::cpu(unsigned number) {
  Lane& lane = at(number);
  lane.asked_for = true;
  return lane.cpu;
}

memory::GuestMemory& CudaBackend::memory(unsigned number) {
  if (common_) return *common_memory_;
  Lane& lane = at(number);
  if (!lane.memory) {
    // A program that has not run yet, and somebody wants to look into it: it gets a memory of its own after all.
    auto space = std::make_unique<memory::AddressSpace>(memory_limit_);
    auto process = linux_abi::Process::create(lane.options);
    Cpu ignored{};
    if (process) (void)process->start(lane.program->image, ignored, *space);
    lane.memory = std::move(space);
  }
  return *lane.memory;
}

Result<void> CudaBackend::start(unsigned number, const linux_abi::Program& program, linux_abi::ProcessOptions options) {
  look_at_root(options);
  auto& place = lanes_.at(number);
  auto lane = std::make_unique<Lane>();
  // Lanes are started one after the other, mostly with the same.
  const Lane* before = number > 0 ? lanes_[number - 1].get() : nullptr;
  if (before && before->program && before->program->image.file == program.file &&
      same_start(before->options, options)) {
    lane->program = before->program;
  } else {
    auto loaded = load_lane_program(program, options, memory_limit_);
    if (!loaded) return loaded.error();
    lane->program = *loaded;
  }
  lane->cpu = lane->program->contents.cpu;
  lane->options = std::move(options);
  lane->options.memory_limit = memory_limit_;
  place = std::move(lane);
  processes_.forget(number);
  return {};
}

// Puts all lanes that have not run yet on the GPU. Lanes that have run must not lose what they began with, so a lane
// cannot be started again while others go on.
Result<void> CudaBackend::place_lanes(const std::atomic<bool>& cancel) {
  bool missing = !set_, there = false;
  for (unsigned i = 0; i < lanes_.size(); ++i) {
    const Lane& lane = at(i);
    (lane.begun ? there : missing) = true;
  }
  if (!missing) return {};
  if (there && set_) return Error{"on a GPU all lanes of a machine are loaded before the first of them runs"};

  StartSet starts;
  std::vector<device::cuda::LaneJobInput> jobs(lanes_.size());
  std::unordered_map<const LaneProgram*, u32> known;
  for (unsigned i = 0; i < lanes_.size(); ++i) {
    Lane& lane = at(i);
    if (lane.options.input) jobs[i].input = bytes_of(*lane.options.input);
    if (lane.program && !lane.memory && !lane.asked_for) {
      const auto [found, is_new] = known.emplace(lane.program.get(), 0);
      if (is_new) found->second = starts.add(lane.program->contents);
      jobs[i].start = found->second;
      continue;
    }
    StartSet::Contents contents;
    if (lane.program) contents = lane.program->contents;
    contents.cpu = lane.cpu;
    contents.common = common_;
    if (const memory::GuestMemory* own = common_ ? common_memory_.get() : lane.memory.get()) {
      const auto& space = static_cast<const memory::AddressSpace&>(*own);
      contents.areas = space.source_areas();
      contents.pages = space.private_pages();
    }
    jobs[i].start = starts.add(contents);
  }
  auto set = LaneSet::create(gpu_, plan(static_cast<u32>(lanes_.size()), starts.most_areas()));
  if (!set) return set.error();
  if (auto placed = (*set)->place(starts, jobs); !placed) return placed;
  set_ = std::move(*set);
  if (auto begun = begin_regions(regions_.get(), *set_, starts, cancel); !begun) return begun;
  const bool is_raw = std::ranges::none_of(lanes_, [](const auto& lane) { return lane->program != nullptr; });
  if (regions_ && regions_->expects() && is_raw) {
    starts_ = std::make_unique<StartSet>(std::move(starts));
    start_of_.clear();
    for (const auto& job : jobs) start_of_.push_back(job.start);
  }
  return {};
}

Result<void> CudaBackend::translate_beginnings(unsigned first, std::size_t count, const std::atomic<bool>& cancel) {
  if (!starts_) return {};
  std::vector<u32> words;
  for (unsigned i = first; i < first + count; ++i) {
    if (const auto word = starts_->word_at(start_of_[i], at(i).cpu.pc)) words.push_back(*word);
  }
  return regions_->expect(words, &cancel);
}

Result<void> CudaBackend::begin_regions(GpuRegions* regions, LaneSet& set, const StartSet& starts,
                                        const std::atomic<bool>& cancel) const {
  if (!regions) return {};
  std::vector<translator::SharedCode> codes;
  for (const auto& code : starts.shared_code()) {
    codes.push_back({code.start, code.words, static_cast<u32>(code.offset / sizeof(u32))});
  }
  return regions->begin(make_target(gpu_, set), std::move(codes), starts.images(), &cancel);
}

void CudaBackend::watch_places(GpuRegions* regions, LaneSet::Run& run, LaneSet::Hooks& hooks) const {
  if (!regions) return;
  run.slice = regions->next(slice_);
  hooks.paused = [this, regions, cancel = hooks.cancel] { return regions->paused(slice_, cancel); };
}

void CudaBackend::count(const lanes::JobEnd& end) {
  past_.instructions += end.retired;
  past_.shared_instructions += end.shared;
  past_.in_kernel_calls += end.kernel_calls;
  past_.mailbox_calls += end.host_calls;
}

// The lane's memory, which is on the GPU.
RestingMemory& CudaBackend::resting(unsigned number) {
  auto& place = common_ ? common_memory_ : at(number).memory;
  if (!dynamic_cast<RestingMemory*>(place.get())) place = std::make_unique<RestingMemory>(*set_, number);
  return static_cast<RestingMemory&>(*place);
}

lanes::Outcome CudaBackend::call_hook(const Call& call, Cpu& cpu, memory::GuestMemory& memory, RunControl& control) {
  Lane& lane = at(call.request.lane);
  lane.cpu = cpu;
  RestingMemory& seen = resting(call.request.lane);
  seen.set_now(&memory);
  const bool go_on = control.system_call(call.request.lane, static_cast<u32>(cpu.fault_address));
  seen.set_now(nullptr);
  cpu = lane.cpu;
  return {go_on ? lanes::OutcomeKind::kContinue : lanes::OutcomeKind::kStopped, 0};
}

Stop CudaBackend::stop_of(unsigned number, Lane& lane, const lanes::JobEnd& end, LaneProcesses& processes) {
  constexpr int kKill = 9;
  const auto stop_here = [&](StopReason reason) { return stop_at(lane.cpu, end.word, reason); };
  Stop stop;
  switch (end.stop.kind) {
    case lanes::StopKind::kBudget: return stop_here(StopReason::kBudget);
    case lanes::StopKind::kCancelled: return stop_here(StopReason::kCancelled);
    case lanes::StopKind::kTrap:
      return end.stop.trap == Trap::kSystemCall ? stop_here(StopReason::kSystemCall)
                                                : raw_stop(lane.cpu, end.word, end.stop.trap);
    case lanes::StopKind::kExit:
      stop = stop_here(StopReason::kExit);
      stop.exit_status = end.stop.code;
      break;
    case lanes::StopKind::kSignal:
    case lanes::StopKind::kDeadlock:
      stop = stop_here(StopReason::kSignal);
      stop.signal = end.stop.kind == lanes::StopKind::kDeadlock ? kKill : end.stop.code;
      stop.message = processes.message(number);
      break;
    default:
      stop = device_stop({"the lane stopped for a reason of the device's (" +
                          std::to_string(static_cast<unsigned>(end.stop.kind)) + ", " +
                          std::to_string(static_cast<unsigned>(end.stop.trap)) +
                          "): no memory to begin, or a call that could not be served"});
      break;
  }
  lane.ended = stop;
  return stop;
}

Result<void> CudaBackend::try_run(unsigned first, std::span<LaneResult> results, u64 budget, RunControl& control) {
  if (auto placed = place_lanes(control.cancel); !placed) return placed;
  if (auto settled = regions_ ? regions_->settle(&control.cancel) : Result<void>(); !settled) return settled;
  if (auto translated = translate_beginnings(first, results.size(), control.cancel); !translated) return translated;
  std::vector<lanes::Order> orders(set_->padded_lanes(), lanes::Order::kRest);
  u64 alive = 0;
  // All lanes begin with the first launch, so that whatever is done to them later is done on the GPU.
  for (unsigned i = 0; i < lanes_.size(); ++i) {
    if (at(i).begun || (i >= first && i < first + results.size())) continue;
    orders[i] = lanes::Order::kBeginAtRest;
    at(i).begun = true;
    at(i).asked_for = false;
    (void)resting(i);
  }
  std::vector<Cpu> changed;  // of the lanes before this one, without a gap
  const auto send_changed = [&](unsigned end) {
    auto sent = set_->set_registers(first + end - static_cast<unsigned>(changed.size()), changed);
    changed.clear();
    return sent;
  };
  for (unsigned i = 0; i < results.size(); ++i) {
    Lane& lane = at(first + i);
    if (!lane.ended && lane.begun && lane.asked_for) {
      changed.push_back(lane.cpu);
    } else if (auto sent = send_changed(i); !sent) {
      return sent;
    }
    if (lane.ended) continue;
    ++alive;
    orders[first + i] = lane.begun ? lanes::Order::kGoOn : lanes::Order::kBegin;
    lane.begun = true;
    (void)resting(first + i);
    lane.options.cancel = &control.cancel;
  }
  if (auto sent = send_changed(static_cast<unsigned>(results.size())); !sent) return sent;
  control.progress.lanes_alive.fetch_add(alive, std::memory_order_relaxed);
  Growth growth(control.progress.instructions);
  std::mutex hook_mutex;
  std::atomic<bool> output_failed = false;
  LaneSet::Hooks hooks;
  hooks.cancel = &control.cancel;
  hooks.failed = &output_failed;
  hooks.progress = [&](u64 total) { growth.reach(total); };
  hooks.output = [&](u32 number, lanes::Stream stream, std::span<const u8> bytes) {
    Lane& lane = at(number);
    if (lane.output_error == 0) lane.output_error = put_output(lane.options, stream, bytes);
    if (lane.output_error != 0) output_failed.store(true, std::memory_order_relaxed);
  };
  hooks.serve = [&](const Call& call, Cpu& cpu, memory::GuestMemory& memory) -> lanes::Outcome {
    if (!at(call.request.lane).program) {
      const std::lock_guard lock(hook_mutex);
      return call_hook(call, cpu, memory, control);
    }
    return processes_.serve(call.request.lane, call, cpu, memory, [&](u32 number) { return at(number).options; });
  };
  LaneSet::Run run{.budget = budget,
                   .meet = meet_ && !common_,
                   .raw_calls = static_cast<bool>(control.system_call),
                   .slice = {.time = slice_},
                   .orders = orders};
  watch_places(regions_.get(), run, hooks);
  const auto ran = set_->run(run, hooks);
  control.progress.lanes_alive.fetch_sub(alive, std::memory_order_relaxed);
  if (!ran) return ran;
  u64 total = 0;
  for (unsigned i = 0; i < results.size(); ++i) {
    Lane& lane = at(first + i);
    if (lane.ended) {
      results[i] = {*lane.ended, 0};
      continue;
    }
    const lanes::JobEnd& end = set_->end(first + i);
    lane.cpu = end.registers;
    lane.asked_for = false;
    count(end);
    total += end.retired;
    if (lane.output_error != 0) lane.ended = output_stop(lane.cpu, end.word, lane.output_error);
    results[i] = {lane.ended ? *lane.ended : stop_of(first + i, lane, end, processes_), end.retired};
  }
  growth.reach(total);
  return {};
}

void CudaBackend::run(unsigned first, std::span<LaneResult> results, u64 budget, RunControl& control) {
  const auto ran = try_run(first, results, budget, control);
  if (ran) return;
  for (LaneResult& result : results) result = {device_stop(ran.error()), 0};
}

Result<void> CudaBackend::run_jobs(std::span<const LaneJob> jobs, const JobLimits& limits, const JobCallback& done,
                                   RunControl& control) {
  if (jobs.empty()) return {};
  for (const LaneJob& job : jobs) look_at_root(job.program->options);
  struct Kept {
    KeptOutput output, errors;
  };
  TimedJobs timed(limits, jobs.size(), control.cancel);
  std::vector<Kept> kept(jobs.size(), Kept{{{}, false, limits.max_output}, {{}, false, limits.max_output}});
  for (Kept& one : kept) one.output.account = one.errors.account = std::make_shared<memory::Account>(memory_limit_);
  const auto options_of = [&](u32 number) {
    auto options = job_options(jobs[number], kept[number].output, kept[number].errors);
    options.cancel = timed.cancel_of(number);
    options.memory_limit = memory_limit_;
    return options;
  };

  // What the jobs begin with: the same for all with the same program and arguments.
  StartSet starts;
  std::map<std::pair<const JobProgram*, std::vector<std::string>>, u32> known;
  std::vector<std::shared_ptr<const LaneProgram>> programs;
  std::vector<device::cuda::LaneJobInput> inputs;
  std::vector<u32> numbers;  // of the jobs that can begin
  for (u32 i = 0; i < jobs.size(); ++i) {
    const auto [found, is_new] = known.emplace(std::pair{jobs[i].program, jobs[i].job->args}, 0);
    if (is_new) {
      auto loaded = load_lane_program(jobs[i].program->image, options_of(i), memory_limit_);
      if (!loaded) {
        known.erase(found);
        JobResult result;
        result.index = jobs[i].job->index;
        result.error = loaded.error().message;
        done(std::move(result));
        continue;
      }
      found->second = starts.add((*loaded)->contents);
      programs.push_back(std::move(*loaded));
    }
    const auto& input = jobs[i].job->input;
    inputs.push_back({found->second, input ? bytes_of(*input) : std::span<const u8>()});
    numbers.push_back(i);
  }
  if (numbers.empty()) return {};

  const unsigned most = spread_ ? gpu_->single_warps : gpu_->most_lanes();
  const unsigned lane_count = static_cast<unsigned>(std::min<u64>({lanes_.size(), numbers.size(), most}));
  if (!job_set_ || job_lanes_ != lane_count) {
    job_set_.reset();
    auto job_plan = plan(lane_count, std::max(starts.most_areas(), 32u));
    job_plan.common = false;
    auto set = LaneSet::create(gpu_, job_plan);
    if (!set) return set.error();
    job_set_ = std::move(*set);
    job_lanes_ = lane_count;
  }
  if (auto placed = job_set_->place(starts, inputs); !placed) return placed;
  if (auto begun = begin_regions(job_regions_.get(), *job_set_, starts, control.cancel); !begun) return begun;

  LaneProcesses processes;
  Growth growth(control.progress.instructions);
  control.progress.lanes_alive.fetch_add(lane_count, std::memory_order_relaxed);
  LaneSet::Hooks hooks;
  hooks.cancel = &control.cancel;
  hooks.progress = [&](u64 total) {
    growth.reach(total);
    timed.pass_on_cancel();
  };
  hooks.overdue = [&](u32 number) {
    timed.stop(numbers[number]);
    past_.launches_reason = "pauses to stop jobs that took too long";
  };
  hooks.output = [&](u32 number, lanes::Stream stream, std::span<const u8> bytes) {
    Kept& own = kept[numbers[number]];
    (stream == lanes::Stream::kOut ? own.output : own.errors).take(bytes);
  };
  hooks.serve = [&](const Call& call, Cpu& cpu, memory::GuestMemory& memory) {
    const auto outcome =
        processes.serve(call.request.job, call, cpu, memory, [&](u32 number) { return options_of(numbers[number]); });
    return timed.after_call(numbers[call.request.job], outcome);
  };
  hooks.finished = [&](std::span<const u32> ended) {
    for (const u32 number : ended) {
      const u32 i = numbers[number];
      lanes::JobEnd end = job_set_->end(number);
      const bool timed_out = timed.timed_out(i, end);
      Lane lane;
      lane.cpu = end.registers;
      JobResult result;
      result.index = jobs[i].job->index;
      result.stop =
          timed_out ? stop_at(lane.cpu, end.word, StopReason::kTimeout) : stop_of(number, lane, end, processes);
      result.instructions = end.retired;
      result.registers = registers_of(lane.cpu);
      result.output = std::move(kept[i].output.bytes);
      result.errors = std::move(kept[i].errors.bytes);
      result.output_cut = kept[i].output.cut;
      result.errors_cut = kept[i].errors.cut;
      processes.forget(number);
      count(end);
      if (result.stop.reason != StopReason::kCancelled) {
        ++past_.jobs;
        control.progress.jobs_done.fetch_add(1, std::memory_order_relaxed);
      }
      done(std::move(result));
    }
  };
  LaneSet::Run run{.budget = limits.instructions,
                   .meet = meet_,
                   .slice = {.time = slice_},
                   .orders = {},
                   .job_time = limits.timeout};
  watch_places(job_regions_.get(), run, hooks);
  const auto ran = job_set_->run(run, hooks);
  control.progress.lanes_alive.fetch_sub(lane_count, std::memory_order_relaxed);
  return ran;
}

Statistics CudaBackend::statistics() const {
  Statistics result = past_;
  result.system_calls = result.in_kernel_calls + result.mailbox_calls;
  for (const auto* set : {set_.get(), job_set_.get()}) {
    if (set) result.launches += set->launches();
  }
  if (slice_.count() != 0) {
    result.launches_reason =
        std::string("slices of ") + std::to_string(slice_.count()) + " ms, " +
        (std::getenv(kSliceVariable) ? "as KVRM_SLICE_MS says" : "the driver limits a kernel's time");
  }
  if (const auto counts = router_.counts()) result.dispatch = dispatching_.statistics(counts.value());
  result.device = "cuda";
  const bool interpreted = !regions_ || regions_->has_failed() || job_regions_->has_failed();
  result.engine = interpreted ? "interp" : engine_ == Engine::kJit ? "jit" : "auto";
  for (const auto* regions : {regions_.get(), job_regions_.get()}) {
    if (regions) regions->add_to(result);
  }
  return result;
}

}  // namespace kvrm
