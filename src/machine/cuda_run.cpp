// Runs of a machine's lanes on a GPU.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "machine/cuda_backend.h"
#include "machine/jobs.h"
#include "machine/stops.h"

namespace kvrm {

namespace kernel = backend::kernel;
using backend::cuda::Call;
using backend::cuda::LaneSet;
using backend::cuda::StartSet;

namespace {

// 0, or an errno.
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

// Sends what a lane wrote inside the kernel to the files of its process. Returns an errno if stdout failed.
int put_output(const linux_abi::ProcessOptions& options, kernel::Stream stream, std::span<const u8> bytes) {
  const bool out = stream == kernel::Stream::kOut;
  if (const auto& sink = out ? options.output : options.errors) {
    sink(bytes);
    return 0;
  }
  const int error = write_all(out ? options.stdout_fd : options.stderr_fd, bytes);
  return out ? error : 0;
}

// The kernel told the lane that its output was written, but it was not. A closed pipe kills the program, as it would
// most programs on a host.
Stop output_stop(const Cpu& cpu, u32 word, int error) {
  Stop stop = stop_at(cpu, word, error == EPIPE ? StopReason::kSignal : StopReason::kDevice);
  if (error == EPIPE) {
    stop.signal = SIGPIPE;
  } else {
    stop.message = std::string("stdout: ") + std::strerror(error);
  }
  return stop;
}

// Nothing follows these stops.
bool is_final(const Stop& stop) {
  return stop.reason == StopReason::kExit || stop.reason == StopReason::kSignal || stop.reason == StopReason::kDevice;
}

}  // namespace

Stop CudaBackend::stop_of(u32 number, const Cpu& cpu, const kernel::JobEnd& end, LaneProcesses& processes) {
  constexpr int kKill = 9;
  const auto stop_here = [&](StopReason reason) { return stop_at(cpu, end.word, reason); };
  Stop stop;
  switch (end.stop.kind) {
    case kernel::StopKind::kBudget: stop = stop_here(StopReason::kBudget); break;
    case kernel::StopKind::kCancelled: stop = stop_here(StopReason::kCancelled); break;
    case kernel::StopKind::kTrap:
      stop = end.stop.trap == Trap::kSystemCall ? stop_here(StopReason::kSystemCall)
                                                : raw_stop(cpu, end.word, end.stop.trap);
      break;
    case kernel::StopKind::kExit:
      stop = stop_here(StopReason::kExit);
      stop.exit_status = end.stop.code;
      break;
    case kernel::StopKind::kSignal:
    case kernel::StopKind::kDeadlock:
      stop = stop_here(StopReason::kSignal);
      stop.signal = end.stop.kind == kernel::StopKind::kDeadlock ? kKill : end.stop.code;
      stop.message = processes.message(number);
      break;
    default:
      stop = device_stop({"the lane stopped for a reason of the device's (" +
                          std::to_string(static_cast<unsigned>(end.stop.kind)) + ", " +
                          std::to_string(static_cast<unsigned>(end.stop.trap)) +
                          "): no memory to start, or a call that could not be served"});
      break;
  }
  return stop;
}

// --- lanes on the GPU --------------------------------------------------------------------------------------------

// The initial contents of a lane that does not share them with others.
StartSet::Contents CudaBackend::private_contents(const Lane& lane) const {
  StartSet::Contents contents;
  if (lane.program) contents = lane.program->contents;
  contents.cpu = lane.cpu;
  contents.shares_memory = shares_memory_;
  if (const memory::GuestMemory* own = shares_memory_ ? shared_memory_.get() : lane.memory.get()) {
    const auto& space = static_cast<const memory::AddressSpace&>(*own);
    contents.areas = space.source_areas();
    contents.pages = space.private_pages();
  }
  return contents;
}

// Puts all lanes on the GPU before the first run. A lane that has run keeps its state only there, so no lane can be
// started again while others continue.
Result<void> CudaBackend::place_lanes(const std::atomic<bool>& cancel) {
  bool missing = !set_, there = false;
  for (unsigned i = 0; i < lanes_.size(); ++i) {
    const Lane& lane = at(i);
    (lane.begun ? there : missing) = true;
  }
  if (!missing) return {};
  if (there && set_) return Error{"on a GPU all lanes of a machine are loaded before the first of them runs"};

  StartSet starts;
  std::vector<kernel::LaunchJob> jobs(lanes_.size());
  std::unordered_map<const LaneProgram*, u32> known;
  for (unsigned i = 0; i < lanes_.size(); ++i) {
    Lane& lane = at(i);
    if (lane.options.input) {
      const std::span<const u8> bytes = bytes_of(*lane.options.input);
      jobs[i].input = bytes.data();
      jobs[i].input_size = bytes.size();
    }
    if (!lane.program || lane.memory || lane.has_reference) {
      jobs[i].start = starts.add(private_contents(lane));
      continue;
    }
    const auto [found, is_new] = known.emplace(lane.program.get(), 0);
    if (is_new) found->second = starts.add(lane.program->contents);
    jobs[i].start = found->second;
  }
  auto set = LaneSet::create(gpu_, plan(static_cast<u32>(lanes_.size()), starts.most_areas()));
  if (!set) return set.error();
  if (auto placed = (*set)->load(starts, jobs); !placed) return placed;
  keep_counts(set_.get());
  set_ = std::move(*set);
  if (auto begun = begin_regions(regions_.get(), lane_loops_.get(), *set_, starts, cancel); !begun) return begun;
  const bool is_raw = std::ranges::none_of(lanes_, [](const auto& lane) { return lane->program != nullptr; });
  if (regions_ && regions_->expects() && is_raw) {
    starts_ = std::make_unique<StartSet>(std::move(starts));
    start_of_.clear();
    for (const auto& job : jobs) start_of_.push_back(job.start);
  }
  return {};
}

Result<void> CudaBackend::translate_snapshots(unsigned first, std::size_t count, const std::atomic<bool>& cancel) {
  if (!starts_) return {};
  std::vector<u32> words;
  for (unsigned i = first; i < first + count; ++i) {
    if (const auto word = starts_->word_at(start_of_[i], at(i).cpu.pc)) words.push_back(*word);
  }
  return regions_->expect(words, &cancel);
}

// The lane's memory on the GPU.
StoppedMemory& CudaBackend::stopped_memory(unsigned number) {
  auto& memory = shares_memory_ ? shared_memory_ : at(number).memory;
  if (!dynamic_cast<StoppedMemory*>(memory.get())) memory = std::make_unique<StoppedMemory>(*set_, number);
  return static_cast<StoppedMemory&>(*memory);
}

// --- one run -----------------------------------------------------------------------------------------------------

// The order of each lane for a launch that runs `count` lanes from `first` on. `alive`: the lanes that will run.
Result<std::vector<kernel::Order>> CudaBackend::order_lanes(unsigned first, unsigned count, RunControl& control,
                                                            u64& alive) {
  std::vector<kernel::Order> orders(set_->padded_lanes(), kernel::Order::kStayStopped);
  // The first launch starts all lanes: later changes to any of them happen on the GPU.
  for (unsigned i = 0; i < lanes_.size(); ++i) {
    if (at(i).begun || (i >= first && i < first + count)) continue;
    orders[i] = kernel::Order::kStartStopped;
    at(i).begun = true;
    at(i).has_reference = false;
    (void)stopped_memory(i);
  }
  std::vector<Cpu> changed;  // registers of consecutive lanes that end before the current one
  const auto send_changed = [&](unsigned end) {
    auto sent = set_->set_registers(first + end - static_cast<unsigned>(changed.size()), changed);
    changed.clear();
    return sent;
  };
  for (unsigned i = 0; i < count; ++i) {
    Lane& lane = at(first + i);
    if (!lane.ended && lane.begun && lane.has_reference) {
      changed.push_back(lane.cpu);
    } else if (auto sent = send_changed(i); !sent) {
      return sent.error();
    }
    if (lane.ended) continue;
    ++alive;
    orders[first + i] = lane.begun ? kernel::Order::kContinue : kernel::Order::kStart;
    lane.begun = true;
    (void)stopped_memory(first + i);
    lane.options.cancel = &control.cancel;
  }
  if (auto sent = send_changed(count); !sent) return sent.error();
  return orders;
}

kernel::Outcome CudaBackend::call_hook(const Call& call, Cpu& cpu, memory::GuestMemory& memory, RunControl& control) {
  Lane& lane = at(call.request.lane);
  lane.cpu = cpu;
  StoppedMemory& seen = stopped_memory(call.request.lane);
  seen.set_now(&memory);
  const bool continues = control.system_call(call.request.lane, static_cast<u32>(cpu.fault_address));
  seen.set_now(nullptr);
  cpu = lane.cpu;
  return {continues ? kernel::OutcomeKind::kContinue : kernel::OutcomeKind::kStopped, 0};
}

Result<void> CudaBackend::launch(u64 budget, std::span<const kernel::Order> orders, RunControl& control,
                                 Growth& growth) {
  std::mutex hook_mutex;
  std::atomic<bool> output_failed = false;
  LaneSet::Hooks hooks;
  hooks.cancel = &control.cancel;
  hooks.failed = &output_failed;
  hooks.progress = [&](u64 total) { growth.reach(total); };
  hooks.output = [&](u32 number, kernel::Stream stream, std::span<const u8> bytes) {
    Lane& lane = at(number);
    if (lane.output_error == 0) lane.output_error = put_output(lane.options, stream, bytes);
    if (lane.output_error != 0) output_failed.store(true, std::memory_order_relaxed);
  };
  hooks.serve = [&](const Call& call, Cpu& cpu, memory::GuestMemory& memory) -> kernel::Outcome {
    if (!at(call.request.lane).program) {
      const std::lock_guard lock(hook_mutex);
      return call_hook(call, cpu, memory, control);
    }
    return processes_.serve(call.request.lane, call, cpu, memory, [&](u32 number) { return at(number).options; });
  };
  LaneSet::Run run{.budget = budget,
                   .reconverge = reconverges_ && !shares_memory_,
                   .raw_calls = static_cast<bool>(control.system_call),
                   .slice = {.time = slice_},
                   .orders = orders};
  watch_regions(regions_.get(), lane_loops_.get(), *set_, run, hooks);
  auto ran = set_->run(run, hooks);
  return ran && lane_loops_ ? lane_loops_->count(*set_) : ran;
}

// The stop of a lane after a launch.
Stop CudaBackend::collect(unsigned number) {
  Lane& lane = at(number);
  if (lane.ended) return *lane.ended;
  const kernel::JobEnd& end = set_->end(number);
  lane.cpu = end.registers;
  lane.has_reference = false;
  count(end);
  Stop stop = lane.output_error != 0 ? output_stop(lane.cpu, end.word, lane.output_error)
                                     : stop_of(number, lane.cpu, end, processes_);
  if (is_final(stop)) lane.ended = stop;
  stop.instructions = end.retired;
  return stop;
}

Result<void> CudaBackend::try_run(unsigned first, std::span<Stop> stops, u64 budget, RunControl& control) {
  if (auto placed = place_lanes(control.cancel); !placed) return placed;
  if (auto settled = regions_ ? regions_->settle(&control.cancel) : Result<void>(); !settled) return settled;
  if (auto translated = translate_snapshots(first, stops.size(), control.cancel); !translated) return translated;
  u64 alive = 0;
  const auto orders = order_lanes(first, static_cast<unsigned>(stops.size()), control, alive);
  if (!orders) return orders.error();
  Growth growth(control.progress.instructions);
  control.progress.lanes_alive.fetch_add(alive, std::memory_order_relaxed);
  const auto ran = launch(budget, orders.value(), control, growth);
  control.progress.lanes_alive.fetch_sub(alive, std::memory_order_relaxed);
  if (!ran) return ran;
  u64 total = 0;
  for (unsigned i = 0; i < stops.size(); ++i) {
    stops[i] = collect(first + i);
    total += stops[i].instructions;
  }
  growth.reach(total);
  return {};
}

void CudaBackend::run(unsigned first, std::span<Stop> stops, u64 budget, RunControl& control) {
  const auto ran = try_run(first, stops, budget, control);
  if (!ran) std::ranges::fill(stops, device_stop(ran.error()));
}

}  // namespace kvrm
