// A lane of the CPU backend: the device's lane, its process if it has one, and what has become of it.
#pragma once

#include <optional>

#include "device/cpu/lane.h"
#include "linux/process.h"
#include "machine/backend.h"
#include "machine/dispatching.h"

namespace kvrm {

class CpuLane {
 public:
  // `dispatching` outlives the lane.
  CpuLane(std::shared_ptr<memory::AddressSpace> space, const Dispatching& dispatching,
          std::shared_ptr<translator::Translator> translator)
      : dispatching_(dispatching),
        device_(std::move(space), {{dispatching.mode(), dispatching.network()}, dispatching.every()},
                std::move(translator)) {}

  Cpu& cpu() { return device_.cpu(); }
  std::shared_ptr<Cpu> shared_cpu() { return device_.shared_cpu(); }
  memory::AddressSpace& memory() { return device_.space(); }

  // For a lane that has nothing in its memory yet.
  Result<void> start(const linux_abi::Program& program, linux_abi::ProcessOptions options);

  // On the calling thread. `index` is what the system-call hook is told.
  LaneResult run(u64 budget, unsigned index, RunControl& control);

  DispatchStatistics dispatched() const { return dispatching_.statistics(device_.dispatched()); }
  // Adds this lane's share.
  void add_to(Statistics& statistics) const;

 private:
  Stop run_to_stop(u64 budget, unsigned index, RunControl& control);
  std::optional<Stop> serve(Trap trap, unsigned index, RunControl& control);
  std::optional<Stop> after(const linux_abi::Outcome& outcome, RunControl& control);
  u64 until_deadline() const;
  u32 word();  // at pc

  const Dispatching& dispatching_;
  device::cpu::Lane device_;
  std::optional<linux_abi::Process> process_;  // a Linux program; otherwise a raw lane
  std::optional<Stop> ended_;                  // nothing follows an exit or a fatal signal
  u64 instructions_ = 0;
  u64 system_calls_ = 0;
  std::optional<FloatStatistics> floats_;
};

}  // namespace kvrm
