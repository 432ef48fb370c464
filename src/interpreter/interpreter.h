// The interpreter engine: runs one lane until a trap, the budget or a cancel stops it.
#pragma once

#include <atomic>
#include <memory>

#include "base/cpu.h"
#include "dispatch/router.h"
#include "memory/mmu.h"

namespace kvrm::interpreter {

// How words get their class.
struct Dispatch {
  dispatch::Router router;
  bool every = false;  // dispatch again whenever an instruction runs, to measure the cost
};

class PredecodeCache;
class Regions;
struct Context;

class Interpreter {
 public:
  // The translation outlives it.
  explicit Interpreter(memory::Translation& translation, const Dispatch& dispatch = {});
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  struct Outcome {
    Trap trap;        // kNone: the budget ended or the run was cancelled
    u64 retired;      // instructions retired by this call
    bool cancelled;
  };
  // Runs at most budget instructions. The state is complete and precise whenever this returns, the clock included:
  // it starts from cpu.clock_ns. Adds what retires to *progress, every few milliseconds.
  Outcome run(Cpu& cpu, u64 budget, const std::atomic<bool>& cancel, std::atomic<u64>* progress = nullptr);

  void use_host_clock(bool host);
  // Whether code may access memory through the window: faults must be served (memory/window_faults.h).
  void allow_window(bool allows) { allows_window_ = allows; }
  // Before the first run; null: none.
  void use_regions(Regions* regions);
  PredecodeCache& cache() { return *cache_; }
  Context& context() { return *context_; }
  memory::Mmu& mmu() { return mmu_; }
  const dispatch::Router& router() const { return dispatch_.router; }
  u64 decoded_words() const;
  u64 code_invalidations() const;

 private:
  struct Burst {
    Trap trap;
    u64 retired;
  };
  Burst run_burst(Cpu& cpu, u64 budget);
  Burst run_one(Cpu& cpu);
  Burst run_trace(Cpu& cpu, u64 steps);
  Burst finish(Cpu& cpu, u64 budget, i64 biased_budget);

  memory::Mmu mmu_;
  const Dispatch dispatch_;
  std::unique_ptr<Context> context_;
  std::unique_ptr<PredecodeCache> cache_;
  Regions* regions_ = nullptr;
  bool allows_window_ = false;
  u64 retired_ = 0;  // by the current run()
  u64 last_burst_ = 0;  // of it, by the last burst
};

}  // namespace kvrm::interpreter
