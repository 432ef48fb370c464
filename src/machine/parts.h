// What a Machine is made of.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "device/cpu/lane.h"
#include "kvrm/machine.h"
#include "linux/process.h"

namespace kvrm {

// A lane of a machine: the device's lane, and what its program has come to.
struct MachineLane {
  explicit MachineLane(std::uint64_t memory_limit) : device(memory_limit) {}

  device::cpu::Lane device;
  std::optional<linux_abi::Process> process;  // a Linux program; otherwise a raw machine
  std::optional<Stop> ended;                  // nothing follows an exit or a fatal signal
  std::uint64_t instructions = 0;
  std::uint64_t system_calls = 0;
};

struct Machine::Parts {
  Options options;
  std::vector<std::unique_ptr<MachineLane>> lanes;
  SystemCallHook hook;
  std::atomic<bool> cancel = false;
  std::uint64_t launches = 0;
  double seconds = 0;
  std::optional<FloatStatistics> floats;  // where they are counted

  MachineLane& lane(unsigned index) { return *lanes.at(index); }
  const MachineLane& lane(unsigned index) const { return *lanes.at(index); }
};

}  // namespace kvrm
