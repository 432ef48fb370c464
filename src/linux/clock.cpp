#include "linux/clock.h"

#include <time.h>

#include <algorithm>
#include <cerrno>

#include "linux/kernel_state.h"

namespace kvrm::linux_abi {
namespace {

constexpr u64 kSlice = kSecond / 20;  // how late a cancellation may be noticed
constexpr int kTimerSignals[kTimers] = {kSigalrm, kSigvtalrm, kSigprof};

u64 host_ns(clockid_t id) {
  timespec now{};
  ::clock_gettime(id, &now);
  return u64(now.tv_sec) * kSecond + u64(now.tv_nsec);
}

// The first timer whose signal would end a wait.
std::optional<u64> next_interruption(const Kernel& kernel) {
  std::optional<u64> first;
  for (std::size_t i = 0; i < kTimers; ++i) {
    const Timer& timer = kernel.timers[i];
    const int signal = kTimerSignals[i];
    if (timer.deadline == 0 || kernel.signals.has_no_effect(signal)) continue;
    if (kernel.signals.blocked & signal_bit(signal)) continue;
    if (!first || timer.deadline < *first) first = timer.deadline;
  }
  return first;
}

bool poll_once(std::span<pollfd> files, u64 timeout_ns) {
  timespec timeout{};
  timeout.tv_sec = time_t(timeout_ns / kSecond);
  timeout.tv_nsec = long(timeout_ns % kSecond);
  return ::ppoll(files.data(), nfds_t(files.size()), &timeout, nullptr) > 0;
}

}  // namespace

u64 Clock::realtime_ns(const Cpu& cpu) const { return is_virtual() ? kEpoch + cpu.clock_ns : host_ns(CLOCK_REALTIME); }

u64 Clock::monotonic_ns(const Cpu& cpu) const { return is_virtual() ? cpu.clock_ns : host_ns(CLOCK_MONOTONIC); }

u64 Clock::cpu_ns(const Cpu& cpu) const { return is_virtual() ? cpu.clock_ns : host_ns(CLOCK_THREAD_CPUTIME_ID); }

void Clock::advance_to(Cpu& cpu, u64 monotonic) const {
  if (is_virtual()) cpu.clock_ns = std::max(cpu.clock_ns, std::min(monotonic, kForever));
}

void fire_timers(Kernel& kernel, const Cpu& cpu) {
  for (std::size_t i = 0; i < kTimers; ++i) {
    Timer& timer = kernel.timers[i];
    if (timer.deadline == 0) continue;
    const u64 now = kernel.clock.monotonic_ns(cpu);
    if (now < timer.deadline) continue;
    kernel.signals.post(make_siginfo(kTimerSignals[i], kSiKernel));
    // Periods that went by unseen are one signal, as they are for a busy Linux process.
    timer.deadline = timer.interval == 0
                         ? 0
                         : timer.deadline + (now - timer.deadline) / timer.interval * timer.interval + timer.interval;
  }
}

Wait wait_for(Kernel& kernel, Cpu& cpu, std::span<pollfd> files, bool external, std::optional<u64> deadline) {
  if (!files.empty() && poll_once(files, 0)) return Wait::kReady;
  fire_timers(kernel, cpu);
  if (kernel.signals.deliverable()) return Wait::kInterrupted;
  const u64 now = kernel.clock.monotonic_ns(cpu);
  std::optional<u64> end = deadline;
  if (const auto interruption = next_interruption(kernel)) end = end ? std::min(*end, *interruption) : *interruption;
  if (!external && !end) return Wait::kNever;

  if (external || !kernel.clock.is_virtual()) {
    const u64 start = host_ns(CLOCK_MONOTONIC);
    const u64 length = end ? (*end > now ? *end - now : 0) : kForever;
    for (u64 passed = 0; passed < length; passed = host_ns(CLOCK_MONOTONIC) - start) {
      if (kernel.options.cancel && kernel.options.cancel->load(std::memory_order_relaxed)) return Wait::kCancelled;
      if (poll_once(files, std::min(kSlice, length - passed))) return Wait::kReady;
    }
  }
  kernel.clock.advance_to(cpu, *end);
  fire_timers(kernel, cpu);
  return kernel.signals.deliverable() ? Wait::kInterrupted : Wait::kTimedOut;
}

}  // namespace kvrm::linux_abi
