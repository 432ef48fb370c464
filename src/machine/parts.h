// What a Machine is made of.
#pragma once

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
#include "machine/origin.h"

namespace kvrm {

// What a lane's program wrote, until someone takes it.
struct LaneOutput {
  KeptOutput output, errors;
};

// Hidden: the class around it is what a shared library shows.
struct __attribute__((visibility("hidden"))) Machine::Parts {
  const Origin origin;
  unsigned lanes = 1;
  std::uint64_t memory_limit = 0;
  bool common_memory = false;
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

  // The time of one run, to the end of the block; a cancel() counts for one run.
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
  // What shows the backend to callers that can get no error asks first: throws in a fork.
  Backend& here() const;
  Cpu& cpu(unsigned lane) { return here().cpu(lane); }
  memory::GuestMemory& memory(unsigned lane) { return here().memory(lane); }
  Result<void> may_map() const;  // whether the map may change now
  Result<void> may_load_program() const;
  Result<void> start(unsigned lane, const JobProgram& loaded, const Program& program);
  std::vector<LaneResult> run(Machine& machine, unsigned first, unsigned count, std::uint64_t budget);
};

}  // namespace kvrm
