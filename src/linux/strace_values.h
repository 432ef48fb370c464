// Arguments of system calls as text: numbers, strings, structures. strace_table.inc says which call has which.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "base/types.h"
#include "linux/freestanding/abi.h"
#include "memory/guest_memory.h"

namespace kvrm::linux_abi {

// A call as its arguments' text needs it.
struct TracedCall {
  const memory::GuestMemory& memory;
  std::array<u64, 6> a;
  i64 result = 0;  // after the call
};

// How an argument is shown. An empty text: not at all (a mode that the call ignores).
struct Argument {
  std::string (*show)(const TracedCall& call, std::size_t index) = nullptr;
  bool after = false;  // the call fills it in; if the call fails it is shown as an address
};

std::string pointer_text(u64 address);
// "text\n", quoted and escaped. `cut`: there is more.
std::string quoted(const std::string& bytes, bool cut, bool all_hex = false);

namespace show {

// Numbers.
extern const Argument number, unsigned_number, size, hexadecimal, pointer, octal, offset, fd, at_fd, user, key;
// Strings and buffers. The size of what goes in is the next argument, of what comes out the result.
extern const Argument path, text, bytes, bytes_back, text_back, random_back, vectors, vectors_back;
// Flags and other constants.
extern const Argument access, advice, at_flags, clock, clone_flags, epoll_flags, fcntl, fcntl_value, futex, how, ioctl,
    lock, map_flags, msync_flags, open_flags, open_mode, prctl, prctl_value, protection, random_flags, remap_flags,
    remap_target, resource, rusage, shmctl, shmat_flags, shmget_flags, signal, timer, wait_flags, whence;
// Structures, by address: as they are before the call, or as it leaves them.
extern const Argument time, time_back, timeval_back, itimer, itimer_back, stat_back, limit, limit_back, set, set_back,
    action, action_back, stack, stack_back, polls, pair_back, int_back, utsname_back, futex_time;

}  // namespace show
}  // namespace kvrm::linux_abi
