// Reading and writing host files for the guest: waiting as the guest's flags say, no host signals.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "base/types.h"
#include "linux/kernel_state.h"

namespace kvrm::linux_abi {

// One transfer, at `offset` or at the file's own position. Bytes moved or -errno (or kRestart). Waits first
// if the file may wait and the guest did not ask for O_NONBLOCK.
i64 host_read(Kernel& kernel, Cpu& cpu, OpenFile& file, std::span<u8> to, std::optional<u64> offset);
i64 host_write(Kernel& kernel, Cpu& cpu, OpenFile& file, std::span<const u8> from, std::optional<u64> offset);

// All of it, as far as the descriptor takes it. What goes wrong (a full disk, a pipe without a reader) is ignored.
void write_quietly(int host_fd, std::string_view text);

}  // namespace kvrm::linux_abi
