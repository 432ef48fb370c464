// The host's end of the mailbox: threads that poll for requests and serve them.
//
// One thread at a time polls the flags. When it finds a request it wakes another thread (a waiting one, or a new one if
// all are busy) to poll, and serves the request itself. So the call of a single lane needs no thread switch, and a call
// that blocks, such as a read from a terminal, delays no other. There are never more threads than slots plus one.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "backend/kernel/mailbox.h"
#include "base/cpu.h"
#include "memory/guest_memory.h"

namespace kvrm::backend::cuda {

struct Call {
  kernel::Request request;
  std::span<u64> process;  // the lane's part of its process; what the handler writes goes back to the lane
};

struct ServiceStatistics {
  u64 system_calls = 0, faults = 0, ticks = 0, ends = 0;
  u64 commands = 0;  // accesses to lanes' memory
  u64 threads = 0;  // the most there were at a time
};

class Service {
 public:
  // Called by many threads at once, but never twice at a time for one lane; each call sees what the lane's calls before
  // it did. The lane continues with cpu and call.process as the handler leaves them.
  using Handler = std::function<kernel::Outcome(const Call& call, Cpu& cpu, memory::GuestMemory& memory)>;

  // Whether a request may be served yet: its lane's output must have been drained. Called until it returns true, by
  // many threads at once.
  using Ready = std::function<bool(const kernel::Request& request)>;

  // The mailbox as the host sees it; `free` is not used. Starts at once.
  Service(const kernel::Mailbox& mailbox, Handler handler, Ready ready = {});
  ~Service();  // abort() unless stop() came before it
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // From now on system calls are answered kCancelled: later ones and, if the handler polls cancelled() while it waits
  // (linux_abi::ProcessOptions::cancel), current ones. Faults and ticks are served: they never wait.
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  void resume() { cancelled_.store(false, std::memory_order_relaxed); }
  const std::atomic<bool>& cancelled() const { return cancelled_; }

  // Stops polling, lets current calls finish and joins all threads. For when the lanes have stopped.
  void stop();
  // The same when lanes may not answer any more (device lost): calls that wait for a lane's memory give up, their lanes
  // get no reply.
  void abort();

  ServiceStatistics statistics() const;
  // What a handler threw first; empty: nothing. Its lane got kFailed.
  std::string error() const;

 private:
  void start_thread();
  void run();
  bool poll(u32& slot);
  void serve(u32 slot);
  kernel::Outcome handle(const Call& call, Cpu& cpu, memory::GuestMemory& memory);

  const kernel::Mailbox mailbox_;
  const Handler handler_;
  const Ready ready_;
  std::atomic<bool> cancelled_{false}, stopping_{false}, gone_{false};
  std::array<std::atomic<u64>, 4> requests_{};  // by RequestKind
  std::atomic<u64> commands_{0};
  u32 next_slot_ = 0;  // the polling thread's: where it continues

  mutable std::mutex mutex_;
  std::condition_variable may_poll_;
  bool is_polled_ = false;
  u32 idle_ = 0;
  std::string error_;
  std::vector<std::thread> threads_;
  u64 most_threads_ = 0;
};

}  // namespace kvrm::backend::cuda
