// A lane of the CPU backend: the engine's lane, its process if it has one, and its counters.
#pragma once

#include <optional>

#include "backend/cpu/lane.h"
#include "linux/process.h"
#include "machine/backend.h"
#include "machine/dispatch_options.h"

namespace kvrm {

class CpuLane {
 public:
  // `dispatch` outlives the lane.
  CpuLane(std::shared_ptr<memory::AddressSpace> space, const DispatchOptions& dispatch,
          std::shared_ptr<translator::Translator> translator, const backend::cpu::Acceleration& acceleration)
      : dispatch_(dispatch),
        device_(std::move(space), {{dispatch.mode(), dispatch.network()}, dispatch.every()}, std::move(translator),
                acceleration) {}

  Cpu& cpu() { return device_.cpu(); }
  std::shared_ptr<Cpu> shared_cpu() { return device_.shared_cpu(); }
  memory::AddressSpace& memory() { return device_.space(); }
  interpreter::Interpreter& engine() { return device_.engine(); }

  // For a lane whose memory is still empty.
  Result<void> start(const linux_abi::Program& program, linux_abi::ProcessOptions options);

  // On the calling thread. The system-call hook receives `index`.
  Stop run(u64 budget, unsigned index, RunControl& control);

  DispatchStatistics dispatched() const { return dispatch_.statistics(device_.dispatched()); }
  Statistics statistics() const;
  void report_loops() { device_.report_loops(); }

 private:
  Stop run_to_stop(u64 budget, unsigned index, RunControl& control);
  std::optional<Stop> serve(Trap trap, unsigned index, RunControl& control);
  std::optional<Stop> after(const linux_abi::Outcome& outcome, RunControl& control);
  u64 until_deadline() const;
  void check_window();
  u32 word();  // at pc

  const DispatchOptions& dispatch_;
  backend::cpu::Lane device_;
  std::optional<linux_abi::Process> process_;  // a Linux program; otherwise a raw lane
  std::optional<Stop> ended_;                  // nothing follows an exit or a fatal signal
  u64 instructions_ = 0;
  u64 system_calls_ = 0;
  std::optional<FloatStatistics> floats_;
};

}  // namespace kvrm
