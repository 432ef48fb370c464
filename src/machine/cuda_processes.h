// The Linux side of lanes on a GPU: what their programs begin with, and the processes that answer what lanes cannot.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "device/cuda/service.h"
#include "device/cuda/start_set.h"
#include "linux/process.h"

namespace kvrm {

// A program just loaded, ready to be given to any number of lanes.
struct LaneProgram {
  linux_abi::Program image;
  std::unique_ptr<memory::AddressSpace> space;  // holds what contents.pages points to
  device::cuda::StartSet::Contents contents;
};
Result<std::shared_ptr<const LaneProgram>> load_lane_program(const linux_abi::Program& image,
                                                             linux_abi::ProcessOptions options, u64 memory_limit);

// Processes by lane or job, made when a lane first asks for one: most never do.
class LaneProcesses {
 public:
  using OptionsOf = std::function<linux_abi::ProcessOptions(u32 number)>;

  // Answers a lane's request.
  device::lanes::Outcome serve(u32 number, const device::cuda::Call& call, Cpu& cpu, memory::GuestMemory& memory,
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
