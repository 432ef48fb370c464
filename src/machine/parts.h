// The parts of a Machine.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "kvrm/machine.h"
#include "machine/backend.h"
#include "machine/jobs.h"

namespace kvrm {

// The process that created a machine. A fork has a copy of the memory but none of the threads and no GPU context, and
// its copies of locks may be held forever.
class Origin {
 public:
  Origin();  // this process

  bool is_here() const { return forks_ == forks.load(std::memory_order_relaxed); }
  // An error in a fork.
  Result<void> check() const;

 private:
  static std::atomic<std::uint64_t> forks;  // number of forks between this process and the one that loaded the library
  const std::uint64_t forks_ = forks.load(std::memory_order_relaxed);
  const pid_t process_;
};

// The captured output of a lane's program, until take_output().
struct LaneOutput {
  KeptOutput output, errors;
};

// Hidden, because the enclosing class is exported.
struct __attribute__((visibility("hidden"))) Machine::Parts {
  const Origin origin;
  unsigned lanes = 1;
  std::uint64_t memory_limit = 0;
  bool shared_memory = false;
  std::atomic<bool> has_run = false;
  std::unique_ptr<Backend> backend;
  std::map<unsigned, std::unique_ptr<LaneOutput>> outputs;  // outlive the processes that write to them: see ~Parts
  SystemCallHook hook;
  std::mutex hook_mutex;
  std::atomic<bool> cancel = false;
  RunProgress progress;
  double seconds = 0;

  // start() and wait()
  std::thread runner;
  std::atomic<bool> running = false;
  std::vector<Stop> stops;

  // Measures one run, to the end of the block. A cancel() applies to one run.
  class Timer {
   public:
    explicit Timer(Parts& parts) : parts_(parts) {}
    ~Timer();
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

   private:
    Parts& parts_;
    const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  };

  ~Parts();
  // The backend for callers that cannot return an error: throws in a fork.
  Backend& here() const;
  Cpu& cpu(unsigned lane) { return here().cpu(lane); }
  memory::GuestMemory& memory(unsigned lane) { return here().memory(lane); }
  Result<void> may_map() const;  // whether the map may change now
  Result<void> may_load_program() const;
  Result<void> start(unsigned lane, const JobProgram& loaded, const Program& program);
  std::vector<Stop> run(Machine& machine, unsigned first, unsigned count, std::uint64_t budget);
};

}  // namespace kvrm
