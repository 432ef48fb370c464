// The Linux side of lanes on a GPU: the initial contents of programs, and the processes that answer calls for lanes.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "backend/cuda/service.h"
#include "backend/cuda/start_set.h"
#include "linux/process.h"

namespace kvrm {

// A loaded program that any number of lanes can start with.
struct LaneProgram {
  linux_abi::Program image;
  std::unique_ptr<memory::AddressSpace> space;  // holds what contents.pages points to
  backend::cuda::StartSet::Contents contents;
};
Result<std::shared_ptr<const LaneProgram>> load_lane_program(const linux_abi::Program& image,
                                                             linux_abi::ProcessOptions options, u64 memory_limit);

// Processes by lane or job. A process is created at the first request of its lane: most lanes make none.
class LaneProcesses {
 public:
  using OptionsOf = std::function<linux_abi::ProcessOptions(u32 number)>;

  // Handles a request of a lane.
  backend::kernel::Outcome serve(u32 number, const backend::cuda::Call& call, Cpu& cpu, memory::GuestMemory& memory,
                                 const OptionsOf& options_of);
  std::string message(u32 number);
  void forget(u32 number);
  void forget_all();

 private:
  linux_abi::Process* find(u32 number, const OptionsOf& options_of);
  std::mutex mutex_;
  std::unordered_map<u32, std::unique_ptr<linux_abi::Process>> processes_;
};

}  // namespace kvrm
