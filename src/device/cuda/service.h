// The host's end of the mailbox: threads that look for requests and have them served.
//
// The threads take turns. One of them watches the flags; when it finds a request it leaves the watch to another (a
// waiting one, or a new one if all are busy) and serves the request itself. So a lone lane's call needs no thread
// switch, and a call that blocks, a read from a terminal say, holds up no other. There are never more threads than
// slots plus one.
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

#include "base/cpu.h"
#include "device/lanes/mailbox.h"
#include "memory/guest_memory.h"

namespace kvrm::device::cuda {

struct Call {
  lanes::Request request;
  std::span<u64> process;  // the lane's note of its process; what the handler writes goes back to the lane
};

struct ServiceStatistics {
  u64 system_calls = 0, faults = 0, ticks = 0, ends = 0;
  u64 commands = 0;  // accesses to lanes' memory
  u64 threads = 0;   // the most there were at a time
};

class Service {
 public:
  // Called by many threads at once, but never twice at a time for one lane; each call sees what the lane's calls before
  // it did. Whatever it does to cpu and call.process the lane has when it goes on.
  using Handler = std::function<lanes::Outcome(const Call& call, Cpu& cpu, memory::GuestMemory& memory)>;

  // What must happen before a request is served, its lane's output be taken out of the ring for one. Asked again until
  // it says yes. Called by many threads at once.
  using Ready = std::function<bool(const lanes::Request& request)>;

  // The mailbox as the host sees it; of `free` nothing is used. Starts at once.
  Service(const lanes::Mailbox& mailbox, Handler handler, Ready ready = {});
  ~Service();  // abort() unless stop() came before it
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // From now on system calls are answered kCancelled, those that come and, if the handler looks at cancelled() while it
  // waits (linux_abi::ProcessOptions::cancel), those under way. Faults and ticks are served: nothing in them waits.
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  void resume() { cancelled_.store(false, std::memory_order_relaxed); }
  const std::atomic<bool>& cancelled() const { return cancelled_; }

  // Ends the watch, lets calls under way finish and joins all threads. For when the lanes have ended.
  void stop();
  // The same when lanes may not answer any more (device lost): calls that wait for a lane's memory give up, their lanes
  // get no reply.
  void abort();

  ServiceStatistics statistics() const;
  // What a handler threw, once; empty: nothing. Its lane got kFailed.
  std::string error() const;

 private:
  void start_thread();
  void run();
  bool watch(u32& slot);
  void serve(u32 slot);
  lanes::Outcome handle(const Call& call, Cpu& cpu, memory::GuestMemory& memory);

  const lanes::Mailbox mailbox_;
  const Handler handler_;
  const Ready ready_;
  std::atomic<bool> cancelled_{false}, stopping_{false}, gone_{false};
  std::array<std::atomic<u64>, 4> requests_{};  // by RequestKind
  std::atomic<u64> commands_{0};
  u32 next_slot_ = 0;  // the watcher's: where it goes on looking

  mutable std::mutex mutex_;
  std::condition_variable watch_is_free_;
  bool watched_ = false;
  u32 idle_ = 0;
  std::string error_;
  std::vector<std::thread> threads_;
  u64 most_threads_ = 0;
};

}  // namespace kvrm::device::cuda
