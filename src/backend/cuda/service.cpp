#include "backend/cuda/service.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <type_traits>
#include <utility>

#include "backend/cuda/remote_memory.h"

namespace kvrm::backend::cuda {
namespace {

constexpr u64 kInstructionBytes = 4;

static_assert(std::has_unique_object_representations_v<Cpu>, "no padding: states can be compared as bytes");

// Whether the state is unchanged but for x0 and the clock, which every reply carries.
bool only_x0_differs(const Cpu& before, Cpu after) {
  after.x[0] = before.x[0];
  after.clock_ns = before.clock_ns;
  return std::memcmp(&before, &after, sizeof before) == 0;
}

}  // namespace

Service::Service(const kernel::Mailbox& mailbox, Handler handler, Ready ready)
    : mailbox_(mailbox), handler_(std::move(handler)), ready_(std::move(ready)) {
  const std::lock_guard lock(mutex_);
  start_thread();
}

Service::~Service() {
  if (!stopping_.load()) abort();
}

void Service::abort() {
  gone_.store(true, std::memory_order_relaxed);
  cancel();
  stop();
}

void Service::stop() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    stopping_.store(true);
    threads.swap(threads_);
  }
  may_poll_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

// With the mutex held.
void Service::start_thread() {
  threads_.emplace_back([this] { run(); });
  most_threads_ = std::max<u64>(most_threads_, threads_.size());
}

void Service::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_.load()) {
    if (is_polled_) {
      ++idle_;
      may_poll_.wait(lock, [this] { return !is_polled_ || stopping_.load(); });
      --idle_;
      continue;
    }
    is_polled_ = true;
    lock.unlock();
    u32 slot = 0;
    const bool found = poll(slot);
    lock.lock();
    is_polled_ = false;
    if (!found) break;
    if (idle_ != 0) {
      may_poll_.notify_one();
    } else if (!stopping_.load() && threads_.size() <= mailbox_.count) {
      start_thread();
    }
    lock.unlock();
    serve(slot);
    lock.lock();
  }
}

// Waits for a request and accepts it: true. False when the service stops.
bool Service::poll(u32& slot) {
  for (Backoff backoff; !stopping_.load(std::memory_order_relaxed); backoff.wait()) {
    for (u32 i = 0; i < mailbox_.count; ++i) {
      const u32 at = next_slot_;
      next_slot_ = next_slot_ + 1 == mailbox_.count ? 0 : next_slot_ + 1;
      if (sync::load<sync::kAcquire, sync::kSystem>(&mailbox_.flags[at]) != kernel::kRequest) continue;
      sync::store<sync::kRelaxed, sync::kSystem>(&mailbox_.flags[at], u32{kernel::kServing});
      slot = at;
      return true;
    }
  }
  return false;
}

kernel::Outcome Service::handle(const Call& call, Cpu& cpu, memory::GuestMemory& memory) {
  for (Backoff backoff; ready_ && !ready_(call.request); backoff.wait()) {
    if (gone_.load(std::memory_order_relaxed)) throw LaneGone();
  }
  if (call.request.kind == kernel::RequestKind::kSystemCall && cancelled_.load(std::memory_order_relaxed)) {
    cpu.pc -= kInstructionBytes;
    return {.kind = kernel::OutcomeKind::kCancelled};
  }
  return handler_(call, cpu, memory);
}

void Service::serve(u32 number) {
  kernel::Slot& slot = mailbox_.slots[number];
  const kernel::Request request = slot.request;
  requests_[static_cast<u32>(request.kind) % requests_.size()].fetch_add(1, std::memory_order_relaxed);
  const Cpu before = slot.cpu;
  std::array<u64, kernel::kMostProcessWords> process;
  std::memcpy(process.data(), slot.process, sizeof process);

  Cpu cpu = before;
  RemoteMemory memory(mailbox_, number, gone_);
  kernel::Outcome outcome;
  const auto record_error = [this](const char* what) {
    const std::lock_guard lock(mutex_);
    if (error_.empty()) error_ = what;
  };
  bool lane_listens = true;
  try {
    outcome = handle({request, process}, cpu, memory);
  } catch (const LaneGone&) {
    lane_listens = false;
  } catch (const std::exception& error) {
    record_error(error.what());
    outcome = {.kind = kernel::OutcomeKind::kFailed};
  }
  commands_.fetch_add(memory.commands(), std::memory_order_relaxed);
  if (!lane_listens) return;

  slot.reply = {outcome, 0, cpu.x[0], cpu.clock_ns};
  if (!only_x0_differs(before, cpu)) {
    slot.cpu = cpu;
    slot.reply.changed |= kernel::kChangedCpu;
  }
  if (std::memcmp(process.data(), slot.process, sizeof process) != 0) {
    std::memcpy(slot.process, process.data(), sizeof process);
    slot.reply.changed |= kernel::kChangedProcess;
  }
  sync::store<sync::kRelease, sync::kSystem>(&mailbox_.flags[number], u32{kernel::kReply});
}

ServiceStatistics Service::statistics() const {
  const std::lock_guard lock(mutex_);
  const auto count = [this](kernel::RequestKind kind) { return requests_[static_cast<u32>(kind)].load(); };
  return {.system_calls = count(kernel::RequestKind::kSystemCall),
          .faults = count(kernel::RequestKind::kFault),
          .ticks = count(kernel::RequestKind::kTick),
          .ends = count(kernel::RequestKind::kEnd),
          .commands = commands_.load(),
          .threads = most_threads_};
}

std::string Service::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

}  // namespace kvrm::backend::cuda
