// What a process tells the lane that runs it, so that the lane can answer calls by itself.
#include <sys/stat.h>

#include "linux/kernel_state.h"
#include "linux/process.h"

namespace kvrm::linux_abi {
namespace {

// A standard file of the host's is written in order through the lane's output and the host; only a pipe into KVRM is
// known well enough to read from it and to describe it.
u32 standard_flags(const OpenFile& file, u32 number) {
  struct stat host{};
  if (::fstat(file.host_fd, &host) != 0) return 0;
  u32 flags = kStandardOpen;
  if (S_ISFIFO(host.st_mode)) flags |= kStandardPipe;
  if (S_ISCHR(host.st_mode)) flags |= kStandardTerminal;  // or another device: the host knows
  if (file.is_memory()) flags |= kStandardStat | (number == 0 ? u32{kStandardReads} : 0u);
  if (number != 0 && file.writable()) flags |= kStandardWrites;
  return flags;
}

}  // namespace

LaneProcess& Process::lane() { return *kernel_; }

void Process::describe_to_lane(const Cpu& cpu) {
  Kernel& kernel = *kernel_;
  kernel.lane_flags = (kernel.clock.is_virtual() ? 0u : u32{kLaneHostClock}) |
                      (kernel.options.verbose ? u32{kLaneNamesUnknown} : 0u);
  kernel.deadline = kernel.signals.deliverable() ? 0 : next_deadline_ns(&cpu).value_or(kNoDeadline);
  for (u32 number = 0; number < 3; ++number) {
    const auto file = kernel.files.get(number);
    const bool original = file && file == kernel.standard_files[number];
    kernel.standard[number] = original ? standard_flags(*file, number) : 0;
  }
}

std::optional<GuestStat> Process::standard_stat(u32 number) const {
  const auto file = kernel_->files.get(number);
  GuestStat stat{};
  if (!file || !file->is_memory() || stat_of(*kernel_, file->host_fd, &file->memory, stat) != 0) return std::nullopt;
  return stat;
}

const std::string& Process::program_name() const { return kernel_->exe_name; }

}  // namespace kvrm::linux_abi
