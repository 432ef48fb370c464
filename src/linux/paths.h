// From a guest's (descriptor, path) pair to files: the root's, or the few the layer provides itself.
#pragma once

#include <string>

#include "linux/kernel_state.h"

namespace kvrm::linux_abi {

// Files that exist for every guest, with or without a root. They are found by name alone.
enum class Provided { kNone, kNull, kZero, kFull, kRandom, kTerminal, kMaps, kProgram };
Provided provided_file(const std::string& path);

// Opens one of them. The result is a host descriptor or -errno.
int open_provided(const Kernel& kernel, const memory::GuestMemory& memory, Provided which, u32 guest_flags);

// True if the path is the program's own name, which works even where no root holds it.
bool names_program(const Kernel& kernel, const std::string& path);

// Reads the path at `pointer` and makes it absolute (in the guest's eyes). 0 or -errno; an empty path
// is -ENOENT.
i64 read_path(Kernel& kernel, Call& call, i32 dirfd, u64 pointer, std::string& path);

// For calls that ask: a handle to the file, from the sandbox or from the process itself. 0 or -errno.
i64 find_file(Kernel& kernel, Call& call, const std::string& path, bool follow, HostFd& found);

// The file a newfstatat-like call means: the descriptor itself (AT_EMPTY_PATH and an empty path, then
// `open` is set), or a handle found by path. 0 or -errno.
struct Target {
  HostFd handle;
  std::shared_ptr<OpenFile> open;
  int fd() const { return open ? open->host_fd : handle.get(); }
};
i64 find_target(Kernel& kernel, Call& call, i32 dirfd, u64 pointer, u32 at_flags, Target& target);

}  // namespace kvrm::linux_abi
