#include "machine/cuda_processes.h"

#include <cstring>
#include <stdexcept>

#include "linux/shared_limit.h"

namespace kvrm {

using backend::kernel::OutcomeKind;

Result<std::shared_ptr<const LaneProgram>> load_lane_program(const linux_abi::Program& image,
                                                             linux_abi::ProcessOptions options, u64 memory_limit) {
  auto program = std::make_shared<LaneProgram>();
  program->image = image;
  program->space = std::make_unique<memory::AddressSpace>(memory_limit);
  auto process = linux_abi::Process::create(std::move(options));
  if (!process) return process.error();
  auto& contents = program->contents;
  if (auto started = process->start(image, contents.cpu, *program->space); !started) return started.error();
  contents.is_process = true;
  contents.areas = program->space->source_areas();
  contents.pages = program->space->private_pages();
  contents.process = process->lane_process(contents.cpu);
  for (u32 i = 0; i < 3; ++i) contents.stats[i] = process->standard_stat(i);
  contents.program = process->program_name();
  return std::shared_ptr<const LaneProgram>(std::move(program));
}

linux_abi::Process* LaneProcesses::find(u32 number, const OptionsOf& options_of) {
  {
    const std::lock_guard lock(mutex_);
    if (auto found = processes_.find(number); found != processes_.end()) return found->second.get();
  }
  auto made = linux_abi::Process::create(options_of(number));
  if (!made) throw std::runtime_error(made.error().message);
  auto process = std::make_unique<linux_abi::Process>(std::move(*made));
  linux_abi::Process* result = process.get();
  const std::lock_guard lock(mutex_);
  processes_.emplace(number, std::move(process));
  return result;
}

backend::kernel::Outcome LaneProcesses::serve(u32 number, const backend::cuda::Call& call, Cpu& cpu,
                                              memory::GuestMemory& memory, const OptionsOf& options_of) {
  linux_abi::Process& process = *find(number, options_of);
  process.account().set_elsewhere(call.request.private_pages * memory::kPageSize);
  linux_abi::LaneProcess lane;
  std::memcpy(static_cast<void*>(&lane), call.process.data(), sizeof(lane));
  process.set_lane_process(lane);
  linux_abi::Outcome outcome;
  switch (call.request.kind) {
    case backend::kernel::RequestKind::kSystemCall: outcome = process.system_call(cpu, memory); break;
    case backend::kernel::RequestKind::kFault: outcome = process.fault(cpu, memory, call.request.trap); break;
    case backend::kernel::RequestKind::kTick: outcome = process.tick(cpu, memory); break;
    case backend::kernel::RequestKind::kEnd: break;
  }
  if (outcome.kind == linux_abi::Outcome::Kind::kContinue) linux_abi::share_limit_if_changed(process.account(), memory);
  lane = process.lane_process(cpu);
  std::memcpy(call.process.data(), static_cast<const void*>(&lane), sizeof(lane));
  using Kind = linux_abi::Outcome::Kind;
  constexpr int kKill = 9;
  switch (outcome.kind) {
    case Kind::kContinue: return {};
    case Kind::kExit: return {OutcomeKind::kExit, outcome.code};
    case Kind::kSignal: return {OutcomeKind::kSignal, outcome.code};
    case Kind::kDeadlock: return {OutcomeKind::kSignal, kKill};
    case Kind::kCancelled: return {OutcomeKind::kCancelled, 0};
  }
  return {};
}

std::string LaneProcesses::message(u32 number) {
  const std::lock_guard lock(mutex_);
  const auto found = processes_.find(number);
  return found == processes_.end() ? std::string() : found->second->message();
}

void LaneProcesses::forget(u32 number) {
  const std::lock_guard lock(mutex_);
  processes_.erase(number);
}

void LaneProcesses::forget_all() {
  const std::lock_guard lock(mutex_);
  processes_.clear();
}

}  // namespace kvrm
